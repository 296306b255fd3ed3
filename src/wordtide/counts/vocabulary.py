"""Vocabularies: the most frequent words, a list from a file, and counts translated to another vocabulary."""

import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from wordtide.corpus.tokens.lexicon import LONGEST_WORD, Lexicon
from wordtide.counts.count_arrays import CountArrays, join_arrays
from wordtide.counts.counts import Counts
from wordtide.errors import InputError
from wordtide.storage.cells import is_plain
from wordtide.system import read_text_file
from wordtide.types import Floats, Integers

_LARGEST_FILE: Final = 1 << 32
_REMEDY: Final = "Give a UTF-8 file with one word per line, or a counts folder."


def choose_vocabulary(
    lexicon: Lexicon, scores: Floats | Integers, size: int, least_total: int, stop_words: Sequence[str]
) -> list[str]:
    """Choose the `size` words with the highest scores that occur at least `least_total` times.

    Ties are broken by alphabetical order. Stop words and words with control characters, which custom
    tokenizers may return, are never chosen.
    """
    eligible = lexicon.totals >= max(1, least_total)
    stopped = lexicon.find(stop_words)
    eligible[stopped[stopped >= 0]] = False
    wanted = size
    while True:
        ranked = _ranked(lexicon, scores, wanted, np.flatnonzero(eligible))
        if is_plain("".join(ranked)):
            return ranked[:size]
        plain = [word for word in ranked if is_plain(word)]
        if len(plain) >= size or len(ranked) < wanted:
            return plain[:size]
        wanted += len(ranked) - len(plain)


def _ranked(lexicon: Lexicon, scores: Floats | Integers, size: int, eligible: Integers) -> list[str]:
    if len(eligible) > size:
        threshold = np.partition(scores[eligible], len(eligible) - size)[len(eligible) - size]
        eligible = eligible[scores[eligible] >= threshold]
    falling = -scores[eligible]
    order = np.argsort(falling, kind="stable")
    words = lexicon.words(eligible[order])
    ends_of_ties = np.flatnonzero(np.diff(falling[order])) + 1
    for start, stop in pairwise([0, *ends_of_ties.tolist(), len(words)]):
        if stop - start > 1:
            words[start:stop] = sorted(words[start:stop])
    return words[:size]


def numbering_of(lexicon: Lexicon, vocabulary: Sequence[str]) -> npt.NDArray[np.int32]:
    """Map the numbers of a lexicon to places in the vocabulary, or -1."""
    numbering = np.full(max(1, len(lexicon)), -1, dtype=np.int32)
    numbers = lexicon.find(vocabulary)
    known = numbers >= 0
    numbering[numbers[known]] = np.flatnonzero(known)
    return numbering


def read_stop_words(path: Path) -> tuple[str, ...]:
    """Read stop words: a file with one word per line, in any order and case, with comments after #."""
    lines = (line.partition("#")[0].strip().lower() for line in _lines_of(path))
    return tuple(sorted({unicodedata.normalize("NFC", line) for line in lines if line}))


def read_vocabulary(path: Path) -> list[str]:
    """Read a fixed vocabulary: a file with one word per line, or the words of a counts folder."""
    file = path / "words.txt" if path.is_dir() else path
    words: list[str] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(_lines_of(file), 1):
        word = line.strip()
        if not word:
            continue
        if len(word.encode("utf-8")) > LONGEST_WORD:
            raise InputError(
                f"{file}, line {number}: the word is longer than {LONGEST_WORD} bytes.", "Remove it."
            )
        if not is_plain(word):
            raise InputError(f"{file}, line {number}: {word!r} holds control characters.", "Remove it.")
        if word in seen:
            raise InputError(
                f"{file}, line {number}: {word!r} is on line {seen[word]} already.",
                "List each word once.",
            )
        seen[word] = number
        words.append(word)
    if not words:
        raise InputError(f"{file} holds no words.", "Give a file with one word per line.")
    return words


def _lines_of(file: Path) -> list[str]:
    return read_text_file(file, _LARGEST_FILE, _REMEDY).split("\n")


def renumber(counts: Counts, words: Sequence[str]) -> Counts:
    """Return counts in another vocabulary, in memory.

    Words that it lacks are left out but keep their places in the texts, so the result is what counting with
    that vocabulary gives (except with `close_gaps`, where the words on both sides would have moved together).
    """
    if counts.words == list(words):
        return counts
    numbers = {word: number for number, word in enumerate(words)}
    numbering = np.array([numbers.get(word, -1) for word in counts.words], dtype=np.int64)
    arrays = join_arrays([_renumbered(counts, t, numbering, len(words)) for t in range(len(counts))])
    return Counts(
        words,
        counts.slices,
        arrays,
        counts.settings,
        counts.window,
        counts.places,
        counts.summary,
        counts.path,
        {name: renumber(group, words) for name, group in counts.groups.items()},
    )


def select_slices(counts: Counts, chosen: Sequence[int]) -> Counts:
    """Return some slices of counts, in memory."""
    if len(chosen) == len(counts):
        return counts
    arrays = join_arrays([counts.arrays.between(t, t + 1) for t in chosen])
    groups = {name: select_slices(group, chosen) for name, group in counts.groups.items()}
    return counts.replaced(counts.slices.chosen(chosen), arrays, counts.summary, groups)


def _renumbered(counts: Counts, t: int, numbering: Integers, size: int) -> CountArrays:
    """Slice t in new numbers; pairs stay on and above the diagonal."""
    half = counts.upper(t)
    row = numbering[np.repeat(np.arange(len(counts.words)), np.diff(half.indptr))]
    column = numbering[half.indices]
    kept = np.flatnonzero((row >= 0) & (column >= 0))
    row, column = np.minimum(row[kept], column[kept]), np.maximum(row[kept], column[kept])
    order = np.argsort(row * size + column, kind="stable")
    rows, lengths = np.unique(row, return_counts=True)
    old, occurrences = counts.arrays.words_of(t)
    words = numbering[old]
    known = np.flatnonzero(words >= 0)
    known = known[np.argsort(words[known], kind="stable")]
    return CountArrays(
        columns=column[order].astype(np.uint32),
        values=half.data[kept][order].astype(counts.arrays.values.dtype),
        rows=rows.astype(np.uint32),
        row_ends=np.cumsum(lengths),
        slice_rows=np.array([0, len(rows)]),
        unigram_words=words[known].astype(np.uint32),
        unigram_values=occurrences[known],
        slice_unigrams=np.array([0, len(known)]),
    )
