"""Vocabularies: the most frequent words, a list from a file, and counts translated to another vocabulary."""

import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from wordtide.corpus.tokens.lexicon import LONGEST_WORD, Lexicon
from wordtide.counts.count_arrays import CountArrays
from wordtide.counts.counts import Counts
from wordtide.errors import InputError
from wordtide.storage.cells import is_plain
from wordtide.system import read_regular_file
from wordtide.types import Array, Floats, Integers

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
    lines = (line.partition("#")[0].strip().lower() for line in _read_lines(path))
    return tuple(sorted({unicodedata.normalize("NFC", line) for line in lines if line}))


def read_vocabulary(path: Path) -> list[str]:
    """Read a fixed vocabulary: a file with one word per line, or the words of a counts folder."""
    file = path / "words.txt" if path.is_dir() else path
    words: list[str] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(_read_lines(file), 1):
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


def _read_lines(file: Path) -> list[str]:
    try:
        text = read_regular_file(file, _LARGEST_FILE, _REMEDY).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} cannot be read: {error}", _REMEDY) from error
    return text.split("\n")


def renumber(counts: Counts, words: Sequence[str]) -> Counts:
    """Return counts in another vocabulary, in memory.

    Words that it lacks are left out but keep their places in the texts, so the result is what counting with
    that vocabulary gives (except with `close_gaps`, where the words on both sides would have moved together).
    """
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
        {name: renumber(group, words) for name, group in counts.groups.items()},
    )


def select_slices(counts: Counts, chosen: Sequence[int]) -> Counts:
    """Return some slices of counts, in memory."""
    if len(chosen) == len(counts):
        return counts
    a = counts.arrays
    entry_starts = np.concatenate([[0], a.row_ends])
    rows = [slice(a.slice_rows[t], a.slice_rows[t + 1]) for t in chosen]
    entries = [slice(entry_starts[part.start], entry_starts[part.stop]) for part in rows]
    seen = [slice(a.slice_unigrams[t], a.slice_unigrams[t + 1]) for t in chosen]
    lengths = np.diff(entry_starts)
    arrays = CountArrays(
        columns=_joined([a.columns[part] for part in entries], a.columns.dtype),
        values=_joined([a.values[part] for part in entries], a.values.dtype),
        rows=_joined([a.rows[part] for part in rows], a.rows.dtype),
        row_ends=np.cumsum(_joined([lengths[part] for part in rows], np.int64)),
        slice_rows=_ends([a.rows[part] for part in rows]),
        unigram_words=_joined([a.unigram_words[part] for part in seen], a.unigram_words.dtype),
        unigram_values=_joined([a.unigram_values[part] for part in seen], a.unigram_values.dtype),
        slice_unigrams=_ends([a.unigram_words[part] for part in seen]),
    )
    groups = {name: select_slices(group, chosen) for name, group in counts.groups.items()}
    return counts.replaced(counts.slices.chosen(chosen), arrays, counts.summary, groups)


def _pairs(counts: Counts, t: int, numbering: Integers, size: int) -> tuple[Integers, Integers, Integers]:
    """Rows, columns and values of slice t in new numbers, on and above the diagonal, sorted."""
    half = counts.upper(t)
    row = numbering[np.repeat(np.arange(len(counts.words)), np.diff(half.indptr))]
    column = numbering[half.indices]
    kept = np.flatnonzero((row >= 0) & (column >= 0))
    row, column = np.minimum(row[kept], column[kept]), np.maximum(row[kept], column[kept])
    order = np.argsort(row * size + column, kind="stable")
    return row[order], column[order], half.data[kept][order]


def _unigrams(counts: Counts, t: int, numbering: Integers) -> tuple[Integers, Integers]:
    a = counts.arrays
    here = slice(int(a.slice_unigrams[t]), int(a.slice_unigrams[t + 1]))
    words, values = numbering[a.unigram_words[here]], np.asarray(a.unigram_values[here])
    kept = np.flatnonzero(words >= 0)
    kept = kept[np.argsort(words[kept], kind="stable")]
    return words[kept], values[kept]


def _joined(parts: Sequence[Array], dtype: npt.DTypeLike) -> Array:
    return np.concatenate([np.zeros(0, dtype=dtype), *parts]).astype(dtype)


def _ends(parts: Sequence[Array]) -> Integers:
    return np.cumsum([0, *(len(part) for part in parts)]).astype(np.int64)
