"""What files of plain text can hold: words without white space, and numbers that come back bit for bit."""

import re
from collections.abc import Iterator, Sequence

from wordtide.errors import SettingsError
from wordtide.types import Singles

_WHITE_SPACE = re.compile(r"\s")
_ROWS_AT_ONCE = 100


def without_spaces(words: Sequence[str]) -> tuple[list[str], int]:
    """The words with _ for each white space, as is usual for names of several words.

    And how many words that changed.

    Two words that would then be spelled the same are an error, because readers would lose one of them.
    """
    written: dict[str, str] = {}
    for word in words:
        spelling = _WHITE_SPACE.sub("_", word)
        if not word or not _can_be_encoded(word):
            raise SettingsError(f"{word!r} cannot be written as a word.", "Leave it out.")
        if spelling in written:
            raise SettingsError(
                f"{written[spelling]!r} and {word!r} would both be written as {spelling!r}.",
                "Leave one of them out with --words, or export to npz, parquet or dwe, which keep words as they are.",
            )
        written[spelling] = word
    return list(written), sum(spelling != word for spelling, word in written.items())


def rows_of_text(matrix: Singles, separator: str) -> Iterator[str]:
    """Each row of a matrix (n, d) as text: the fewest digits from which each float32 can be read back."""
    for start in range(0, len(matrix), _ROWS_AT_ONCE):
        for row in matrix[start : start + _ROWS_AT_ONCE].astype(str).tolist():
            yield separator.join(row)


def _can_be_encoded(word: str) -> bool:
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True
