"""The model folder: header.json, words.txt, labels.txt, curve.csv and arrays.safetensors (docs/formats.md).

Reading one runs no code and believes nothing: sizes are compared before anything is read, and whatever later code indexes with
is checked. The states themselves stay on disk; `check` reads them too, compares checksums, and looks for numbers that are none.
"""

import json
import math
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import wordtide
from wordtide.diffusion import Diffusion
from wordtide.embeddings.curves import read_curve, write_curve
from wordtide.embeddings.knots import Knots, Occurrences
from wordtide.embeddings.posterior import SPREADS, Fitted, Posterior
from wordtide.embeddings.tensors import REMEDY, map_tensors, pieces, write_tensors
from wordtide.errors import FolderError, SettingsError
from wordtide.storage import new_folder, read_header, verify, write_header

KIND = "model"
VERSION = 1
FILES = ("arrays.safetensors", "curve.csv", "labels.txt", "words.txt")

_LARGEST_TEXT = 1 << 28
_MOST_DIMENSIONS = 1 << 16
#: Years and variances far outside what anyone has; arithmetic with them still gives numbers.
_YEARS, _SMALLEST, _LARGEST = 1e6, 1e-30, 1e30


def write_model(path: str | PathLike[str], fitted: Fitted, overwrite: bool = False) -> None:
    """Write a model folder, whole or not at all."""
    header = {
        "wordtide": wordtide.__version__,
        "method": fitted.method,
        "solver": fitted.solver,
        "posterior": fitted.posterior.kind,
        "dim": fitted.posterior.dim,
        "slices": len(fitted.diffusion),
        "words": len(fitted.words),
        "knots": len(fitted.posterior.knots),
        "diffusion": fitted.diffusion.constant,
        "prior_variance": fitted.diffusion.prior_variance,
        "elbo": _number_or_none(fitted.elbo),
        "settings": dict(fitted.settings),
    }
    try:
        json.dumps(header, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SettingsError(
            f"The settings of the model cannot be written: {error}.", "Use numbers, texts and lists."
        ) from error
    for word in fitted.words:
        if not word or "\n" in word:
            raise SettingsError(f"{word!r} cannot be a word of a model.", "Leave out empty words and line breaks.")
    with new_folder(Path(path), overwrite) as folder:
        write_tensors(folder / "arrays.safetensors", _arrays(fitted))
        (folder / "words.txt").write_bytes(_text(fitted.words))
        (folder / "labels.txt").write_bytes(_text([" ".join(label.split()) for label in fitted.labels]))
        write_curve(folder / "curve.csv", fitted.curve)
        write_header(folder, KIND, VERSION, header)


def read_model(path: str | PathLike[str], check: bool = False) -> Fitted:
    """Open a model folder. `check` compares all checksums and reads all numbers."""
    folder = Path(path)
    header = _header(folder)
    for name in FILES:
        if not (folder / name).is_file():  # a pipe or a device would never end
            raise FolderError(f"{folder / name} is not a file.", REMEDY)
    if check:
        verify(folder, header)
    words, labels = _lines(folder / "words.txt"), _lines(folder / "labels.txt")
    arrays = map_tensors(folder / "arrays.safetensors")
    try:
        fitted = _assemble(header, words, labels, arrays)
        _check(fitted)
        if check:
            _check_states(fitted.posterior)
    except KeyError as error:
        raise FolderError(f"The model in {folder} is damaged: {error} is missing.", REMEDY) from error
    except (TypeError, ValueError, OverflowError) as error:
        problem = error.problem if isinstance(error, SettingsError) else error
        raise FolderError(f"The model in {folder} is damaged: {problem}", REMEDY) from error
    return Fitted(**{**vars(fitted), "curve": read_curve(folder / "curve.csv", _LARGEST_TEXT)})


def _arrays(fitted: Fitted) -> dict[str, npt.NDArray[Any]]:
    times, posterior, occurrences = fitted.diffusion.times, fitted.posterior, fitted.occurrences
    extents = np.column_stack([times, times]) if fitted.extents is None else fitted.extents
    whole = np.issubdtype(occurrences.values.dtype, np.integer)
    return {
        "times": times.astype(np.float64, copy=False),
        "extents": extents.astype(np.float64, copy=False),
        "knot_starts": posterior.knots.starts.astype(np.int64, copy=False),
        "knot_slices": posterior.knots.slices.astype(np.int32, copy=False),
        "occurrence_starts": occurrences.places.starts.astype(np.int64, copy=False),
        "occurrence_slices": occurrences.places.slices.astype(np.int32, copy=False),
        "occurrence_values": occurrences.values.astype(np.int64 if whole else np.float64, copy=False),
        **posterior.arrays(),
    }


def _header(folder: Path) -> dict[str, Any]:
    try:
        header = read_header(folder, KIND, VERSION)
    except OSError as error:
        raise FolderError(f"{folder} cannot be read: {error.strerror or error}.", "Check the path.") from error
    missing = sorted(set(FILES) - set(header["files"]))
    if missing or len(header["files"]) != len(FILES):
        raise FolderError(f"{folder / (missing or ['header.json'])[0]} is not as the header should list it.", REMEDY)
    return header


def _assemble(header: dict[str, Any], words: list[str], labels: list[str], arrays: dict[str, npt.NDArray[Any]]) -> Fitted:
    """The record from its parts, whose shapes its constructors compare."""
    for name in ("method", "solver", "posterior"):
        if not isinstance(header[name], str):
            raise ValueError(f"{name} is not a text")
    if not isinstance(header["settings"], dict) or header["posterior"] not in SPREADS:
        raise ValueError("its settings or its kind are not understood")
    names = [f"{quantity}_{side}" for quantity in ("mean", SPREADS[header["posterior"]]) if quantity for side in "uv"]
    return Fitted(
        words=words,
        labels=labels,
        diffusion=Diffusion(
            np.array(_vector(arrays, "times", "f8")), _real(header, "diffusion"), _real(header, "prior_variance")
        ),
        posterior=Posterior(header["posterior"], _knots(arrays, "knot"), **{name: arrays[name] for name in names}),
        occurrences=Occurrences(_knots(arrays, "occurrence"), _vector(arrays, "occurrence_values", "i8 f8")),
        method=header["method"],
        solver=header["solver"],
        settings=header["settings"],
        extents=np.array(arrays["extents"]),
        elbo=None if header["elbo"] is None else _real(header, "elbo"),
    )


def _knots(arrays: dict[str, npt.NDArray[Any]], name: str) -> Knots:
    return Knots(np.array(_vector(arrays, f"{name}_starts", "i8")), _vector(arrays, f"{name}_slices", "i4"))


def _vector(arrays: dict[str, npt.NDArray[Any]], name: str, dtypes: str) -> npt.NDArray[Any]:
    array = arrays[name]
    if array.ndim != 1 or array.dtype not in [np.dtype(f"<{dtype}") for dtype in dtypes.split()]:
        raise ValueError(f"{name} has a wrong shape or dtype")
    return array


def _real(header: dict[str, Any], name: str) -> float:
    if isinstance(header[name], bool) or not isinstance(header[name], (int, float)):
        raise ValueError(f"{name} is not a number")
    return float(header[name])


def _check(fitted: Fitted) -> None:
    """ValueError for numbers that contradict each other, or with which later code would fail."""
    diffusion, total = fitted.diffusion, len(fitted.diffusion)
    scales = np.concatenate([diffusion.step_variance, [diffusion.constant, diffusion.prior_variance]])
    if np.abs(diffusion.times).max() > _YEARS or scales.min() < _SMALLEST or scales.max() > _LARGEST:
        raise ValueError("its times or its prior are absurd")
    extents = fitted.extents
    if (
        extents is None
        or extents.dtype != np.float64
        or not np.isfinite(extents).all()
        or (extents[:, 0] > extents[:, 1]).any()
    ):
        raise ValueError("the dates of its slices are none")
    if not 1 <= fitted.posterior.dim <= _MOST_DIMENSIONS:
        raise ValueError(f"it has {fitted.posterior.dim} dimensions")
    if len(set(fitted.words)) != len(fitted.words):
        raise ValueError("a word stands in words.txt twice")
    _check_knots(fitted.posterior.knots, total, "knots")
    _check_knots(fitted.occurrences.places, total, "occurrences")


def _check_knots(knots: Knots, slices: int, name: str) -> None:
    starts = knots.starts
    if starts[0] != 0 or starts[-1] != len(knots) or not (starts[1:] >= starts[:-1]).all():
        raise ValueError(f"the {name} of the words do not follow each other")
    offset, previous = 0, -1
    for piece in pieces(knots.slices):
        new_word = np.zeros(len(piece), dtype=bool)
        first, last = np.searchsorted(starts, [offset, offset + len(piece)])
        new_word[starts[first:last] - offset] = True
        ascending = np.diff(piece, prepend=np.int32(previous)) > 0
        if piece.min() < 0 or piece.max() >= slices or not (ascending | new_word).all():
            raise ValueError(f"the {name} of a word are not in order, or outside the slices")
        offset, previous = offset + len(piece), int(piece[-1])


def _check_states(posterior: Posterior) -> None:
    for name, array in posterior.arrays().items():
        for piece in pieces(array):
            if not np.isfinite(piece).all() or (not name.startswith("mean") and piece.min() < 0):
                raise ValueError(f"{name} holds numbers that cannot be")


def _text(lines: Any) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _lines(path: Path) -> list[str]:
    try:
        if path.stat().st_size > _LARGEST_TEXT:
            raise FolderError(f"{path} is too large.", REMEDY)
        return path.read_bytes().decode("utf-8").split("\n")[:-1]
    except (OSError, UnicodeDecodeError) as error:
        raise FolderError(f"{path} cannot be read: {error}", REMEDY) from error


def _number_or_none(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
