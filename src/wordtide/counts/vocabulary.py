"""Which words are counted: the most frequent ones, or a list from a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from wordtide.corpus.tokens.lexicon import LONGEST_WORD, Lexicon
from wordtide.errors import InputError
from wordtide.storage.cells import is_plain

_LARGEST_FILE: Final = 1 << 32


def choose_vocabulary(
    lexicon: Lexicon, scores: npt.NDArray[np.float64] | npt.NDArray[np.int64], size: int, least_total: int
) -> list[str]:
    """The `size` words with the highest scores among those seen `least_total` times, best first; ties in order of spelling.

    What holds control characters is debris and not chosen. Only tokenisers other than ours let it through.
    """
    wanted = size
    while True:
        ranked = _ranked(lexicon, scores, wanted, least_total)
        if is_plain("".join(ranked)):
            return ranked[:size]
        plain = [word for word in ranked if is_plain(word)]
        if len(plain) >= size or len(ranked) < wanted:
            return plain[:size]
        wanted += len(ranked) - len(plain)


def _ranked(
    lexicon: Lexicon, scores: npt.NDArray[np.float64] | npt.NDArray[np.int64], size: int, least_total: int
) -> list[str]:
    eligible = np.flatnonzero(lexicon.totals >= max(1, least_total))
    if len(eligible) > size:
        threshold = np.partition(scores[eligible], len(eligible) - size)[len(eligible) - size]
        eligible = eligible[scores[eligible] >= threshold]
    ranked = sorted(zip((-scores[eligible]).tolist(), lexicon.words(eligible), strict=True))
    return [word for _, word in ranked[:size]]


def numbering_of(lexicon: Lexicon, vocabulary: Sequence[str]) -> npt.NDArray[np.int32]:
    """For each number of the lexicon the word's place in the vocabulary, or -1."""
    numbering = np.full(max(1, len(lexicon)), -1, dtype=np.int32)
    numbers = lexicon.find(vocabulary)
    known = numbers >= 0
    numbering[numbers[known]] = np.flatnonzero(known)
    return numbering


def read_vocabulary(path: Path) -> list[str]:
    """A fixed vocabulary: a file with one word per line, or the words of a counts folder."""
    file = path / "words.txt" if path.is_dir() else path
    try:
        if not file.is_file() and file.exists():  # a pipe or a device might never end
            raise InputError(
                f"{file} is not a file.", "Give a file with one word per line, or a counts folder."
            )
        if file.stat().st_size > _LARGEST_FILE:
            raise InputError(
                f"{file} is too large for a list of words.", "Give a file with one word per line."
            )
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"{file} does not exist.", "Give a file with one word per line, or a counts folder."
        ) from None
    except (UnicodeDecodeError, OSError) as error:
        raise InputError(
            f"{file} cannot be read: {error}", "Give a UTF-8 file with one word per line."
        ) from error
    words: list[str] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
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
                f"{file}, line {number}: {word!r} stands on line {seen[word]} already.",
                "Each word may stand there once.",
            )
        seen[word] = number
        words.append(word)
    if not words:
        raise InputError(f"{file} holds no words.", "Give a file with one word per line.")
    return words
