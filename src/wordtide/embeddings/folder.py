"""The model folder: a header, texts, arrays, and for a filter a file per slice (docs/formats.md).

Reading a folder runs no code and trusts nothing: sizes are compared before anything is read, and everything
that later code indexes with or divides by is checked, very large states when they are read. `check` reads all
of them, and compares checksums.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.embeddings.dynamics import DYNAMICS, read_dynamics, write_dynamics
from wordtide.embeddings.posterior import SPREADS, Completion, Fitted, Posterior
from wordtide.embeddings.state_files import (
    GROUPS,
    MOST_DIMENSIONS,
    MOST_SLICES,
    check_knots,
    check_record,
    check_words,
    read_curve,
    read_groups,
    read_slices,
    slice_name,
    slices_of,
    write_curve,
    write_groups,
    write_slice,
)
from wordtide.embeddings.state_rows import are_possible
from wordtide.errors import FolderError, SettingsError
from wordtide.model.gaussians import Calibration
from wordtide.model.knots import Knots, Occurrences
from wordtide.model.prior import PRIORS, Diffusion, ProductPrior
from wordtide.storage.arrays import REMEDY, Storable, StreamedArray, map_tensors, write_tensors
from wordtide.storage.cells import read_lines, spelled_out
from wordtide.storage.folders import new_folder
from wordtide.storage.header import read_as_one, read_header, verify, write_header
from wordtide.types import Array, Floats
from wordtide.version import __version__

FileFacts = Mapping[str, Mapping[str, int]]
KIND = "model"
VERSION = 1
#: A filter's states are in files of their own, one for each slice.
SLICED_VERSION = 2
_TIED = 2  # added to the version if contexts are tied: there are signs, and no states of context vectors
_OPTIONAL = {DYNAMICS, GROUPS}
FILES = ("arrays.safetensors", "curve.csv", "labels.txt", "words.txt")
_VERSIONS = (VERSION, SLICED_VERSION, VERSION + _TIED, SLICED_VERSION + _TIED)

#: Optional records: how texts were counted, the state of a filter, what the caller of an update stores.
_RECORDS = ("counts", "filter", "stream")
_LARGEST_TEXT = 1 << 28
_ROWS_AT_ONCE = 1 << 15
_BYTES_CHECKED = 1 << 29  # of states when a model is loaded, in less than a tenth of a second


def write_model(path: str | PathLike[str], fitted: Fitted, overwrite: bool = False) -> None:
    """Write a model folder, whole or not at all."""
    _check_texts(fitted)
    with new_folder(Path(path), overwrite, KIND) as folder:
        fill_with_slices(folder, fitted)


def is_sliced(fitted: Fitted) -> bool:
    """Whether the model's folder has a file for each slice."""
    return fitted.posterior.kind == "filter" and len(fitted.diffusion) <= MOST_SLICES


def fill_with_slices(folder: Path, fitted: Fitted, complete: Completion | None = None) -> None:
    """Write all files of a model folder; `complete` adds what follows from the states."""
    if is_sliced(fitted):
        for t, states in enumerate(slices_of(fitted.posterior, len(fitted.diffusion))):
            write_slice(folder, t, states)
    fill_folder(folder, fitted, complete=complete)


def fill_folder(
    folder: Path, fitted: Fitted, known: FileFacts | None = None, complete: Completion | None = None
) -> None:
    """Write all files but those of slices, which exist; `known` has sizes and checksums of some files."""
    _check_texts(fitted)
    write_tensors(folder / "arrays.safetensors", _arrays(fitted))
    if complete is not None:
        arrays = map_tensors(folder / "arrays.safetensors")
        on_disk = [
            name for name, array in fitted.posterior.arrays().items() if isinstance(array, StreamedArray)
        ]
        states: dict[str, Any] = {name: arrays[name] for name in on_disk}
        completed = complete(replace(fitted, posterior=replace(fitted.posterior, **states)))
        fitted = replace(completed, posterior=fitted.posterior)
    write_dynamics(folder, fitted.dynamics)
    write_groups(folder, fitted.groups)
    (folder / "words.txt").write_bytes(_text(fitted.words))
    labels = [spelled_out(" ".join(label.split())) for label in fitted.labels]
    (folder / "labels.txt").write_bytes(_text(labels))
    write_curve(folder / "curve.csv", fitted.curve)
    version = SLICED_VERSION if is_sliced(fitted) else VERSION
    version += 0 if fitted.posterior.signs is None else _TIED
    write_header(folder, KIND, version, _facts(fitted), known)


