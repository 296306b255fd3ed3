"""Files of plain text: the word2vec format (text or binary), and the two files of the Embedding Projector.

Words are written without white space, and numbers so that each float32 can be read back.
"""

import re
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from wordtide.errors import SettingsError
from wordtide.storage.cells import text_cell
from wordtide.storage.folders import new_files
from wordtide.types import Array, Singles

_WHITE_SPACE = re.compile(r"\s")
_ROWS_AT_ONCE = 100


def _without_spaces(words: Sequence[str]) -> tuple[list[str], int]:
    """Replace white space in words by _; returns the words and how many have changed.

    Two words that become the same are an error, because readers would lose one of them.
    """
    written: dict[str, str] = {}
    for word in words:
        spelling = _WHITE_SPACE.sub("_", word)
        if not word or not _can_be_encoded(word):
            raise SettingsError(f"{word!r} cannot be written as a word.", "Leave it out.")
        if spelling in written:
            raise SettingsError(
                f"{written[spelling]!r} and {word!r} would both be written as {spelling!r}.",
                "Leave one of them out with --words, or export to npz, parquet or dwe, "
                "which keep words as they are.",
            )
        written[spelling] = word
    return list(written), sum(spelling != word for spelling, word in written.items())


def _rows_of_text(matrix: Singles, separator: str) -> Iterator[str]:
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


def save_word2vec(
    path: str | PathLike[str],
    words: Sequence[str],
    vectors: Singles,
    binary: bool = False,
    overwrite: bool = False,
) -> int:
    """Write the word2vec format, which gensim, the original C program and most others read.

    A first line "words dimensions"; then each word, a space, and its vector (n, d). Returns how many words
    were written with _ for white space.
    """
    spelled, changed = _without_spaces(words)
    with new_files([Path(path)], overwrite) as (partial,), open(partial, "wb") as file:
        file.write(f"{len(spelled)} {vectors.shape[1]}\n".encode())
        if binary:
            for word, vector in zip(spelled, np.ascontiguousarray(vectors, dtype="<f4"), strict=True):
                file.write(word.encode() + b" " + vector.tobytes() + b"\n")
        else:
            for word, numbers in zip(
                spelled, _rows_of_text(vectors.astype(np.float32, copy=False), " "), strict=True
            ):
                file.write(f"{word} {numbers}\n".encode())
    return changed


def projector_paths(name: str | PathLike[str]) -> list[Path]:
    """The paths of the two files: vectors and metadata."""
    path = Path(name)
    stem = path.name.removesuffix(".tsv").removesuffix(".vectors").removesuffix(".metadata")
    return [path.with_name(f"{stem}.vectors.tsv"), path.with_name(f"{stem}.metadata.tsv")]


def save_projector(
    name: str | PathLike[str],
    words: Sequence[str],
    vectors: Singles,
    occurrences: Array,
    deviations: Singles | None,
    overwrite: bool = False,
) -> int:
    """Write both files of the TensorFlow Embedding Projector, or neither: vectors (n, d), and the word,
    occurrences and sd of each.

    The sd is the root mean square over the coordinates of `deviations` (n, d); without them there is no such
    column. Returns how many words were written with _ for white space.
    """
    spelled, changed = _without_spaces(words)
    columns = {"word": list(map(text_cell, spelled)), "occurrences": occurrences.astype(str).tolist()}
    if deviations is not None:
        over_coordinates = np.sqrt(np.mean(np.square(deviations, dtype=np.float64), axis=1))
        columns["sd"] = over_coordinates.astype(np.float32).astype(str).tolist()
    with new_files(projector_paths(name), overwrite) as (vectors_file, metadata_file):
        with open(vectors_file, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{numbers}\n" for numbers in _rows_of_text(vectors, "\t"))
        with open(metadata_file, "w", encoding="utf-8", newline="\n") as file:
            for row in (columns, *zip(*columns.values(), strict=True)):
                file.write("\t".join(row) + "\n")
    return changed
