"""What each method expects of a slice it has not seen: the vectors with which the slice is predicted.

    warm-start, independent   those of the slice before, one fit being one chronological pass. A word that is absent there has
                              its latest vector, and one that was not seen yet the zero vector.
    filtering                 the mode of the posterior at the slice before, which has seen nothing of this slice
    smoothing                 a line in time between the modes at the nearest slices before and after that were not left out
    static                    those of the one model of all slices that were not left out

and, beside the paper's, by the posteriors themselves, with their uncertainty:

    filtering (posterior)     the posterior at the slice before, carried on to this one by diffusion (Eq. 13)
    smoothing (posterior)     the posterior at the moment of the slice, where the prior bridges its neighbours
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.filtered import FilteredTrajectories
from wordtide.embeddings.states import Embeddings
from wordtide.embeddings.trajectories import rows_or_zeros
from wordtide.errors import SettingsError
from wordtide.model.knots import Integers

Floats = npt.NDArray[np.float64]

#: The methods that can be evaluated.
METHODS = ("smoothing", "filtering", "warm-start", "independent", "static")
#: Those that are fitted without the slices left out. The others go through all slices in order of time.
LEAVING_OUT = ("smoothing", "static")


@dataclass(frozen=True)
class Prediction:
    """Vectors of some words (n, d), and where they are uncertain the variances of each coordinate (n, d)."""

    u: Floats
    v: Floats
    u_variance: Floats | None = None
    v_variance: Floats | None = None


#: From a model, all times (T,), a slice and some words to what is expected of them there.
Predictor = Callable[[Embeddings, Floats, int, Integers], Prediction]


def from_the_slice_before(model: Embeddings, times: Floats, t: int, words: Integers) -> Prediction:
    """The point estimates of slice t - 1: the last ones until then, and zeros for words not seen yet."""
    posterior = model.fitted.posterior
    rows = posterior.knots.around(t - 1, words)[0]
    return Prediction(rows_or_zeros(posterior.mean_u, rows), rows_or_zeros(posterior.mean_v, rows))


def from_the_mode_before(model: Embeddings, times: Floats, t: int, words: Integers) -> Prediction:
    """The mode of the filter's posterior at slice t - 1."""
    u, v = (side.means_at(float(times[t - 1]), words) for side in model.sides)
    return Prediction(u, v)


def carried_on_from_before(model: Embeddings, times: Floats, t: int, words: Integers) -> Prediction:
    """The filter's prior of slice t, which is its posterior at slice t - 1 after a step of diffusion."""
    beliefs = []
    for side in model.sides:
        if not isinstance(side, FilteredTrajectories):
            raise SettingsError(
                f"The model is not one of filtering, but of {model.method}.", "Give a filtered model."
            )
        beliefs.append(side.predicted(side.knots.around(t - 1, words)[0], np.full(len(words), times[t])))
    return Prediction(beliefs[0][0], beliefs[1][0], beliefs[0][1], beliefs[1][1])


def between_neighbours(model: Embeddings, times: Floats, t: int, words: Integers) -> Prediction:
    """Linear interpolation in time between the modes at the model's slices before and after slice t, which it lacks."""
    time = float(times[t])
    after = int(np.searchsorted(model.times, time))
    earlier, later = float(model.times[after - 1]), float(model.times[after])
    share = (time - earlier) / (later - earlier)
    u, v = (
        (1.0 - share) * side.means_at(earlier, words) + share * side.means_at(later, words)
        for side in model.sides
    )
    return Prediction(u, v)


def bridged_by_the_prior(model: Embeddings, times: Floats, t: int, words: Integers) -> Prediction:
    """The smoother's posterior at the time of slice t, off its grid."""
    time = float(times[t])
    (u, u_variance), (v, v_variance) = (
        (side.means_at(time, words), side.variances_at(time, words)) for side in model.sides
    )
    return Prediction(u, v, u_variance, v_variance)


def the_same_always(model: Embeddings, times: Floats, t: int, words: Integers) -> Prediction:
    """The vectors of a static model, the same at all times."""
    u, v = (side.means_at(float(model.times[0]), words) for side in model.sides)
    return Prediction(u, v)


#: For each method its predictors by the names they have in tables; the first is the paper's.
PREDICTORS: dict[str, dict[str, Predictor]] = {
    "smoothing": {"smoothing": between_neighbours, "smoothing (posterior)": bridged_by_the_prior},
    "filtering": {"filtering": from_the_mode_before, "filtering (posterior)": carried_on_from_before},
    "warm-start": {"warm-start": from_the_slice_before},
    "independent": {"independent": from_the_slice_before},
    "static": {"static": the_same_always},
}
