"""Counts against the slow twin of the paper's rule, and the laws they obey."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.pairs import count_pairs
from oracles.tokens import tokenize

import wordtide

WORDS = st.sampled_from(["a", "b", "c", "d", "e", "f", "17"])
SENTENCES = st.lists(WORDS, min_size=1, max_size=12).map(lambda words: " ".join(words).capitalize() + ".")
TEXTS = st.lists(SENTENCES, min_size=1, max_size=4).map(" ".join)
CORPORA = st.lists(st.tuples(st.integers(1990, 1993), TEXTS), min_size=1, max_size=6)


def as_dict(counts, t):
    matrix = counts[t].tocoo()
    return {
        (counts.words[i], counts.words[j]): n
        for i, j, n in zip(matrix.row, matrix.col, matrix.data, strict=True)
    }


def sentences_by_year(corpus):
    by_year = {}
    for year, text in corpus:
        by_year.setdefault(year, []).extend(tokenize(text))
    return by_year


@given(CORPORA, st.sampled_from([1, 2, 4, 5]), st.booleans(), st.integers(2, 6))
@settings(max_examples=150)
def test_counts_equal_those_of_the_brute_force_twin(corpus, window, close_gaps, size):
    counts = wordtide.count(corpus, window=window, close_gaps=close_gaps, vocabulary_size=size, workers=1)
    by_year = sentences_by_year(corpus)
    assert counts.labels == [str(year) for year in sorted(by_year)]
    for t, year in enumerate(sorted(by_year)):
        expected = count_pairs(by_year[year], set(counts.words), window, close_gaps)
        found = as_dict(counts, t)
        assert found.keys() == expected.keys()
        assert all(found[pair] == pytest.approx(float(expected[pair]), rel=1e-15) for pair in expected)


@given(CORPORA, st.integers(1, 6), st.integers(1, 3))
@settings(max_examples=60)
def test_the_vocabulary_holds_the_most_frequent_words_ties_by_spelling(corpus, size, min_count):
    totals = Counter(word for _, text in corpus for sentence in tokenize(text) for word in sentence if word)
    ranked = sorted(
        (word for word in totals if totals[word] >= min_count), key=lambda word: (-totals[word], word)
    )
    counts = wordtide.count(corpus, vocabulary_size=size, min_count=min_count, workers=1)
    assert counts.words == ranked[:size]


def test_share_ranks_words_by_the_sum_of_relative_frequencies():
    corpus = [("1900", "old old tale tale"), ("2000", " ".join(["new"] * 50 + ["tale"] * 50))]
    assert wordtide.count(corpus, vocabulary_size=3).words == ["tale", "new", "old"]
    assert wordtide.count(corpus, vocabulary_size=3, vocabulary_by="share").words == ["tale", "new", "old"]
    corpus[1] = ("2000", " ".join(["new"] * 10 + ["more"] * 30 + ["tale"] * 60))
    assert wordtide.count(corpus, vocabulary_size=4).words == ["tale", "more", "new", "old"]
    assert wordtide.count(corpus, vocabulary_size=4, vocabulary_by="share").words == [
        "tale",
        "old",
        "more",
        "new",
    ]


@given(CORPORA)
@settings(max_examples=40)
def test_n_plus_is_symmetric_and_its_margins_give_the_distributions(corpus):
    counts = wordtide.count(corpus, workers=1)
    for t in range(len(counts)):
        matrix = counts[t].toarray()
        assert np.array_equal(matrix, matrix.T)
        if matrix.sum():
            p = matrix.sum(axis=1) / matrix.sum()
            np.testing.assert_allclose(counts.word_probability(t), p, rtol=1e-12)
            np.testing.assert_allclose(
                counts.context_probability(t, 0.75), p**0.75 / (p**0.75).sum(), rtol=1e-12
            )
            assert counts.active_words()[t] == np.count_nonzero(p)


@given(CORPORA)
@settings(max_examples=40)
def test_unigrams_and_tokens_count_every_place(corpus):
    counts = wordtide.count(corpus, vocabulary_size=3, workers=1)
    for t, (_, sentences) in enumerate(sorted(sentences_by_year(corpus).items())):
        flat = [word for sentence in sentences for word in sentence]
        assert counts.tokens[t] == len(flat)
        assert counts.unigrams(t).tolist() == [flat.count(word) for word in counts.words]
        assert counts.tokens_in_vocabulary()[t] == sum(flat.count(word) for word in counts.words)


def test_neighbors_weigh_one_then_three_quarters_half_and_a_quarter():
    counts = wordtide.count([("2000", "a b c d e f")])
    row = {word: counts[0][counts.index["a"], counts.index[word]] for word in "bcdef"}
    assert row == {"b": 1, "c": 0.75, "d": 0.5, "e": 0.25, "f": 0}


def test_a_word_next_to_itself_counts_in_both_directions():
    assert wordtide.count([("2000", "no no")])[0].toarray().tolist() == [[2.0]]


def test_words_outside_the_vocabulary_keep_their_place_unless_gaps_are_closed():
    corpus = [("2000", "Ann rare bob. Ann bob. Ann bob.")]
    pair = lambda counts: counts[0][0, 1]  # noqa: E731
    assert pair(wordtide.count(corpus, vocabulary_size=2)) == 2.75
    assert pair(wordtide.count(corpus, vocabulary_size=2, close_gaps=True)) == 3


def test_the_time_of_a_slice_is_the_mean_date_of_its_tokens():
    counts = wordtide.count([("2001-01-01", "one"), ("2001-01-05", "two three four")])
    assert str(counts.dates[0]) == "2001-01-04"
    middle = Fraction(3) + Fraction(1, 2)  # days into the year: (0.5 + 3 * 4.5) / 4
    assert counts.times[0] == pytest.approx(2001 + float(middle / 365), abs=1e-12)


def test_a_vocabulary_beyond_32768_words_uses_wide_codes_and_the_same_rule():
    words = [f"w{chr(97 + n % 26)}{n}" for n in range(40_000)]
    counts = wordtide.count([("2000", " ".join(words))], vocabulary_size=50_000)
    first, last = counts.index[words[0]], counts.index[words[-1]]
    assert counts[0][first, counts.index[words[4]]] == 0.25
    assert counts[0][last, counts.index[words[-2]]] == 1
    assert counts[0].nnz == 2 * sum(40_000 - d for d in (1, 2, 3, 4))
    assert counts.arrays.columns.dtype == np.uint16
