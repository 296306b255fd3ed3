"""Look up a word in a vocabulary as a user types it."""

from collections.abc import Mapping
from difflib import get_close_matches

from wordtide.errors import UnknownWordError


def number_of(word: str, index: Mapping[str, int], remedy: str) -> int:
    """The number of a word, in the given spelling or in lower case.

    Raises:
        UnknownWordError: The word is not in the index. The error suggests similar words, or else the `remedy`.
    """
    for spelling in (word, word.lower()):
        if spelling in index:
            return index[spelling]
    similar = get_close_matches(word.lower(), index, n=5)
    raise UnknownWordError(
        f"{word!r} is not in the vocabulary of {len(index):,} words.",
        f"Near it: {', '.join(similar)}." if similar else remedy,
    )
