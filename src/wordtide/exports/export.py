"""`export`: a model, at one time or at all, in a format that other programs read."""

import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.exports.selection import Selection, select
from wordtide.exports.text_formats import (
    projector_paths,
    save_projector,
    save_word2vec,
    write_csv,
    write_workbook,
)
from wordtide.progress import Observer
from wordtide.questions.vectors import DEFAULT_VECTORS
from wordtide.spelling import counted
from wordtide.storage.folders import check_file_writable, new_files, real_target
from wordtide.timeline import Time

FORMATS = ("gensim", "excel", "csv", "parquet", "word2vec", "word2vec-binary", "npz", "projector", "dwe")
#: Formats that hold all slices if no time is given.
_ALL_SLICES = ("dwe", "parquet", "csv", "excel")
#: Formats that hold one time, a vector per word.
_WORD_VECTORS = ("gensim", "word2vec", "word2vec-binary", "projector")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


def export(
    model: Embeddings,
    output: str | PathLike[str],
    to: str,
    at: Time | None = None,
    vectors: str = DEFAULT_VECTORS,
    words: Sequence[str] | None = None,
    top: int | None = None,
    overwrite: bool = False,
    observer: Observer | None = None,
) -> list[Path]:
    """Write a model to `output` in the format `to`, and return the files written.

    `at` is a time as everywhere; "dwe" writes all slices, "parquet", "csv" and "excel" too if no time is
    given. `vectors` are "word", "context" or their "sum"; "npz" holds both kinds. `words` are those to keep,
    or `top` is the number of the most frequent ones.
    """
    observer = observer or Observer()
    _check_options(model, to, at, vectors, Path(output))
    year = None if at is None else model.year(at)
    selection = select(model, vectors, words, top)
    targets = projector_paths(output) if to == "projector" else [Path(output)]
    for target in targets:
        check_file_writable(real_target(target), overwrite)
    if year is None:
        observer.message(_shown_size(selection, to))
    elif not model.times[0] <= year <= model.times[-1]:
        span = f"the slices, which go from {model.times[0]:.2f} to {model.times[-1]:.2f}"
        observer.message(f"{year:.2f} is outside {span}: these vectors are predictions.")
    if year is not None and to in _WORD_VECTORS:
        _write_word_vectors(targets[0], to, selection, year, overwrite, observer)
    else:
        with new_files(targets, overwrite) as (partial,):
            _write_table(partial, to, selection, year, observer)
    return targets


def _check_options(model: Embeddings, to: str, at: Time | None, vectors: str, output: Path) -> None:
    if to not in FORMATS:
        raise SettingsError(f"There is no export to {to!r}.", f"Use one of {', '.join(FORMATS)}.")
    if to == "dwe" and at is not None:
        raise SettingsError(
            "--to=dwe writes all slices, not one time.", "Leave out --at, or use --to=npz for one time."
        )
    if to not in _ALL_SLICES and at is None:
        raise SettingsError(
            f"--to={to} writes one time, and none is given.",
            f"Add --at, like --at={model.times[-1]:.0f}, or use --to=parquet, csv or dwe for all slices.",
        )
    if to == "npz" and vectors != DEFAULT_VECTORS:
        raise SettingsError("--to=npz writes both word and context vectors.", "Leave out --vectors.")
    if to == "excel" and output.suffix.lower() != ".xlsx":
        raise SettingsError(
            f"{output} does not have the name of a workbook, so spreadsheets would not open it.",
            f"Name it {output.with_suffix('.xlsx').name}.",
        )
    if output.suffix in _COMPRESSED:
        raise SettingsError(
            f"{output} has the name of a compressed file, so readers would try to decompress it.",
            f"Leave out {output.suffix}, and compress the file afterwards.",
        )


def _write_table(path: Path, to: str, selection: Selection, year: float | None, observer: Observer) -> None:
    """Write a table or an archive of arrays: of one time, or of all slices."""
    from wordtide.exports.array_formats import write_state, write_table, write_trajectories  # imports Arrow

    if to == "csv":
        write_csv(path, selection, year, observer)
    elif to == "excel":
        write_workbook(path, selection, year, observer)
    elif to == "parquet":
        write_table(path, selection, year, observer)
    elif year is None:
        write_trajectories(path, selection, observer)
    else:
        write_state(path, selection, year)


def _write_word_vectors(
    target: Path, to: str, selection: Selection, year: float, overwrite: bool, observer: Observer
) -> None:
    """Write the words and their vectors at one time in word2vec or projector format."""
    means = selection.means_at(year)
    unknown = int(np.count_nonzero(~means.any(axis=1)))
    if unknown:
        observer.message(
            f"{unknown:,} of {len(means):,} words are not known at this time: their vectors are zeros."
        )
    if to == "projector":
        deviations = selection.deviations_at(year) if selection.has_deviations else None
        occurrences = selection.occurrences_at(year)
        changed = save_projector(target, selection.words, means, occurrences, deviations, overwrite)
    else:
        binary = to in ("gensim", "word2vec-binary")
        changed = save_word2vec(target, selection.words, means, binary, overwrite)
    if to == "gensim":
        observer.message(f"read it with KeyedVectors.load_word2vec_format({str(target)!r}, binary=True)")
    if changed:
        observer.message(f"White space in {counted(changed, 'word')} is written as _.")


def _shown_size(selection: Selection, to: str) -> str:
    """The size of all slices on disk."""
    shape = (len(selection.model), len(selection.words), selection.model.dim)
    megabytes = math.prod(shape) * 4 * (2 if selection.has_deviations else 1) / 1e6
    amount = f"{megabytes / 1000:.1f} GB" if megabytes >= 1000 else f"{math.ceil(megabytes)} MB"
    numbers = " x ".join(map(counted, shape, ("slice", "word", "dimension")))
    return f"{numbers}: {'at most ' if to == 'parquet' else ''}about {amount}"
