"""Part-of-speech tags and placeholders in Google Books n-grams, a closed set: a word may hold a plain
underscore.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from wordtide.compiled import kernel
from wordtide.corpus.tokens.lexicon import LexiconState, find_or_add, hash_bytes, prefix_of

TAGS: Final = ("NOUN", "VERB", "ADJ", "ADV", "PRON", "DET", "ADP", "NUM", "CONJ", "PRT", "X", ".")
PLACEHOLDERS: Final = ("START", "END", "ROOT")


@kernel
def _is_in(words: LexiconState, word: npt.NDArray[np.uint8]) -> bool:
    prefix, code = prefix_of(word, word.size), hash_bytes(word, word.size)
    return (
        find_or_add(words.slots, words.entries, words.arena, words.size, word, word.size, prefix, code, False)
        >= 0
    )


@kernel
def is_tagged(
    data: npt.NDArray[np.uint8], start: int, stop: int, tags: LexiconState, placeholders: LexiconState
) -> bool:
    """Whether a token is word_TAG, or _TAG_, _START_, _END_, _ROOT_."""
    underscore = -1
    for position in range(start, stop):
        if data[position] == 0x5F:
            underscore = position
    if underscore < 0:
        return False
    if underscore == stop - 1:
        if stop - start < 3 or data[start] != 0x5F:
            return False
        return _is_in(placeholders, data[start + 1 : stop - 1])
    return underscore > start and _is_in(tags, data[underscore + 1 : stop])
