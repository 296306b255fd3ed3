"""Phrases found and joined in the simplest way, and corpora with planted phrases."""

import math
import random
from collections import Counter
from itertools import pairwise

from wordtide.counts.phrases import collocations as rule


def join(sentence, phrases):
    """At each place the longest phrase that begins there, from left to right."""
    known = {tuple(phrase.split()) for phrase in phrases}
    joined, place = [], 0
    while place < len(sentence):
        sizes = [len(words) for words in known if tuple(sentence[place : place + len(words)]) == words]
        step = max(sizes, default=1)
        joined.append(" ".join(sentence[place : place + step]) if step > 1 else sentence[place])
        place += step
    return joined


def enough(both, one, other, words):
    """Whether a pair has the score it needs."""
    score = math.log(both * words / (one * other)) / math.log(words / both)
    frequency = max(one, other) / words
    needed = rule.LEAST_SCORE + rule.SCORE_PER_DECADE * max(0, math.log10(frequency / rule.PLAIN_FREQUENCY))
    return both >= rule.LEAST_COUNT and score >= needed


def find_phrases(documents, words):
    """The phrases of documents (era, sentences) whose words are among `words`, a None being no word."""
    phrases: set[str] = set()
    sizes = Counter()
    for era, sentences in documents:
        for key in (era, "all"):
            sizes[key] += sum(map(len, sentences))
    for _ in range(2):
        pairs, singles = Counter(), Counter()
        for era, sentences in documents:
            for sentence in sentences:
                units = join(sentence, phrases)
                units = [unit if unit in words or unit in phrases else None for unit in units]
                for key in (era, "all"):
                    singles.update((key, unit) for unit in units)
                    pairs.update((key, *pair) for pair in pairwise(units) if None not in pair)
        found = {
            f"{one} {other}"
            for (key, one, other), both in pairs.items()
            if enough(both, singles[key, one], singles[key, other], sizes[key])
        }
        found = {phrase for phrase in found if phrase.count(" ") < rule.LONGEST_PHRASE}
        if phrases:
            longer = {phrase for phrase in found if phrase.count(" ") > 1}
            phrases = phrases | longer
        else:
            phrases = found
    return phrases


def occurring(documents, phrases):
    """The phrases that still occur when all of them are joined, in the end."""
    sentences = [sentence for _, sentences in documents for sentence in sentences]
    while True:
        seen = {unit for sentence in sentences for unit in join(sentence, phrases)}
        if phrases <= seen:
            return phrases
        phrases = phrases & seen


def planted(seed, documents=400):
    """Rows (year, sentences) of frequent words, rare words and phrases, one of these only in the 1990s."""
    rng = random.Random(seed)
    words = [f"w{n}" for n in range(400)]
    always = ["alpha beta", "gamma delta epsilon", "north east south west", "w0 w1"]
    rows = []
    for _ in range(documents):
        year = rng.randint(1900, 1999)
        sentences = []
        for _ in range(rng.randint(1, 4)):
            sentence = []
            for _ in range(rng.randint(1, 8)):
                if rng.random() < 0.06:
                    sentence += rng.choice(always).split()
                elif year >= 1990 and rng.random() < 0.1:
                    sentence += ["late", "phrase"]
                else:
                    sentence += rng.choices(
                        [*words, "late", "phrase"], [1 / (n + 1) for n in range(400)] + [0.02] * 2
                    )
            sentences.append(sentence)
        rows.append((year, sentences))
    return rows


def as_text(sentences):
    """A text that the token rule splits into these sentences."""
    return " ".join(" ".join(sentence).capitalize() + "." for sentence in sentences)
