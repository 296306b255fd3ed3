"""Generated corpora for the benchmarks, with those properties of real text that cost time.

Word frequencies follow Zipf's law, frequent words are short, some words hold an apostrophe, a hyphen or a
capital. A sentence begins with a capital and ends with a full stop. The texts use ASCII only and no
abbreviation, number, address or initial, so that one short regular expression states the token rule on them.
N-gram tables hold case variants, punctuation, numbers, part-of-speech tags and placeholders; their words are
as unequal as those of real Google Books 5-grams, and their pairs recur almost as often (a pair that occurs in
a year stands in three n-grams of it; in a sample of real ones in four).
"""

import gzip
import string
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.corpus.tokens.tokenizers import ABBREVIATIONS

VOCABULARY = 50_000
FIRST_YEAR, SLICES = 1970, 50
SENTENCES_PER_DOCUMENT = 20
PHRASE_RANKS = (500, 1500)
_QUANTILES = 1 << 22
_TEXT_EXPONENT, _NGRAM_EXPONENT = (
    1.1,
    1.25,
)  # of Zipf's law: 100 words make half of the text, two thirds of the n-grams
_LONG_EXPONENT, _GROWTH, _LIFETIME = 1.1, 1.5, 3  # of tables over many years
_TAGS = ("_NOUN", "_VERB", "_ADJ", "_DET", "_ADP")
_PLACEHOLDERS = ("_NOUN_", "_VERB_", "_START_", "_END_", ",_.")
_UNNAMED = (",", ".", '"', "1850", "3.5", "--")
_LAST_BOOK_YEAR = 2019
_ROWS = 10_000  # grams whose entries are Python objects at a time
_FIRST_WORDS = 50  # published tables are split by the first letters

Integers = npt.NDArray[np.int64]


class NgramTable(NamedTuple):
    """Grams, and the years of gram g: `years[ends[g - 1]:ends[g]]` with `matches` and `volumes`."""

    grams: list[str]
    ends: Integers
    years: Integers
    matches: Integers
    volumes: Integers


def make_words(seed: int = 1, number: int = VOCABULARY) -> list[str]:
    """Distinct words, the most frequent first; no two differ by case alone."""
    rng = np.random.default_rng(seed)
    refused = {*ABBREVIATIONS, "www"}  # their full stop would not end a sentence
    words: list[str] = []
    while len(words) < number:
        length = max(2, round(rng.normal(2 + 0.5 * np.log1p(len(words)), 1)))
        word = "".join(rng.choice(list(string.ascii_lowercase), length))
        style = rng.random()
        if style < 0.02:
            word += str(rng.choice(["'s", "n't", "'ll"]))
        elif style < 0.04:
            word += "-" + word[::-1]
        if word not in refused:
            refused.add(word)
            words.append(word.capitalize() if 0.04 <= style < 0.08 else word)
    return words


def _ranks(rng: np.random.Generator, exponent: float, size: int, words: int = VOCABULARY) -> Integers:
    """Places in the list of words, by Zipf's law with Mandelbrot's shift."""
    weights = (np.arange(words) + 2.7) ** -exponent
    ends = np.cumsum(weights / weights.sum())
    table = np.searchsorted(ends[:-1], (np.arange(_QUANTILES) + 0.5) / _QUANTILES)
    return table[rng.integers(0, _QUANTILES, size)]


