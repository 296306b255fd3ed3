"""Words as users type and read them."""

from collections.abc import Mapping
from difflib import get_close_matches

from wordtide.errors import UnknownWordError


def number_of(word: str, index: Mapping[str, int], remedy: str) -> int:
    """The number of a word, in the given spelling or in lower case.

    Raises:
        UnknownWordError: The word is not in the index. The error suggests similar words, or else the
            `remedy`.
    """
    for spelling in (word, word.lower()):
        if spelling in index:
            return index[spelling]
    similar = get_close_matches(word.lower(), index, n=5)
    raise UnknownWordError(
        f"{word!r} is not in the vocabulary of {len(index):,} words.",
        f"Near it: {', '.join(similar)}." if similar else remedy,
    )


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "slice"), counted(2000, "slice"), counted(2, "entry", "entries")
    ('1 slice', '2,000 slices', '2 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
