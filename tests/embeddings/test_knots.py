"""Knots and occurrences find what belongs to a word or a slice."""

import numpy as np
import pytest
from embeddings.models import PLACES, knots_of

from wordtide.counts.counts import CountArrays, Counts
from wordtide.counts.settings import CountSettings
from wordtide.embeddings.knots import occurrences_of
from wordtide.timeline import NUMBERS, Slices

KNOTS = knots_of(PLACES)


@pytest.mark.parametrize("t", range(-1, 9))
def test_the_knots_around_a_slice_are_found_for_all_words_and_for_each(t):
    before, after = KNOTS.around_all(t)
    for word, slices in enumerate(PLACES.values()):
        earlier, later = [s for s in slices if s <= t], [s for s in slices if s > t]
        start = int(KNOTS.starts[word])
        expected = (start + len(earlier) - 1 if earlier else -1, start + len(earlier) if later else -1)
        assert (before[word], after[word]) == expected
        assert tuple(int(row[0]) for row in KNOTS.around_one(word, np.array([t]))) == expected


def test_words_and_slices_of_knots_agree():
    by_slice = {t: [int(KNOTS.words[row]) for row in rows] for t, rows in enumerate(KNOTS.by_slice)}
    assert by_slice == {t: [word for word, slices in enumerate(PLACES.values()) if t in slices] for t in range(8)}


def test_words_of_some_rows_are_those_of_all_rows():
    rows = np.array([0, 7, 8, 12, 13, 18])
    assert KNOTS.words_of(rows).tolist() == KNOTS.words[rows].tolist()


def counts_of(unigrams, places):
    """Counts that know their unigrams only, (T, L), each seen at so many places."""
    total, words = unigrams.shape
    numbers, none = np.arange(total, dtype=np.int64), np.zeros(0, dtype=np.int64)
    slices, seen = np.nonzero(unigrams)
    arrays = CountArrays(
        **dict.fromkeys(("columns", "values", "rows", "row_ends"), none),
        slice_rows=np.zeros(total + 1, dtype=np.int64),
        unigram_words=seen.astype(np.uint32),
        unigram_values=unigrams[slices, seen],
        slice_unigrams=np.searchsorted(slices, np.arange(total + 1)),
    )
    dates = Slices(**dict.fromkeys(NUMBERS, numbers + 1), labels=[str(t) for t in numbers])
    return Counts([f"word {n}" for n in range(words)], dates, arrays, CountSettings(), window=4, places=places)


@pytest.mark.parametrize(("places", "dtype"), [(1, np.int64), (5, np.float64)])
def test_occurrences_come_from_counts(places, dtype):
    unigrams = np.array([[3, 0, 1, 0], [0, 0, 2, 7], [4, 0, 0, 0]])
    occurrences = occurrences_of(counts_of(unigrams, places))
    assert occurrences.values.dtype == dtype
    assert [occurrences.of_slice(t).tolist() for t in range(3)] == (unigrams / places).tolist()
    assert [occurrences.of_word(number, 3).tolist() for number in range(4)] == (unigrams.T / places).tolist()
