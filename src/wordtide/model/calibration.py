"""How far the variances of a posterior are from the errors of its means.

Counts may scatter less, or more, than the likelihood supposes. With v the prior variance, a vector whose
variance is v / (1 + h) has learned h from its data. If counts scatter `dispersion` times as much as supposed,
the mean squared error of its mean is

    v (1 + dispersion h) / (1 + h)^2

docs/calibration.md compares this with worlds whose truth is known.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordtide.types import Floats, Reals

_NOTHING = 1e-30  # far below any variance in units of that of the prior
_MOST = 1e6


@dataclass(frozen=True)
class Calibration:
    """What a model's own residuals say of its posterior: the dispersion of the counts, in units of what the
    likelihood supposes.
    """

    dispersion: float = 1.0

    @staticmethod
    def of_header(facts: Any) -> "Calibration | None":
        """Read the record from the header of a model; older models lack it. ValueError if it is damaged."""
        if facts is None:
            return None
        if not isinstance(facts, dict) or list(facts) != ["dispersion"]:
            raise ValueError("its calibration is incomplete")
        if not isinstance(facts["dispersion"], float) or not 0.0 < facts["dispersion"] < _MOST:
            raise ValueError("its calibration is out of range")
        return Calibration(**facts)

    def factors(self, variances: Reals, prior_variance: float) -> Floats:
        """The factors by which to multiply the variances of vectors, given their means over the coordinates.

        No vector is less certain than under the prior.
        """
        left = np.clip(variances / prior_variance, _NOTHING, 1.0)
        return np.asarray(np.minimum(left + self.dispersion * (1.0 - left), 1.0 / left))
