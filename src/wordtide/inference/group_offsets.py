"""How groups of texts use words: offsets from the shared trajectories, fitted with contexts fixed.

The shared trajectories come from all texts. Given them, the pairs of a group show how its use of a word
differs: with rows u_it + x_ig against the contexts of the slice, the gradients of all slices add up to a
message (b, h) about x_ig, as in a natural-gradient step. A message is a linear approximation near the present
x, so it is computed again after x has moved, a few times. `model.verdicts` compares the messages of groups.

A filter goes through the slices in order: the messages of a slice are linear approximations near the offsets
that earlier slices suggest, and do not change later. So an update adds the messages of its own slices, with
the same result as a fit of all slices.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from wordtide.counts.counts import Counts
from wordtide.counts.groups import MOST_GROUPS
from wordtide.embeddings.posterior import Fitted, SliceStates
from wordtide.embeddings.state_files import slices_of
from wordtide.embeddings.states import trajectories_of
from wordtide.embeddings.trajectories import Trajectories
from wordtide.errors import SettingsError
from wordtide.inference.compute import Compute
from wordtide.inference.natural.prepared_slice import Gradient, PreparedSlice
from wordtide.inference.problem import PairSettings, slice_data
from wordtide.inference.settings import FitSettings
from wordtide.model.knots import Knots
from wordtide.model.likelihood import GaussianVectors
from wordtide.model.verdicts import TYPICAL_OFFSET, GroupMessages, Groups, compare_messages
from wordtide.progress import Observer
from wordtide.types import Array, Floats, Integers, Singles

_STEPS = 4  # over all slices
_STEPS_IN_SLICE = 4  # of a filter
_RATE = 0.5  # coordinates are correlated, so whole steps of each overshoot
_FARTHEST = 1.5  # the longest step of a vector
_COLUMNS = 256  # contexts drawn for negative pairs: many, because a message comes from a single draw
_WORDS_AT_ONCE = 500


@dataclass(frozen=True)
class _SharedSlice:
    """The shared vectors of some words and contexts in a slice; words ascend."""

    words: Integers
    shared: GaussianVectors
    contexts: GaussianVectors

    def of(self, words: Integers) -> tuple[GaussianVectors, GaussianVectors]:
        """The vectors of some of these words and contexts."""
        rows = np.searchsorted(self.words, words)
        return self.shared[rows], self.contexts[rows]


@dataclass(frozen=True)
class _GroupSlice:
    """The pairs of one group in one slice, and the shared vectors of the slice.

    Attributes:
        words: The words of these pairs, (a,).
        here: The shared vectors.
        prepared: The pairs.
        seed: The seed of the fit, and the number of the slice.
    """

    words: Integers
    here: _SharedSlice
    prepared: PreparedSlice
    seed: tuple[int, int]

    @staticmethod
    def of(
        positives: sp.csr_array, here: _SharedSlice, t: int, settings: FitSettings, compute: Compute
    ) -> "_GroupSlice | None":
        """Prepare slice t from its n+ (L, L); None without pairs."""
        part = slice_data(positives, PairSettings(settings.negative_ratio, settings.context_exponent))
        if not len(part):
            return None
        prepared = PreparedSlice(part, compute, _COLUMNS, alone=True)
        return _GroupSlice(part.words.astype(np.int64), here, prepared, (settings.seed, t))

    def gradient(self, offset: Array, step: int) -> Gradient:
        """The gradient by the offsets (a, d) of the words, in work arrays."""
        shared, contexts = self.here.of(self.words)
        mean = (shared.mean + offset).astype(shared.mean.dtype)
        moved = GaussianVectors(mean, shared.variance)
        return self.prepared.word_gradient(moved, contexts, [*self.seed, step])

    def message_after(self, known_b: Singles, known_h: Singles) -> tuple[Singles, Singles]:
        """The message (a, d) about the offsets, linearized near what earlier slices suggest."""
        offset = known_b / (known_h + 1.0 / TYPICAL_OFFSET)
        b, h = np.zeros_like(known_b), np.zeros_like(known_h)
        for step in range(_STEPS_IN_SLICE):
            offset += _half_step(known_b + b, known_h + h, offset) if step else 0.0
            found = self.gradient(offset, step)
            b, h = (found.g + found.h * offset).astype(np.float32), found.h.astype(np.float32)
        return b, h


def fit_groups(
    counts: Counts, fitted: Fitted, settings: FitSettings, compute: Compute, observer: Observer
) -> Groups | None:
    """Compare how groups use words; None without two groups or without a posterior."""
    groups: Mapping[str, Counts] = counts.groups
    if not groups:
        return None
    if fitted.posterior.kind == "point":
        observer.message(f"{fitted.method} gives point estimates, so groups are not compared")
        return None
    if len(groups) < 2:
        observer.message(f"all texts are of the group {next(iter(groups))!r}, so groups are not compared")
        return None
    messages = GroupMessages.none(len(groups), len(fitted.words), fitted.posterior.dim)
    if settings.method == "filtering":
        states = slices_of(fitted.posterior, len(fitted.diffusion))
        shared = (_shared_slice(here, fitted.posterior.signs, compute) for here in states)
        numbers = range(len(fitted.diffusion))
        _add_slices(messages, list(groups.values()), numbers, shared, settings, compute, observer)
    else:
        _set_messages(messages, groups, fitted, settings, compute, observer)
    used = np.array([_occurrences(group) for group in groups.values()])
    first = np.array([_first_uses(group) for group in groups.values()])
    found = compare_messages(
        tuple(groups), messages, used, first, fitted.diffusion.prior_variance, compute.map
    )
    return found if settings.method == "filtering" else found.without_messages()


def update_groups(
    fitted: Fitted, counts: Counts, states: Iterable[SliceStates], settings: FitSettings, compute: Compute
) -> Groups | None:
    """Add the messages of later slices to those of a filter.

    Args:
        fitted: The model before the update.
        counts: The counts of the later slices, in the words of the model and new ones.
        states: The states of the filter at these slices.
        settings: The settings of the fit.
        compute: Precision and threads.

    Returns:
        The groups of the updated model, some of which may be new; None if the model has no groups.

    Raises:
        SettingsError: There are too many groups.
    """
    old = fitted.groups
    if old is None or old.messages is None:
        return None
    names = tuple(sorted({*old.names, *counts.groups}))
    if len(names) > MOST_GROUPS:
        raise SettingsError(
            f"The model and the new texts have {len(names)} groups together, and the limit is {MOST_GROUPS}.",
            "Correct the groups of the new texts.",
        )
    before = [names.index(name) for name in old.names]
    messages = old.messages.extended(before, len(names), len(counts.words))
    later = [counts.groups.get(name) for name in names]
    shared = (_shared_slice(here, fitted.posterior.signs, compute) for here in states)
    numbers = range(len(fitted.diffusion), len(fitted.diffusion) + len(counts))
    _add_slices(messages, later, numbers, shared, settings, compute, Observer())
    used = np.zeros((len(names), len(counts.words)))
    first = np.full(used.shape, np.inf)
    known = old.occurrences.shape[1]
    used[before, :known], first[before, :known] = old.occurrences, old.first
    for row, group in enumerate(later):
        if group is not None:
            used[row] += _occurrences(group)
            first[row] = np.minimum(first[row], _first_uses(group))
    return compare_messages(names, messages, used, first, fitted.diffusion.prior_variance, compute.map)


def _occurrences(group: Counts) -> Floats:
    return np.asarray(sum(group.unigrams(t) for t in range(len(group))))


def _first_uses(group: Counts) -> Floats:
    """The time at which a group first uses each word, (L,); infinity if it never does."""
    first = np.full(len(group.words), np.inf)
    for t in reversed(range(len(group))):
        first[group.unigrams(t) > 0] = group.times[t]
    return first


def _add_slices(
    messages: GroupMessages,
    groups: Sequence[Counts | None],
    numbers: range,
    shared: Iterable[_SharedSlice],
    settings: FitSettings,
    compute: Compute,
    observer: Observer,
) -> None:
    """Add the messages of slices in order of time; `numbers` are their numbers in the model."""

    def add(t: int, here: _SharedSlice, group: int) -> Integers | None:
        counts = groups[group]
        own = None if counts is None else _GroupSlice.of(counts[t], here, numbers[t], settings, compute)
        if own is None:
            return None
        known_b, known_h = messages.b[group, own.words], messages.h[group, own.words]
        b, h = own.message_after(known_b, known_h)
        messages.b[group, own.words], messages.h[group, own.words] = known_b + b, known_h + h
        return own.words

    observer.start("groups", len(numbers), "slices")
    for t, here in enumerate(shared):
        for words in compute.map(partial(add, t, here), range(len(groups))):
            if words is not None:
                messages.add_vectors(words, here.of(words)[0].mean)
        observer.step(1)
    observer.finish()


def _half_step(b: Array, h: Array, offset: Array) -> Array:
    """The step half-way to the best offsets, at most `_FARTHEST` long before it is halved."""
    step = b / (h + 1.0 / TYPICAL_OFFSET) - offset
    length = np.sqrt(np.einsum("lk,lk->l", step, step))[:, None]
    return np.asarray(_RATE * step * np.minimum(1.0, _FARTHEST / np.maximum(length, _FARTHEST)))


def _shared_slice(states: SliceStates, signs: Singles | None, compute: Compute) -> _SharedSlice:
    """The shared vectors of a slice of a filter; `signs` are those of tied contexts."""
    mean, variance = (
        np.ascontiguousarray(array, dtype=compute.dtype) for array in (states.mean_u, states.variance_u)
    )
    shared = GaussianVectors(mean, variance)
    if states.mean_v is None or states.variance_v is None:
        contexts = _tied_contexts(shared, signs)
    else:
        contexts = GaussianVectors(
            np.ascontiguousarray(states.mean_v, dtype=compute.dtype),
            np.ascontiguousarray(states.variance_v, dtype=compute.dtype),
        )
    return _SharedSlice(states.words.astype(np.int64), shared, contexts)


def _tied_contexts(shared: GaussianVectors, signs: Singles | None) -> GaussianVectors:
    assert signs is not None
    return GaussianVectors(shared.mean * signs.astype(shared.mean.dtype), shared.variance)


def _shared_slices(fitted: Fitted, compute: Compute) -> list[_SharedSlice]:
    """The shared vectors of all slices of a smoother or a static model."""
    knots, signs = fitted.posterior.knots, fitted.posterior.signs
    sides = trajectories_of(fitted)[: 1 if signs is not None else 2]
    u, *v = (_at_knots(side, knots, fitted.posterior.dim, compute) for side in sides)
    found = []
    for rows in knots.rows_by_slice(len(fitted.diffusion)):
        shared = u[rows]
        contexts = v[0][rows] if v else _tied_contexts(shared, signs)
        found.append(_SharedSlice(knots.words_of(rows).astype(np.int64), shared, contexts))
    return found


def _at_knots(side: Trajectories, knots: Knots, dim: int, compute: Compute) -> GaussianVectors:
    """The vectors at all knots, (K, d), some words at a time."""
    mean, variance = np.empty((2, len(knots), dim), dtype=compute.dtype)

    def fill(first: int) -> None:
        last = min(first + _WORDS_AT_ONCE, len(knots.starts) - 1)
        rows = np.arange(knots.starts[first], knots.starts[last])
        places = knots.words_of(rows).astype(np.int64), knots.slices[rows].astype(np.int64)
        mean[rows], variance[rows] = side.means_at_places(*places), side.variances_at_places(*places)

    compute.map(fill, range(0, len(knots.starts) - 1, _WORDS_AT_ONCE))
    return GaussianVectors(mean, variance)


def _set_messages(
    messages: GroupMessages,
    groups: Mapping[str, Counts],
    fitted: Fitted,
    settings: FitSettings,
    compute: Compute,
    observer: Observer,
) -> None:
    """Set the messages of all slices, one group after the other."""
    shared = _shared_slices(fitted, compute)
    for number, (name, counts) in enumerate(groups.items()):
        positives = [sum(counts[1:], counts[0])] if settings.method == "static" else counts
        found = [
            _GroupSlice.of(matrix, here, t, settings, compute)
            for t, (matrix, here) in enumerate(zip(positives, shared, strict=True))
        ]
        slices = [own for own in found if own is not None]
        for own in slices:
            messages.add_vectors(own.words, own.here.of(own.words)[0].mean)
        observer.start(f"group {name}", _STEPS, "steps")
        shape = messages.b.shape[1:]
        messages.b[number], messages.h[number] = _message_of_slices(slices, shape, compute, observer)
        observer.finish()


def _message_of_slices(
    slices: list[_GroupSlice], shape: tuple[int, ...], compute: Compute, observer: Observer
) -> tuple[Floats, Floats]:
    """The message (L, d) of all slices of a group about its offsets."""
    offset, b, h = np.zeros((3, *shape))

    def gradient(step: int, own: _GroupSlice) -> tuple[Array, Array]:
        found = own.gradient(offset[own.words], step)
        return found.g.copy(), found.h.copy()

    for step in range(_STEPS):
        offset += _half_step(b, h, offset) if step else 0.0
        b[:], h[:] = 0.0, 0.0
        for own, (g, precision) in zip(slices, compute.map(partial(gradient, step), slices), strict=True):
            b[own.words] += g + precision * offset[own.words]
            h[own.words] += precision
        observer.step(1)
    return b, h
