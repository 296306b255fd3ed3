"""The prior's steps between knots, and between knots and other moments: x' = gain x + N(0, noise)."""

from dataclasses import dataclass

import numpy as np

from wordtide.model.kalman import look_back
from wordtide.model.knots import Knots
from wordtide.model.prior import Diffusion, Places
from wordtide.types import Flags, Floats, Integers


def transitions(starts: Integers, places: Places) -> tuple[Floats, Floats]:
    """Gain and noise from each knot's predecessor to the knot, (K,), for chains that begin at `starts`.

    A chain's first knot has no predecessor: its gain is 0, and its noise the prior variance there.
    """
    gain, noise = np.zeros(len(places)), places.marginal.astype(np.float64)
    if len(places) > 1:
        gain[1:], noise[1:] = places[:-1].to(places[1:])
    first = starts[:-1][starts[:-1] < starts[1:]]
    gain[first], noise[first] = 0.0, places.marginal[first]
    return gain, noise


@dataclass(frozen=True)
class Bridges:
    """Steps from the last knot before each of n moments to the moment, and on to the first knot after it,
    fields (n,).

    Without a knot before, `gain_in` is 0 and `noise_in` the prior variance; without one after, `gain_out` is
    0.
    """

    gain_in: Floats
    noise_in: Floats
    gain_out: Floats
    noise_out: Floats

    @staticmethod
    def over(before: Places, has_before: Flags, at: Places, after: Places, has_after: Flags) -> "Bridges":
        """The moments `at` between the knots `before` and `after`.

        The places of missing knots are ignored.
        """
        gain_in, noise_in = before.to(at)
        gain_out, noise_out = at.to(after)
        return Bridges(
            np.where(has_before, gain_in, 0.0),
            np.where(has_before, noise_in, at.marginal),
            np.where(has_after, gain_out, 0.0),
            np.where(has_after, noise_out, 1.0),
        )

    def weights(self) -> tuple[Floats, Floats]:
        """The w with E[x] = w_before x_before + w_after x_after, given the values at the two knots, (n,)
        each.
        """
        before = self.gain_in * look_back(self.gain_out, self.noise_out, 1.0, self.noise_in, 0.0, 0.0)[0]
        after = look_back(self.gain_out, self.noise_out, 0.0, self.noise_in, 1.0, 0.0)[0]
        return before, after


def prior_at_knots(knots: Knots, prior: Diffusion) -> tuple[Floats, Floats, Floats]:
    """The `transitions` between the knots of all words, (K,), and the prior variance at each word's first
    knot, (L,).
    """
    gain, noise = transitions(knots.starts, prior.slices[knots.slices])
    has_knots = knots.starts[:-1] < knots.starts[1:]
    first = np.ones(len(has_knots))
    first[has_knots] = noise[knots.starts[:-1][has_knots]]
    return gain, noise, first
