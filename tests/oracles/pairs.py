"""The counting rule of the paper's supplement, pair by pair."""

from collections import Counter
from fractions import Fraction


def count_pairs(sentences, vocabulary, window=4, close_gaps=False):
    """n+ as {(word, word): weight}, in both directions. A sentence is a list of words, or None for a gap."""
    counts = Counter()
    for sentence in sentences:
        if close_gaps:
            sentence = [word for word in sentence if word in vocabulary]
        for i, one in enumerate(sentence):
            for j, other in enumerate(sentence):
                between = abs(i - j) - 1
                if i != j and one in vocabulary and other in vocabulary and between < window:
                    counts[one, other] += 1 - Fraction(between, window)
    return counts


def ngrams_of(sentence, n):
    """All runs of n words."""
    return [tuple(sentence[i : i + n]) for i in range(len(sentence) - n + 1)]
