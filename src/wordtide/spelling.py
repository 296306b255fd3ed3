"""A word as a user types it, and the number it has in a vocabulary."""

from collections.abc import Mapping
from difflib import get_close_matches

from wordtide.errors import UnknownWordError


def number_of(word: str, index: Mapping[str, int], remedy: str) -> int:
    """The number of a word, or of it in lower case; else an error that names the nearest spellings, or the remedy."""
    for spelling in (word, word.lower()):
        if spelling in index:
            return index[spelling]
    near = get_close_matches(word.lower(), index, n=5)
    raise UnknownWordError(
        f"{word!r} is not in the vocabulary of {len(index):,} words.",
        f"Near it: {', '.join(near)}." if near else remedy,
    )
