"""Counts in another vocabulary are those of counting with it."""

import numpy as np
import pytest

import wordtide
from wordtide.counts.count_arrays import ARRAYS
from wordtide.counts.vocabulary import renumber, select_slices

WORDS = [stem + ending for stem in ("river", "mill", "road", "king") for ending in ("", "er", "ing")]
TEXTS = [(str(1900 + t), " ".join(np.random.default_rng(t).choice(WORDS, 60))) for t in range(4)]


def counted(words, place, texts=TEXTS):
    (place / "words.txt").write_text("\n".join(words) + "\n")
    return wordtide.count(texts, vocabulary=str(place / "words.txt"), workers=1)


def same(one, other):
    assert one.words == other.words
    assert one.labels == other.labels
    for name in ARRAYS:
        assert np.array_equal(getattr(one.arrays, name), getattr(other.arrays, name)), name


@pytest.mark.parametrize("seed", range(6))
def test_renumbering_equals_counting_with_the_other_vocabulary(tmp_path, seed):
    generator = np.random.default_rng(seed)
    words = [*generator.permutation(WORDS)[: 3 + seed].tolist(), "absent"]
    generator.shuffle(words)
    same(renumber(wordtide.count(TEXTS, workers=1), words), counted(words, tmp_path))


def test_renumbering_to_the_same_words_changes_nothing():
    counts = wordtide.count(TEXTS, workers=1)
    assert renumber(counts, counts.words) is counts


@pytest.mark.parametrize("chosen", [[0], [1, 3], [0, 1, 2]])
def test_selecting_slices_equals_counting_their_texts_alone(tmp_path, chosen):
    texts = [TEXTS[t] for t in chosen]
    same(select_slices(counted(WORDS, tmp_path), chosen), counted(WORDS, tmp_path, texts))
