"""Files of arrays: NumPy archives (.npz), which numpy.load reads without pickle, and Parquet tables.

A Parquet table has a row for each number: word, time, k (the coordinate), mean, sd; in order of time, word,
k. Both are written a piece at a time, so memory stays small.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from wordtide.errors import SettingsError
from wordtide.exports.selection import Selection
from wordtide.progress import Observer
from wordtide.types import Array, Singles

ROWS_IN_A_GROUP = 1 << 20
_SCHEMA = pa.schema(
    [
        ("word", pa.dictionary(pa.int32(), pa.string())),
        ("time", pa.float64()),
        ("k", pa.int32()),
        ("mean", pa.float32()),
        ("sd", pa.float32()),
    ]
)


def write_state(path: Path, selection: Selection, time: float) -> None:
    """Write the selected words at one time: words, U, V, U_sd, V_sd, occurrences, predicted, time, label.

    Point estimates have neither U_sd nor V_sd; the label is empty off the grid of slices.
    """
    model, rows = selection.model, selection.rows
    state = model.at(time)
    arrays: dict[str, Array] = {
        "words": _as_array(selection.words),
        "time": np.array(state.time),
        "label": _as_array(["" if state.slice is None else model.labels[state.slice]])[0],
        "occurrences": state.occurrences[rows],
        "predicted": state.predicted[rows],
        "U": state.U[rows],
        "V": state.V[rows],
    }
    if selection.has_deviations:
        arrays |= {"U_sd": np.sqrt(state.U_variance[rows]), "V_sd": np.sqrt(state.V_variance[rows])}
    with ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            _write(archive, name, np.asarray(array))


def write_trajectories(path: Path, selection: Selection, observer: Observer) -> None:
    """Write all slices of the selected words as a NumPy archive.

    It holds words (n,), times and labels (T,), mean and sd (T, n, d) as float32, and which vectors they are
    of.

    One slice is in memory at a time. The sd is not float16, because NumPy would compute in that type, and
    1/sd**2 exceeds its range where the sd is below 0.004. Point estimates have no sd.
    """
    model = selection.model
    times = model.times.tolist()
    quantities = {"mean": selection.means_at_slices}
    if selection.has_deviations:
        quantities["sd"] = selection.deviations_at_slices
    with observer.stage("writing", len(quantities) * len(times), "slices"), ZipFile(path, "w") as archive:
        _write(archive, "words", _as_array(selection.words))
        _write(archive, "times", model.times)
        _write(archive, "labels", _as_array(model.labels))
        _write(archive, "vectors", np.array(selection.kind))
        for name, slices in quantities.items():
            shape = (len(times), len(selection.words), model.dim)
            _write_slices(archive, name, shape, slices(), observer)


def _write(archive: ZipFile, name: str, array: Array) -> None:
    with archive.open(ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
        np.lib.format.write_array(member, array, allow_pickle=False)


def _write_slices(
    archive: ZipFile, name: str, shape: tuple[int, ...], slices: Iterable[Singles], observer: Observer
) -> None:
    """Write an array of the given shape, slice by slice."""
    with archive.open(ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
        description = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(member, description)
        for one in slices:
            member.write(np.ascontiguousarray(one, dtype="<f4").data)
            observer.step()


def _as_array(texts: Sequence[str]) -> npt.NDArray[np.str_]:
    """Texts as an array of NumPy's own strings, which cannot end with a zero character."""
    array = np.array(texts, dtype=np.str_)
    for text, kept in zip(texts, array.tolist(), strict=True):
        if text != kept:
            raise SettingsError(
                f"{text!r} cannot be written into a NumPy archive.", "Leave it out, or export to parquet."
            )
    return array


def write_table(path: Path, selection: Selection, time: float | None, observer: Observer) -> None:
    """Write a Parquet table of the selected words at one time, or (None) at all slices.

    Point estimates have no sd: the column is null.
    """
    if time is None:
        times = selection.vectors.times.tolist()
        means, deviations = selection.means_at_slices(), selection.deviations_at_slices()
    else:
        times = [time]
        means, deviations = iter([selection.means_at(time)]), iter([selection.deviations_at(time)])
    dim = selection.vectors.dim
    words_at_once = max(1, ROWS_IN_A_GROUP // dim)
    groups = [
        _Group.of(selection.words[start : start + words_at_once], dim)
        for start in range(0, len(selection.words), words_at_once)
    ]
    # means and deviations hardly ever repeat, so a dictionary of them would be wasted
    repeating = ["word", "time", "k"]
    options = {"compression": "zstd", "use_dictionary": repeating, "write_statistics": repeating}
    with (
        observer.stage("writing", len(times), "slices"),
        open(path, "wb") as file,
        pq.ParquetWriter(file, _SCHEMA, **options) as writer,
    ):
        for one in times:
            mean = next(means).ravel()
            sd = next(deviations).ravel() if selection.has_deviations else None
            start = 0
            for group in groups:
                part = slice(start, start + group.size)
                columns = [
                    group.words,
                    pa.array(np.full(group.size, one)),
                    group.coordinates,
                    pa.array(mean[part]),
                    pa.nulls(group.size, pa.float32()) if sd is None else pa.array(sd[part]),
                ]
                writer.write_table(pa.Table.from_arrays(columns, schema=_SCHEMA), row_group_size=group.size)
                start += group.size
            observer.step()


@dataclass(frozen=True)
class _Group:
    """The columns of a group of rows that are the same at all times."""

    words: Any
    coordinates: Any
    size: int

    @staticmethod
    def of(words: Sequence[str], dim: int) -> "_Group":
        numbers = pa.array(np.repeat(np.arange(len(words), dtype=np.int32), dim))
        coordinates = pa.array(np.tile(np.arange(dim, dtype=np.int32), len(words)))
        texts = pa.DictionaryArray.from_arrays(numbers, pa.array(words, pa.string()))
        return _Group(texts, coordinates, len(words) * dim)