def _facts(fitted: Fitted) -> dict[str, Any]:
    """The content of the header."""
    facts: dict[str, Any] = {
        "wordtide": __version__,
        "method": fitted.method,
        "solver": fitted.solver,
        "posterior": fitted.posterior.kind,
        "contexts": fitted.posterior.contexts,
        "dim": fitted.posterior.dim,
        "slices": len(fitted.diffusion),
        "words": len(fitted.words),
        "knots": len(fitted.posterior.knots),
        "diffusion": fitted.diffusion.constant,
        "prior": fitted.diffusion.name,
        "prior_variance": fitted.diffusion.prior_variance,
        "elbo": _number_or_none(fitted.elbo),
        "static_prediction": _number_or_none(fitted.static_prediction),
        "settings": dict(fitted.settings),
    }
    if fitted.calibration is not None:
        facts["calibration"] = vars(fitted.calibration)
    if fitted.groups is not None:
        facts["groups"] = list(fitted.groups.names)
    for name in _RECORDS:
        record = getattr(fitted, "counting" if name == "counts" else name)
        if record is not None:
            facts[name] = dict(record)
    return facts


def _check_texts(fitted: Fitted) -> None:
    """Reject what the files cannot hold, before anything is written."""
    try:
        json.dumps(_facts(fitted), allow_nan=False)
    except (TypeError, ValueError) as error:
        problem = f"The settings of the model cannot be written: {error}."
        raise SettingsError(problem, "Use numbers, texts and lists.") from error
    check_words(fitted.words)


@read_as_one
def read_model(path: str | PathLike[str], check: bool = False) -> Fitted:
    """Open a model folder. `check` compares all checksums and reads all numbers."""
    folder = Path(path)
    header = model_header(folder)
    for name in (*FILES, *(_OPTIONAL & header["files"].keys())):
        if not (folder / name).is_file():  # reading a pipe would block forever
            raise FolderError(f"{folder / name} is not a file.", REMEDY)
    if check:
        verify(folder, header)
    words, labels = (read_lines(folder / name, _LARGEST_TEXT, REMEDY) for name in ("words.txt", "labels.txt"))
    arrays = map_tensors(folder / "arrays.safetensors")
    try:
        posterior = _checked(_posterior(folder, header, arrays, check), folder, whole=check)
        fitted = _assemble(header, words, labels, arrays, posterior)
        if DYNAMICS in header["files"]:
            fitted = replace(fitted, dynamics=read_dynamics(folder))
        if GROUPS in header["files"]:
            fitted = replace(fitted, groups=read_groups(folder, header, len(words), fitted.posterior.dim))
        check_record(fitted)
    except KeyError as error:
        raise FolderError(f"The model in {folder} is damaged: {error} is missing.", REMEDY) from error
    except (TypeError, ValueError, OverflowError) as error:
        problem = error.problem if isinstance(error, SettingsError) else error
        raise FolderError(f"The model in {folder} is damaged: {problem}", REMEDY) from error
    return Fitted(**{**vars(fitted), "curve": read_curve(folder / "curve.csv", _LARGEST_TEXT)})


def _checked(posterior: Posterior, folder: Path, whole: bool) -> Posterior:
    """The states of a model after a check for numbers that are not finite, negative variances and precisions.

    States that would take noticeable time are checked when they are read, unless `whole` is requested.

    Raises:
        ValueError: A state is impossible.
    """
    arrays = posterior.arrays()
    if not whole and 4 * len(posterior.knots) * posterior.dim * len(arrays) > _BYTES_CHECKED:
        return posterior.checked_when_read(folder)
    for name in arrays:
        if not all(are_possible(name, piece) for piece in posterior.pieces(name)):
            raise ValueError(f"{name} holds impossible numbers")
    return posterior


def _states(posterior: Posterior) -> dict[str, Storable]:
    """The states word by word; some rows at a time if they are stored by slice."""
    if posterior.slices is None:
        return dict(posterior.arrays())

    def streamed(array: Array) -> StreamedArray:
        starts = range(0, len(array), _ROWS_AT_ONCE)
        return StreamedArray(
            array.dtype, array.shape, lambda: (array[start : start + _ROWS_AT_ONCE] for start in starts)
        )

    return {name: streamed(array) for name, array in posterior.arrays().items()}


def _arrays(fitted: Fitted) -> dict[str, Storable]:
    times, posterior, occurrences = fitted.diffusion.times, fitted.posterior, fitted.occurrences
    whole = np.issubdtype(occurrences.values.dtype, np.integer)
    optional = {
        "pairs": fitted.pairs,
        "arrivals": fitted.arrivals,
        "predictions": fitted.predictions,
        "signs": None if posterior.signs is None else posterior.signs.astype(np.float32, copy=False),
    }
    return {
        "times": times.astype(np.float64, copy=False),
        "extents": fitted.slice_ends.astype(np.float64, copy=False),
        "knot_starts": posterior.knots.starts.astype(np.int64, copy=False),
        "knot_slices": posterior.knots.slices.astype(np.int32, copy=False),
        "occurrence_starts": occurrences.places.starts.astype(np.int64, copy=False),
        "occurrence_slices": occurrences.places.slices.astype(np.int32, copy=False),
        "occurrence_values": occurrences.values.astype(np.int64 if whole else np.float64, copy=False),
        **{name: array for name, array in optional.items() if array is not None},
        **({} if is_sliced(fitted) else _states(posterior)),
    }


