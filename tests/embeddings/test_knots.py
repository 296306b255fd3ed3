"""Knots and occurrences by word and by slice."""

import numpy as np
import pytest
from embeddings.models import PLACES, knots_of

from wordtide.counts.count_arrays import CountArrays
from wordtide.counts.counts import Counts
from wordtide.counts.settings import CountSettings
from wordtide.model.knots import occurrences_of
from wordtide.timeline import INTEGER_FIELDS, Slices

KNOTS = knots_of(PLACES)


@pytest.mark.parametrize("t", range(-1, 9))
def test_the_knots_around_a_slice_are_found_for_all_words_and_for_each(t):
    before, after = KNOTS.around(t)
    for word, slices in enumerate(PLACES.values()):
        earlier, later = [s for s in slices if s <= t], [s for s in slices if s > t]
        start = int(KNOTS.starts[word])
        expected = (start + len(earlier) - 1 if earlier else -1, start + len(earlier) if later else -1)
        assert (before[word], after[word]) == expected
        assert tuple(int(row[0]) for row in KNOTS.around_one(word, np.array([t]))) == expected


@pytest.mark.parametrize("words", [[0], [3, 1], [6, 5, 4, 3, 2, 1, 0], [2, 2], []])
@pytest.mark.parametrize("t", range(-1, 9))
def test_knots_around_a_slice_of_some_words_are_those_of_all(t, words):
    some = np.array(words, dtype=np.int64)
    for found, whole in zip(KNOTS.around(t, some), KNOTS.around(t), strict=True):
        assert found.tolist() == whole[some].tolist()
    assert KNOTS.rows_after(t, some).tolist() == KNOTS.rows_after(t)[some].tolist()


@pytest.mark.parametrize("t", [-1, 0, 17, 63, 99])
def test_the_row_after_a_slice_is_found_in_words_of_all_lengths(t):
    generator = np.random.default_rng(8)
    places = {n: sorted(generator.choice(100, generator.integers(0, 100), replace=False)) for n in range(60)}
    knots = knots_of(places)
    expected = [int(knots.starts[n]) + sum(s <= t for s in places[n]) for n in range(60)]
    assert knots.rows_after(t).tolist() == knots.rows_after(t, np.arange(60)).tolist() == expected


def test_without_any_knots_there_are_none_around():
    knots = knots_of({"a": [], "b": []})
    assert [rows.tolist() for rows in knots.around(0, np.array([1]))] == [[-1], [-1]]


def test_words_and_slices_of_knots_agree():
    by_slice = {t: [int(KNOTS.words[row]) for row in rows] for t, rows in enumerate(KNOTS.by_slice)}
    assert by_slice == {
        t: [word for word, slices in enumerate(PLACES.values()) if t in slices] for t in range(8)
    }


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
    dates = Slices(**dict.fromkeys(INTEGER_FIELDS, numbers + 1), labels=[str(t) for t in numbers])
    return Counts(
        [f"word {n}" for n in range(words)], dates, arrays, CountSettings(), window=4, places=places
    )


@pytest.mark.parametrize(("places", "dtype"), [(1, np.int64), (5, np.float64)])
def test_occurrences_come_from_counts(places, dtype):
    unigrams = np.array([[3, 0, 1, 0], [0, 0, 2, 7], [4, 0, 0, 0]])
    occurrences = occurrences_of(counts_of(unigrams, places))
    assert occurrences.values.dtype == dtype
    assert [occurrences.of_slice(t).tolist() for t in range(3)] == (unigrams / places).tolist()
    assert [occurrences.of_word(number, 3).tolist() for number in range(4)] == (unigrams.T / places).tolist()
