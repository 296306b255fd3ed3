"""The format of word2vec, as text or binary: read by gensim, by the original C program, and by most others.

A first line "words dimensions"; then each word, a space, and its numbers.
"""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from wordtide.exports.plain_text import rows_of_text, without_spaces
from wordtide.storage.folders import new_files
from wordtide.types import Singles


def save_word2vec(
    path: str | PathLike[str],
    words: Sequence[str],
    vectors: Singles,
    binary: bool = False,
    overwrite: bool = False,
) -> int:
    """Write words and their vectors (n, d). Returns how many words were written with _ for white space."""
    spelled, changed = without_spaces(words)
    with new_files([Path(path)], overwrite) as (partial,), open(partial, "wb") as file:
        file.write(f"{len(spelled)} {vectors.shape[1]}\n".encode())
        if binary:
            for word, vector in zip(spelled, np.ascontiguousarray(vectors, dtype="<f4"), strict=True):
                file.write(word.encode() + b" " + vector.tobytes() + b"\n")
        else:
            for word, numbers in zip(
                spelled, rows_of_text(vectors.astype(np.float32, copy=False), " "), strict=True
            ):
                file.write(f"{word} {numbers}\n".encode())
    return changed
