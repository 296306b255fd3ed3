"""Counts in another vocabulary: words that it lacks are left out, and the others get its numbers.

A word that is left out keeps its place in the texts, so the result is what counting with that vocabulary gives (but not with
close_gaps, where words on both sides of it would have moved together).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.counts.counts import CountArrays, Counts
from wordtide.timeline import NUMBERS, Slices

Integers = npt.NDArray[np.int64]


def renumbered(counts: Counts, words: Sequence[str]) -> Counts:
    """The same counts in the vocabulary `words`, in memory."""
    if counts.words == list(words):
        return counts
    numbers = {word: number for number, word in enumerate(words)}
    numbering = np.array([numbers.get(word, -1) for word in counts.words], dtype=np.int64)
    pairs = [_pairs(counts, t, numbering, len(words)) for t in range(len(counts))]
    unigrams = [_unigrams(counts, t, numbering) for t in range(len(counts))]
    rows = [np.unique(row) for row, _, _ in pairs]
    lengths = [
        np.bincount(row, minlength=len(words))[own] for (row, _, _), own in zip(pairs, rows, strict=True)
    ]
    arrays = CountArrays(
        columns=_joined([column for _, column, _ in pairs], np.uint32),
        values=_joined([value for _, _, value in pairs], counts.arrays.values.dtype),
        rows=_joined(rows, np.uint32),
        row_ends=np.cumsum(_joined(lengths, np.int64)),
        slice_rows=_ends(rows),
        unigram_words=_joined([word for word, _ in unigrams], np.uint32),
        unigram_values=_joined([value for _, value in unigrams], np.int64),
        slice_unigrams=_ends([word for word, _ in unigrams]),
    )
    return Counts(
        words,
        counts.slices,
        arrays,
        counts.settings,
        counts.window,
        counts.places,
        counts.summary,
        counts.path,
    )


def only_slices(counts: Counts, chosen: Sequence[int]) -> Counts:
    """Some slices of counts, in memory."""
    if len(chosen) == len(counts):
        return counts
    a = counts.arrays
    numbers = {name: getattr(counts.slices, name)[list(chosen)] for name in NUMBERS}
    slices = Slices(**numbers, labels=[counts.slices.labels[t] for t in chosen])
    ends = np.concatenate([[0], a.row_ends])
    rows = [np.arange(a.slice_rows[t], a.slice_rows[t + 1]) for t in chosen]
    entries = [np.arange(ends[a.slice_rows[t]], ends[a.slice_rows[t + 1]]) for t in chosen]
    seen = [np.arange(a.slice_unigrams[t], a.slice_unigrams[t + 1]) for t in chosen]
    row, entry, one = (_joined(parts, np.int64) for parts in (rows, entries, seen))
    arrays = CountArrays(
        columns=a.columns[entry],
        values=a.values[entry],
        rows=a.rows[row],
        row_ends=np.cumsum(np.diff(ends)[row]),
        slice_rows=_ends(rows),
        unigram_words=a.unigram_words[one],
        unigram_values=a.unigram_values[one],
        slice_unigrams=_ends(seen),
    )
    return Counts(counts.words, slices, arrays, counts.settings, counts.window, counts.places, counts.summary)


def _pairs(
    counts: Counts, t: int, numbering: Integers, size: int
) -> tuple[Integers, Integers, npt.NDArray[np.int64]]:
    """Rows, columns and values of slice t in new numbers, on and above the diagonal, in order."""
    half = counts.upper(t)
    row = numbering[np.repeat(np.arange(len(counts.words)), np.diff(half.indptr))]
    column = numbering[half.indices]
    kept = np.flatnonzero((row >= 0) & (column >= 0))
    row, column = np.minimum(row[kept], column[kept]), np.maximum(row[kept], column[kept])
    order = np.argsort(row * size + column, kind="stable")
    return row[order], column[order], half.data[kept][order]


def _unigrams(counts: Counts, t: int, numbering: Integers) -> tuple[Integers, npt.NDArray[np.int64]]:
    a = counts.arrays
    here = slice(int(a.slice_unigrams[t]), int(a.slice_unigrams[t + 1]))
    words, values = numbering[a.unigram_words[here]], np.asarray(a.unigram_values[here])
    kept = np.flatnonzero(words >= 0)
    kept = kept[np.argsort(words[kept], kind="stable")]
    return words[kept], values[kept]


def _joined(parts: Sequence[npt.NDArray[Any]], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=dtype), *parts]).astype(dtype)


def _ends(parts: Sequence[npt.NDArray[np.int64]]) -> Integers:
    return np.cumsum([0, *(len(part) for part in parts)]).astype(np.int64)
