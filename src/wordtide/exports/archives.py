"""NumPy archives (.npz), which numpy.load reads without pickle: all of one time, or the whole trajectory."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.exports.selection import Selection
from wordtide.progress import Observer
from wordtide.types import Singles


def write_state(path: Path, model: Embeddings, selection: Selection, time: float) -> None:
    """Write the selected words at one time: words, U, V, U_sd, V_sd, occurrences, predicted, time, label.

    Point estimates have neither U_sd nor V_sd; the label is empty off the grid of slices.
    """
    state, rows = model.at(time), selection.rows
    arrays: dict[str, npt.NDArray[Any]] = {
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


def write_trajectories(
    path: Path, model: Embeddings, selection: Selection, vectors: str, observer: Observer
) -> None:
    """Write all slices: words (n,), times and labels (T,), mean and sd (T, n, d) as float32, and which
    vectors they are of.

    One slice is in memory at a time. The sd is not shortened to float16: NumPy reckons with what it is given,
    and 1/sd**2 leaves the range of float16 where the sd is below 0.004. Point estimates have no sd.
    """
    times = model.times.tolist()
    quantities = {"mean": selection.means_at_slices}
    if selection.has_deviations:
        quantities["sd"] = selection.deviations_at_slices
    with observer.stage("writing", len(quantities) * len(times), "slices"), ZipFile(path, "w") as archive:
        _write(archive, "words", _as_array(selection.words))
        _write(archive, "times", model.times)
        _write(archive, "labels", _as_array(model.labels))
        _write(archive, "vectors", np.array(vectors))
        for name, slices in quantities.items():
            shape = (len(times), len(selection.words), model.dim)
            _write_slices(archive, name, shape, slices(), observer)


def _write(archive: ZipFile, name: str, array: npt.NDArray[Any]) -> None:
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