def model_header(folder: Path) -> dict[str, Any]:
    """The header of a model folder, after a check of the files it lists."""
    try:
        header = read_header(folder, KIND, *_VERSIONS)
    except OSError as error:
        problem = f"{folder} cannot be read: {error.strerror or error}."
        raise FolderError(problem, "Check the path.") from error
    expected = set(FILES)
    if in_slices(header):
        slices = header.get("slices")
        if type(slices) is not int or not 1 <= slices <= MOST_SLICES or header.get("posterior") != "filter":
            raise FolderError(f"{folder / 'header.json'} is damaged: its slices are not described.", REMEDY)
        expected |= {slice_name(t) for t in range(slices)}
    if wrong := sorted(expected ^ (set(header["files"]) - _OPTIONAL)):
        raise FolderError(f"{folder / wrong[0]} is listed wrongly in the header.", REMEDY)
    return header


def in_slices(header: Mapping[str, Any]) -> bool:
    """Whether the states are in files of slices."""
    return header["version"] in (SLICED_VERSION, SLICED_VERSION + _TIED)


def _posterior(folder: Path, header: dict[str, Any], arrays: dict[str, Array], check: bool) -> Posterior:
    """The states, as arrays or from the files of the slices."""
    kind, knots = header["posterior"], _knots(arrays, "knot")
    if kind not in SPREADS:
        raise ValueError("its kind is unknown")
    tied = header["version"] > _TIED
    if header.get("contexts", "separate") != ("tied" if tied else "separate"):
        raise ValueError("its contexts are unknown")
    signs = np.array(_vector(arrays, "signs", "f4")) if tied else None
    if in_slices(header):
        if type(header["dim"]) is not int or not 1 <= header["dim"] <= MOST_DIMENSIONS:
            raise ValueError(f"it has {header['dim']!r} dimensions")
        check_knots(knots, header["slices"], "knots")  # before they are counted by slice
        return read_slices(folder, knots, header["slices"], header["dim"], signs, check)
    quantities = [quantity for quantity in ("mean", SPREADS[kind]) if quantity]
    names = [f"{quantity}_{side}" for quantity in quantities for side in ("u" if tied else "uv")]
    states: dict[str, Any] = {name: arrays[name] for name in names}
    return Posterior(kind, knots, signs=signs, **states)


def _assemble(
    header: dict[str, Any],
    words: list[str],
    labels: list[str],
    arrays: dict[str, Array],
    posterior: Posterior,
) -> Fitted:
    """The record from its parts, whose shapes its constructors compare."""
    if not (isinstance(header["method"], str) and isinstance(header["solver"], str)):
        raise ValueError("method or solver is not a text")
    for name in ("settings", *_RECORDS):
        if not isinstance(header.get(name, {}), dict):
            raise ValueError(f"{name} is not a table")
    return Fitted(
        words=words,
        labels=labels,
        diffusion=_prior(header, np.array(_vector(arrays, "times", "f8"))),
        posterior=posterior,
        occurrences=Occurrences(_knots(arrays, "occurrence"), _vector(arrays, "occurrence_values", "i8 f8")),
        method=header["method"],
        solver=header["solver"],
        settings=header["settings"],
        extents=np.array(arrays["extents"]),
        elbo=_real_or_none(header, "elbo"),
        counting=header.get("counts"),
        pairs=np.array(_vector(arrays, "pairs", "f8")) if "pairs" in arrays else None,
        filter=header.get("filter"),
        arrivals=np.array(_vector(arrays, "arrivals", "i4")) if "arrivals" in arrays else None,
        stream=header.get("stream"),
        predictions=np.array(_vector(arrays, "predictions", "f8")) if "predictions" in arrays else None,
        static_prediction=_real_or_none(header, "static_prediction"),
        calibration=Calibration.of_header(header.get("calibration")),
    )


def _prior(header: dict[str, Any], times: Floats) -> Diffusion:
    """The prior; models older than the stationary one do not name theirs."""
    name = header.get("prior", ProductPrior.name)
    if not isinstance(name, str) or name not in PRIORS:
        raise ValueError(f"its prior {name!r} is not known")
    return PRIORS[name](times, _real(header, "diffusion"), _real(header, "prior_variance"))


def _knots(arrays: dict[str, Array], name: str) -> Knots:
    starts, slices = _vector(arrays, f"{name}_starts", "i8"), _vector(arrays, f"{name}_slices", "i4")
    return Knots(np.array(starts), np.asarray(slices))  # a view: taking rows of a memory map is slow


def _vector(arrays: dict[str, Array], name: str, dtypes: str) -> Array:
    array = arrays[name]
    if array.ndim != 1 or array.dtype not in [np.dtype(f"<{dtype}") for dtype in dtypes.split()]:
        raise ValueError(f"{name} has a wrong shape or dtype")
    return array


def _real(header: dict[str, Any], name: str) -> float:
    if isinstance(header[name], bool) or not isinstance(header[name], (int, float)):
        raise ValueError(f"{name} is not a number")
    return float(header[name])


def _real_or_none(header: dict[str, Any], name: str) -> float | None:
    return None if header.get(name) is None else _real(header, name)


def _text(lines: Any) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _number_or_none(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
