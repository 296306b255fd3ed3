"""Checks of the content of model folders: everything that later code indexes with or divides by."""

from collections.abc import Sequence
from itertools import islice

import numpy as np

from wordtide.embeddings.posterior import Fitted, Posterior
from wordtide.errors import SettingsError
from wordtide.model.knots import Knots
from wordtide.model.verdicts import SHAPES, Dynamics
from wordtide.storage.arrays import pieces
from wordtide.storage.cells import is_plain

MOST_DIMENSIONS = 1 << 16
_BYTES_READ = 1 << 26  # of states when a model is loaded; this takes some hundredths of a second
#: Years and variances far beyond any real ones; arithmetic with them still gives finite numbers.
_YEARS, _SMALLEST, _LARGEST = 1e6, 1e-30, 1e30


def check_words(words: Sequence[str]) -> None:
    """Reject words that the lines of a file cannot hold."""
    for word in words:
        if not word or "\n" in word or not is_plain(word):
            raise SettingsError(
                f"{word!r} cannot be a word of a model.", "Leave out empty words and control characters."
            )


def check_record(fitted: Fitted) -> None:
    """Raise ValueError for numbers that contradict each other, or with which later code would fail."""
    diffusion, total = fitted.diffusion, len(fitted.diffusion)
    scales = np.concatenate([diffusion.step_variance, [diffusion.constant, diffusion.prior_variance]])
    if np.abs(diffusion.times).max() > _YEARS or scales.min() < _SMALLEST or scales.max() > _LARGEST:
        raise ValueError("its times or its prior are out of range")
    extents = fitted.extents
    if (
        extents is None
        or extents.dtype != np.float64
        or not np.isfinite(extents).all()
        or (extents[:, 0] > extents[:, 1]).any()
    ):
        raise ValueError("the dates of its slices are invalid")
    if not 1 <= fitted.posterior.dim <= MOST_DIMENSIONS:
        raise ValueError(f"it has {fitted.posterior.dim} dimensions")
    if len(set(fitted.words)) != len(fitted.words):
        raise ValueError("words.txt contains a word twice")
    if fitted.pairs is not None and not (np.isfinite(fitted.pairs).all() and (fitted.pairs > 0).all()):
        raise ValueError("the pairs of its slices are invalid")
    if (
        fitted.predictions is not None
        and not (np.isnan(fitted.predictions) | (np.abs(fitted.predictions) < _LARGEST)).all()
    ):
        raise ValueError("the predictions of its slices are invalid")
    if fitted.arrivals is not None and not ((fitted.arrivals >= 0) & (fitted.arrivals < total)).all():
        raise ValueError("words arrive outside its slices")
    if fitted.dynamics is not None and not are_sound(fitted.dynamics):
        raise ValueError("its verdicts on words contradict themselves")
    check_knots(fitted.posterior.knots, total, "knots")
    check_knots(fitted.occurrences.places, total, "occurrences")
    occurrences = fitted.occurrences.values
    if len(occurrences) and not 0 <= occurrences.min() <= occurrences.max() < _LARGEST:  # false for NaN
        raise ValueError("the occurrences of a word are negative or not finite")


def are_sound(dynamics: Dynamics) -> bool:
    """Whether verdicts have the dates that they need, and numbers that later code can compute with."""
    found = dynamics.significant
    dates = np.column_stack([dynamics.date_low, dynamics.date, dynamics.date_high])[found]
    return bool(
        np.isin(dynamics.shape, range(-1, len(SHAPES))).all()
        and (np.diff(dates, axis=1) >= 0).all()
        and (np.abs(dates) <= _YEARS).all()
        and not np.isinf(dynamics.table()).any()
        and ((dynamics.correlation > 0) & (dynamics.correlation < 1))[dynamics.jumps].all()
    )


def check_knots(knots: Knots, slices: int, name: str) -> None:
    """Raise ValueError for knots that are out of order or outside the slices."""
    starts = knots.starts
    if starts[0] != 0 or starts[-1] != len(knots) or not (starts[1:] >= starts[:-1]).all():
        raise ValueError(f"the {name} of the words do not follow each other")
    offset, previous = 0, -1
    for piece in pieces(knots.slices):
        new_word = np.zeros(len(piece), dtype=bool)
        first, last = np.searchsorted(starts, [offset, offset + len(piece)])
        new_word[starts[first:last] - offset] = True
        ascending = np.diff(piece, prepend=np.int32(previous)) > 0
        if piece.min() < 0 or piece.max() >= slices or not (ascending | new_word).all():
            raise ValueError(f"the {name} of a word are not in order, or outside the slices")
        offset, previous = offset + len(piece), int(piece[-1])


def check_states(posterior: Posterior, whole: bool = True) -> None:
    """Raise ValueError for states that are not finite, or negative variances and precisions.

    Args:
        posterior: The states.
        whole: Read everything. Otherwise of very large states only some pieces, evenly spread.
    """
    arrays = posterior.arrays()
    total = sum(4 * len(array) * posterior.dim for array in arrays.values())
    every = 1 if whole else max(1, -(-total // _BYTES_READ))
    for name in arrays:
        for piece in islice(posterior.pieces(name), 0, None, every):
            low, high = (piece.min(), piece.max()) if piece.size else (0.0, 0.0)  # NaN if one of them is
            if not (np.isfinite(low) and np.isfinite(high)) or (low < 0 and not name.startswith("mean")):
                raise ValueError(f"{name} holds impossible numbers")
