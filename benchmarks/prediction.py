"""Predictive log-likelihood per pair of slices that a model has not seen (the paper's last numbered equation)."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

import wordtide
from wordtide.counts.counts import Counts
from wordtide.inference.problem import Problem, SliceData
from wordtide.timeline import NUMBERS

Vectors = tuple[np.ndarray, np.ndarray]


def log_likelihood(part: SliceData, u: np.ndarray, v: np.ndarray) -> float:
    """Of one slice, with vectors of its active words, per pair."""
    m = (
        torch.from_numpy(np.ascontiguousarray(u, dtype=np.float32))
        @ torch.from_numpy(np.ascontiguousarray(v, dtype=np.float32)).T
    )
    softplus = torch.nn.functional.softplus
    p, q = (torch.from_numpy(weights).float() for weights in (part.word_probability, part.context_probability))
    negative = part.negatives * float(p @ softplus(m) @ q)
    rows = torch.from_numpy(np.repeat(np.arange(len(part)), np.diff(part.indptr)))
    columns = torch.from_numpy(part.indices.astype(np.int64))
    positive = float((torch.from_numpy(part.values) * softplus(-m[rows, columns])).sum())
    return -(positive + negative) / part.pairs


def previous_slice_score(problem: Problem, vectors: Callable[[int, np.ndarray], Vectors]) -> float:
    """Mean over all slices but the first, each predicted from the vectors of the slice before."""
    scores = [log_likelihood(part, *vectors(t - 1, part.words)) for t, part in enumerate(problem.slices) if t > 0]
    return float(np.mean(scores))


def smoothed_score(counts: Counts, problem: Problem) -> float:
    """Mean over every tenth slice, left out of the fit, with vectors interpolated between its neighbours."""
    held = list(range(5, len(counts), 10))
    kept = [t for t in range(len(counts)) if t not in held]
    model = wordtide.fit(without(counts, held))
    scores = []
    for t in held:
        part, time = problem.slices[t], problem.times[t]
        after = int(np.searchsorted(problem.times[kept], time))
        before_time, after_time = (float(problem.times[kept[k]]) for k in (after - 1, after))
        share = (time - before_time) / (after_time - before_time)
        sides = []
        for context in (False, True):
            states = [model.means_at(moment, context=context)[part.words] for moment in (before_time, after_time)]
            sides.append((1 - share) * states[0] + share * states[1])
        scores.append(log_likelihood(part, sides[0], sides[1]))
    return float(np.mean(scores))


def without(counts: Counts, slices: list[int]) -> Counts:
    """The same counts without some slices."""
    a, kept = counts.arrays, [t for t in range(len(counts)) if t not in slices]
    rows = np.concatenate([np.arange(a.slice_rows[t], a.slice_rows[t + 1]) for t in kept])
    starts = np.concatenate([[0], a.row_ends[:-1]])[rows]
    lengths = a.row_ends[rows] - starts
    entries = np.concatenate([np.arange(s, s + n) for s, n in zip(starts, lengths, strict=True)])
    unigrams = np.concatenate([np.arange(a.slice_unigrams[t], a.slice_unigrams[t + 1]) for t in kept])
    ends = lambda offsets: np.concatenate([[0], np.cumsum([offsets[t + 1] - offsets[t] for t in kept])])  # noqa: E731
    arrays = replace(
        a,
        columns=a.columns[entries],
        values=a.values[entries],
        rows=a.rows[rows],
        row_ends=np.cumsum(lengths),
        slice_rows=ends(a.slice_rows),
        unigram_words=a.unigram_words[unigrams],
        unigram_values=a.unigram_values[unigrams],
        slice_unigrams=ends(a.slice_unigrams),
    )
    numbers = {name: getattr(counts.slices, name)[kept] for name in NUMBERS}
    parts = replace(counts.slices, **numbers, labels=[counts.labels[t] for t in kept])
    return Counts(counts.words, parts, arrays, counts.settings, counts.window, counts.places, counts.summary)
