"""The TensorFlow Embedding Projector: a file of vectors and a file of metadata, both tab-separated."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.exports.plain_text import rows_of_text, without_spaces
from wordtide.storage.cells import text_cell
from wordtide.storage.folders import new_files
from wordtide.types import Singles


def projector_paths(name: str | PathLike[str]) -> list[Path]:
    """The paths of the two files: vectors and metadata."""
    path = Path(name)
    stem = path.name.removesuffix(".tsv").removesuffix(".vectors").removesuffix(".metadata")
    return [path.with_name(f"{stem}.vectors.tsv"), path.with_name(f"{stem}.metadata.tsv")]


def save_projector(
    name: str | PathLike[str],
    words: Sequence[str],
    vectors: Singles,
    occurrences: npt.NDArray[Any],
    deviations: Singles | None,
    overwrite: bool = False,
) -> int:
    """Write both files or neither: vectors (n, d), and word, occurrences and sd of each.

    The sd is the root mean square over the coordinates of `deviations` (n, d); without them there is no such
    column. Returns how many words were written with _ for white space.
    """
    spelled, changed = without_spaces(words)
    columns = {"word": list(map(text_cell, spelled)), "occurrences": occurrences.astype(str).tolist()}
    if deviations is not None:
        over_coordinates = np.sqrt(np.mean(np.square(deviations, dtype=np.float64), axis=1))
        columns["sd"] = over_coordinates.astype(np.float32).astype(str).tolist()
    with new_files(projector_paths(name), overwrite) as (vectors_file, metadata_file):
        with open(vectors_file, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{numbers}\n" for numbers in rows_of_text(vectors, "\t"))
        with open(metadata_file, "w", encoding="utf-8", newline="\n") as file:
            for row in (columns, *zip(*columns.values(), strict=True)):
                file.write("\t".join(row) + "\n")
    return changed
