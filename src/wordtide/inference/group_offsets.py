"""How groups of texts use words: offsets from the shared trajectories, fitted with contexts fixed.

The shared trajectories come from all texts. Given them, the pairs of a group say how its use of a word
departs: with rows u_it + x_ig against the contexts of the slice, the gradients of all slices add up to a
message (b, h) about x_ig, as in a natural-gradient step. A few steps let x move, since messages are linear
approximations near the present vectors. `model.verdicts` compares the messages of the groups.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.embeddings.posterior import Fitted
from wordtide.embeddings.states import trajectories_of
from wordtide.embeddings.trajectories import Trajectories
from wordtide.inference.compute import Compute
from wordtide.inference.natural.negatives import AUTO
from wordtide.inference.natural.prepared_slice import PreparedSlice
from wordtide.inference.problem import PairSettings, slice_data
from wordtide.inference.settings import FitSettings
from wordtide.model.likelihood import GaussianVectors
from wordtide.model.verdicts import TYPICAL_OFFSET, Groups, compare_groups, discoveries, without_topics
from wordtide.progress import Observer
from wordtide.types import Floats, Integers

#: Words that groups use less often in total are not compared.
MIN_OCCURRENCES = 20
_STEPS = 6
_FARTHEST = 1.0  # the longest step of a vector
_WORDS_AT_ONCE = 500


@dataclass(frozen=True)
class _GroupSlice:
    """The pairs of a group in a slice, with the shared vectors of its words and their contexts."""

    words: Integers
    shared: GaussianVectors
    contexts: GaussianVectors
    pairs: PreparedSlice


def fit_groups(
    counts: Counts, fitted: Fitted, settings: FitSettings, compute: Compute, observer: Observer
) -> Groups | None:
    """Compare how groups use words; None if the texts have no groups, or the model no posterior."""
    groups: Mapping[str, Counts] = counts.groups
    if not groups:
        return None
    if fitted.posterior.kind == "point":
        observer.message(f"{fitted.method} gives point estimates, so groups are not compared")
        return None
    used = np.array([_occurrences(group) for group in groups.values()])
    messages = [_messages(group, fitted, settings, compute, observer, name) for name, group in groups.items()]
    b, h, vectors = (np.stack(parts) for parts in zip(*messages, strict=True))
    b = without_topics(b, h, vectors.mean(axis=0))
    judged = np.flatnonzero((used.sum(axis=0) >= MIN_OCCURRENCES) & ((h > 0).any(axis=2).sum(axis=0) >= 2))
    factor = np.full(len(fitted.words), np.nan)
    blocks = [judged[first : first + _WORDS_AT_ONCE] for first in range(0, len(judged), _WORDS_AT_ONCE)]
    level = fitted.diffusion.prior_variance
    found = compute.map(lambda block: compare_groups(b[:, block], h[:, block], level), blocks)
    for block, offsets in zip(blocks, found, strict=True):
        factor[block] = offsets.log_bayes_factor
    words = judged[discoveries(factor[judged])]
    offsets = compare_groups(b[:, words], h[:, words], level)
    mean, variance = offsets.mean.astype(np.float32), offsets.variance.astype(np.float32)
    return Groups(tuple(groups), words, mean, variance, factor, used.astype(np.int64))


def _occurrences(group: Counts) -> Floats:
    return np.asarray(sum(group.unigrams(t) for t in range(len(group))))


def _messages(
    group: Counts, fitted: Fitted, settings: FitSettings, compute: Compute, observer: Observer, name: str
) -> tuple[Floats, Floats, Floats]:
    """What a group says about its offsets, b and h, and the shared vectors of its words, (L, d) each."""
    slices = _slices(group, fitted, settings, compute)
    shape = len(fitted.words), fitted.posterior.dim
    offset, b, h = np.zeros(shape, dtype=compute.dtype), np.zeros(shape), np.zeros(shape)

    def gradient(step: int, n: int) -> tuple[Floats, Floats]:
        here = slices[n]
        moved = GaussianVectors(here.shared.mean + offset[here.words], here.shared.variance)
        found = here.pairs.word_gradient(moved, here.contexts, [settings.seed, n, step])
        return found.g.copy(), found.h.copy()

    observer.start(f"group {name}", _STEPS, "steps")
    for step in range(_STEPS):
        found = compute.map(partial(gradient, step), range(len(slices)))
        b[:], h[:] = 0.0, 0.0
        for here, (g, precision) in zip(slices, found, strict=True):
            b[here.words] += g + precision * offset[here.words]
            h[here.words] += precision
        way = b / (h + 1.0 / TYPICAL_OFFSET) - offset
        length = np.sqrt(np.einsum("lk,lk->l", way, way))[:, None]
        rate = (1.0 - 0.5 * step / (_STEPS - 1)) * np.minimum(1.0, _FARTHEST / np.maximum(length, _FARTHEST))
        if step + 1 < _STEPS:  # the last messages are about these offsets
            offset += (rate * way).astype(compute.dtype)
        observer.step(1)
    observer.finish()
    return b, h, _mean_vectors(slices, shape)


def _mean_vectors(slices: list[_GroupSlice], shape: tuple[int, int]) -> Floats:
    """The mean over slices of the shared vectors of the words of a group, (L, d)."""
    total, number = np.zeros(shape), np.zeros((shape[0], 1))
    for here in slices:
        total[here.words] += here.shared.mean
        number[here.words] += 1.0
    return total / np.maximum(number, 1.0)


def _slices(group: Counts, fitted: Fitted, settings: FitSettings, compute: Compute) -> list[_GroupSlice]:
    pairs = PairSettings(settings.negative_ratio, settings.context_exponent)
    if settings.method == "static":
        parts = {0: slice_data(sum(group[1:], group[0]), pairs)}
    else:
        parts = {t: slice_data(group[t], pairs) for t in range(len(group))}
    shared, contexts = trajectories_of(fitted)

    def prepared(t: int) -> _GroupSlice:
        part = parts[t]
        words = part.words.astype(np.int64)
        return _GroupSlice(
            words,
            _at(shared, words, t, compute),
            _at(contexts, words, t, compute),
            PreparedSlice(part, compute, AUTO, alone=True),
        )

    return [prepared(t) for t, part in parts.items() if len(part)]


def _at(side: Trajectories, words: Integers, t: int, compute: Compute) -> GaussianVectors:
    slices = np.full(len(words), t)
    mean, variance = side.means_at_places(words, slices), side.variances_at_places(words, slices)
    return GaussianVectors(
        np.ascontiguousarray(mean, dtype=compute.dtype), np.ascontiguousarray(variance, dtype=compute.dtype)
    )