def write_texts(path: Path, words: list[str], tokens: int, seed: int) -> None:
    """JSON Lines with `date` and `text`, about `tokens` words; documents of all years in random order."""
    rng = np.random.default_rng(seed)
    forms = [*words, *(w.capitalize() for w in words), *(f"{w}," for w in words), *(f"{w}." for w in words)]
    ends = np.cumsum(rng.integers(10, 31, max(1, tokens // 20)))
    ranks = _ranks(rng, _TEXT_EXPONENT, int(ends[-1]))
    ranks[rng.random(len(ranks)) < 0.06] += 2 * VOCABULARY
    ranks[ends - 1] = ranks[ends - 1] % VOCABULARY + 3 * VOCABULARY
    ranks[np.append(0, ends[:-1])] = ranks[np.append(0, ends[:-1])] % VOCABULARY + VOCABULARY
    cuts = np.append(ends[SENTENCES_PER_DOCUMENT - 1 : -1 : SENTENCES_PER_DOCUMENT], ends[-1]).tolist()
    years, months, days = (
        rng.integers(low, high, len(cuts)).tolist() for low, high in ((0, SLICES), (1, 13), (1, 29))
    )
    with path.open("w", encoding="ascii", newline="\n") as file:
        start = 0
        for stop, year, month, day in zip(cuts, years, months, days, strict=True):
            text = " ".join([forms[form] for form in ranks[start:stop].tolist()])
            file.write(f'{{"date": "{FIRST_YEAR + year}-{month:02}-{day:02}", "text": "{text}"}}\n')
            start = stop


def write_phrases(path: Path, source: Path, words: list[str]) -> None:
    """The texts of another file, in which each of 1,000 common words is followed by a word of its own."""
    first, last = PHRASE_RANKS
    followed = {words[rank]: f"{words[rank]} {words[rank + last - first]}" for rank in range(first, last)}
    with source.open(encoding="ascii") as texts, path.open("w", encoding="ascii", newline="\n") as file:
        for line in texts:
            file.write(" ".join(followed.get(word, word) for word in line.split(" ")))


def make_ngrams(words: list[str], entries: int, seed: int) -> NgramTable:
    """A table of 5-grams with about `entries` n-gram-years, sorted as published ones are.

    There are 20 per n-gram, most of them recent.
    """
    rng = np.random.default_rng(seed)
    ranks = _ranks(rng, _NGRAM_EXPONENT, 5 * max(1, entries // 20)).reshape(-1, 5)
    ranks[:, 0] %= _FIRST_WORDS
    grams = sorted({_gram(rng, words, five) for five in ranks.tolist()})
    lengths = np.minimum(rng.geometric(1 / 20, len(grams)), 100)
    starts = _LAST_BOOK_YEAR + 1 - lengths - np.minimum(rng.geometric(1 / 5, len(grams)), 100)
    ends = np.cumsum(lengths)
    years = np.repeat(starts - np.append(0, ends[:-1]), lengths) + np.arange(ends[-1])
    matches = 1 + np.floor(3 * rng.pareto(1.2, len(years))).astype(np.int64).clip(0, 1_000_000)
    return NgramTable(grams, ends, years, matches, (matches + 1) // 2)


def make_ngrams_of_years(words: list[str], number: int, years: range, seed: int) -> NgramTable:
    """A table of `number` drawn 5-grams over all `years`: a gram lives for some years, and more begin later.

    All words may come first, and the tail of rare words is longer than in `make_ngrams`.
    """
    rng = np.random.default_rng(seed)
    ranks = _ranks(rng, _LONG_EXPONENT, 5 * number, len(words)).reshape(-1, 5)
    grams = sorted({_gram(rng, words, five) for five in ranks.tolist()})
    begin = len(years) * rng.random(len(grams)) ** (1 / _GROWTH)
    first = np.floor(begin).astype(np.int64)
    lengths = np.minimum(rng.geometric(1 / _LIFETIME, len(grams)), len(years) - first)
    ends = np.cumsum(lengths)
    years_of = years[0] + np.repeat(first - np.append(0, ends[:-1]), lengths) + np.arange(ends[-1])
    matches = 1 + np.floor(3 * rng.pareto(1.2, len(years_of))).astype(np.int64).clip(0, 1_000_000)
    return NgramTable(grams, ends, years_of, matches, (matches + 1) // 2)


def _gram(rng: np.random.Generator, words: list[str], ranks: list[int]) -> str:
    """Five tokens; some are tagged, or hold punctuation, a number or an underscore."""
    gram = [words[rank] for rank in ranks]
    luck, place, choice = rng.random(), int(rng.integers(5)), int(rng.integers(30))
    if luck < 0.1:
        gram[place] += _TAGS[choice % len(_TAGS)]
    elif luck < 0.2:
        gram[place] = _PLACEHOLDERS[choice % len(_PLACEHOLDERS)]
    elif luck < 0.3:
        gram[place] = _UNNAMED[choice % len(_UNNAMED)]
    elif luck < 0.303:
        gram[place] += "_way"
    elif luck < 0.45:
        gram[0] = gram[0].capitalize()
    return " ".join(gram)


def write_v2(path: Path, table: NgramTable) -> None:
    """One line per gram and year."""
    _write_gzip(path, (f"{gram}\t{y}\t{m}\t{v}\n" for gram, entries in _rows(table) for y, m, v in entries))


def write_v3(path: Path, table: NgramTable) -> None:
    """One line per gram."""
    _write_gzip(
        path,
        (
            "\t".join([gram, *(f"{y},{m},{v}" for y, m, v in entries)]) + "\n"
            for gram, entries in _rows(table)
        ),
    )


def _rows(table: NgramTable) -> Iterator[tuple[str, list[tuple[int, int, int]]]]:
    columns = table.years, table.matches, table.volumes
    for first in range(0, len(table.grams), _ROWS):
        ends = table.ends[first : first + _ROWS].tolist()
        base = start = int(table.ends[first - 1]) if first else 0
        entries = list(zip(*(column[base : ends[-1]].tolist() for column in columns), strict=True))
        for gram, stop in zip(table.grams[first : first + _ROWS], ends, strict=True):
            yield gram, entries[start - base : stop - base]
            start = stop


def _write_gzip(path: Path, lines: Iterator[str]) -> None:
    with gzip.open(path, "wt", encoding="ascii", compresslevel=6, newline="\n") as file:
        file.writelines(lines)
