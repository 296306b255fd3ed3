"""Files of a model folder beside its arrays: slices of a filter, groups, and the curve; and checks.

The checks cover everything that later code indexes with or divides by. `slice-000000.safetensors` and so on
are written once and never changed: an update links the files of old slices into the new folder.
"""

import math
import mmap
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.embeddings.posterior import QUANTITIES, TIED_QUANTITIES, Fitted, Posterior, SliceStates
from wordtide.errors import FolderError, SettingsError
from wordtide.model.knots import Knots
from wordtide.model.verdicts import SHAPES, Dynamics, GroupMessages, Groups
from wordtide.storage.arrays import (
    REMEDY,
    Storable,
    StreamedArray,
    header_bytes,
    in_file_order,
    map_tensors,
    pieces,
    write_tensors,
)
from wordtide.storage.cells import is_plain, read_lines
from wordtide.types import Array, Singles

#: Models with more slices are written as one file: systems limit the number of maps and open files.
MOST_SLICES = 10_000
GROUPS = "groups.safetensors"
#: The columns of the training curve, and those that hold whole numbers.
_CURVE, _WHOLE = ("step", "slice", "elbo", "rate", "seconds"), ("step", "slice")
_DTYPES = (np.dtype("<f4"), np.dtype("<i4"))  # of states, and of the numbers of words
MOST_DIMENSIONS = 1 << 16
#: Years and variances far beyond any real ones; arithmetic with them still gives finite numbers.
_YEARS, _SMALLEST, _LARGEST = 1e6, 1e-30, 1e30


def check_words(words: Sequence[str]) -> None:
    """Reject words that the lines of a file cannot hold."""
    for word in words:
        if not word or "\n" in word or not is_plain(word):
            raise SettingsError(
                f"{word!r} cannot be a word of a model.", "Leave out empty words and control characters."
            )


def check_record(fitted: Fitted) -> None:
    """Raise ValueError for numbers that contradict each other, or with which later code would fail."""
    diffusion, total = fitted.diffusion, len(fitted.diffusion)
    scales = np.concatenate([diffusion.step_variance, [diffusion.constant, diffusion.prior_variance]])
    if np.abs(diffusion.times).max() > _YEARS or scales.min() < _SMALLEST or scales.max() > _LARGEST:
        raise ValueError("its times or its prior are out of range")
    extents = fitted.extents
    if (
        extents is None
        or extents.dtype != np.float64
        or not np.isfinite(extents).all()
        or (extents[:, 0] > extents[:, 1]).any()
    ):
        raise ValueError("the dates of its slices are invalid")
    if not 1 <= fitted.posterior.dim <= MOST_DIMENSIONS:
        raise ValueError(f"it has {fitted.posterior.dim} dimensions")
    if len(set(fitted.words)) != len(fitted.words):
        raise ValueError("words.txt contains a word twice")
    if fitted.pairs is not None and not (np.isfinite(fitted.pairs).all() and (fitted.pairs > 0).all()):
        raise ValueError("the pairs of its slices are invalid")
    if (
        fitted.predictions is not None
        and not (np.isnan(fitted.predictions) | (np.abs(fitted.predictions) < _LARGEST)).all()
    ):
        raise ValueError("the predictions of its slices are invalid")
    if fitted.arrivals is not None and not ((fitted.arrivals >= 0) & (fitted.arrivals < total)).all():
        raise ValueError("words arrive outside its slices")
    if fitted.dynamics is not None and not are_sound(fitted.dynamics):
        raise ValueError("its verdicts on words are inconsistent")
    check_knots(fitted.posterior.knots, total, "knots")
    check_knots(fitted.occurrences.places, total, "occurrences")
    occurrences = fitted.occurrences.values
    if len(occurrences) and not 0 <= occurrences.min() <= occurrences.max() < _LARGEST:  # false for NaN
        raise ValueError("the occurrences of a word are negative or not finite")


def are_sound(dynamics: Dynamics) -> bool:
    """Whether verdicts have the dates that they need, and numbers that later code can compute with."""
    found, related = dynamics.significant, dynamics.correlation
    dates = np.column_stack([dynamics.date_low, dynamics.date, dynamics.date_high])[found]
    return bool(
        np.isin(dynamics.shape, range(-1, len(SHAPES))).all()
        and (np.diff(dates, axis=1) >= 0).all()
        and (np.abs(dates) <= _YEARS).all()
        and not np.isinf(dynamics.table()).any()
        and ((related > 0) & (related < 1) | np.isnan(related) & ~dynamics.jumps)[found].all()
    )


def check_knots(knots: Knots, slices: int, name: str) -> None:
    """Raise ValueError for knots that are out of order or outside the slices."""
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


def slice_name(t: int) -> str:
    """The name of a slice's file."""
    return f"slice-{t:06}.safetensors"


def write_slice(folder: Path, t: int, states: SliceStates) -> None:
    """Write the states of slice t."""
    write_tensors(folder / slice_name(t), states.arrays())


def read_slice(
    folder: Path, t: int, dim: int, size: int | None = None, tied: bool | None = None
) -> SliceStates:
    """Map the states of slice t.

    A model has many such files, and loading one must be fast. So the beginning of a file is compared with
    what is written for this size; only a file that begins differently, from another program, is parsed.

    Raises:
        FolderError: The file has another number of words than `size`, or other contexts than `tied`.
    """
    path = folder / slice_name(t)
    if size is None or tied is None:
        return _parsed(path, dim, size, tied)
    try:
        content = _mapped(path)
    except (OSError, ValueError) as error:
        raise FolderError(f"{path} cannot be read: {error}.", REMEDY) from error
    shapes = {"words": (size,), **dict.fromkeys(TIED_QUANTITIES if tied else QUANTITIES, (size, dim))}
    expected = {
        name: StreamedArray(_DTYPES[name == "words"], shape, lambda: iter(()))
        for name, shape in shapes.items()
    }
    ordered = in_file_order(expected)
    beginning = header_bytes(ordered)
    if (
        len(content) != len(beginning) + sum(array.nbytes for array in ordered.values())
        or content[: len(beginning)] != beginning
    ):
        return _parsed(path, dim, size, tied)
    arrays, place = {}, len(beginning)
    for name, array in ordered.items():
        arrays[name] = np.frombuffer(content, array.dtype, math.prod(array.shape), place).reshape(array.shape)
        place += array.nbytes
    return _states_of(arrays)


def _states_of(arrays: Mapping[str, Array]) -> SliceStates:
    return SliceStates(*(arrays.get(name) for name in ("words", *QUANTITIES)))  # type: ignore[arg-type]


def _mapped(path: Path) -> mmap.mmap:
    flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # reading a pipe would block forever
    opened = os.open(path, os.O_RDONLY | flags)
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise ValueError("it is not a file")
        return mmap.mmap(opened, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(opened)


def _parsed(path: Path, dim: int, size: int | None, tied: bool | None) -> SliceStates:
    """The states in any file of arrays, however it describes them."""
    arrays = map_tensors(path)
    words = arrays.get("words")
    found = set(arrays) == {"words", *TIED_QUANTITIES}
    quantities = TIED_QUANTITIES if found else QUANTITIES
    if (
        set(arrays) != {"words", *quantities}
        or tied not in (None, found)
        or words is None
        or words.ndim != 1
        or words.dtype != _DTYPES[True]
    ):
        raise FolderError(f"{path} is damaged: it does not hold the states of a slice.", REMEDY)
    for name in quantities:
        if arrays[name].shape != (len(words), dim) or arrays[name].dtype != _DTYPES[False]:
            raise FolderError(f"{path} is damaged: {name} has a wrong shape or dtype.", REMEDY)
    if size is not None and len(words) != size:
        raise FolderError(f"{path} is damaged: it has {len(words)} words, not {size}.", REMEDY)
    return _states_of({name: np.asarray(array) for name, array in arrays.items()})


def read_slices(
    folder: Path, knots: Knots, slices: int, dim: int, signs: Singles | None = None, check: bool = False
) -> Posterior:
    """The filter's posterior from the files of all slices.

    `check` also compares the words of each with the knots.
    """
    sizes = np.bincount(knots.slices, minlength=slices).tolist()
    states = [read_slice(folder, t, dim, size, signs is not None) for t, size in enumerate(sizes)]
    if check:
        for t, rows in enumerate(knots.rows_by_slice(slices)):
            if not np.array_equal(knots.words_of(rows), states[t].words):
                raise FolderError(
                    f"{folder / slice_name(t)} is damaged: its words do not match the knots.", REMEDY
                )
    return Posterior.by_slice(knots, states, dim, signs)


def slices_of(posterior: Posterior, slices: int) -> Iterator[SliceStates]:
    """The states of a filter slice by slice, however they are stored."""
    if posterior.slices is not None:
        for states in posterior.slices:
            posterior.check_slice(states)
            yield states
        return
    quantities = posterior.arrays()
    for rows in posterior.knots.rows_by_slice(slices):
        words = posterior.knots.words_of(rows).astype(np.int32)
        chosen = {name: np.ascontiguousarray(array[rows]) for name, array in quantities.items()}
        yield _states_of({"words": words, **chosen})


def write_groups(folder: Path, groups: Groups | None) -> None:
    """Write the groups of a model into its folder, if there are any; their names are in the header."""
    if groups is not None:
        dim = groups.mean.shape[2]
        arrays: dict[str, Storable] = {
            "words": groups.words.astype(np.int64),
            "mean": groups.mean.reshape(-1, dim).astype(np.float32),
            "variance": groups.variance.reshape(-1, dim).astype(np.float32),
            "log_bayes_factor": groups.log_bayes_factor.astype(np.float64),
            "occurrences": groups.occurrences.astype(np.int64),
            "first": groups.first.astype(np.float64),
        }
        if groups.messages is not None:  # of a filter, which updates continue
            arrays |= {f"message_{name}": _flat(array, dim) for name, array in vars(groups.messages).items()}
        write_tensors(folder / GROUPS, arrays)


def _flat(array: Array, dim: int) -> Storable:
    return array.reshape(-1, dim) if array.ndim > 1 else array


def read_groups(folder: Path, header: Mapping[str, Any], words: int, dim: int) -> Groups:
    """Read the groups of a model and check them.

    Raises:
        ValueError: The file does not match the model, or holds numbers with which later code would fail.
    """
    names = header.get("groups")
    if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
        raise ValueError("the names of its groups are invalid")
    arrays = map_tensors(folder / GROUPS)
    names_of_arrays = "words", "log_bayes_factor", "occurrences", "first"
    chosen, factor, used, first = (arrays[name] for name in names_of_arrays)
    shape = len(names), len(chosen), dim
    mean, variance = (arrays[name].reshape(shape) for name in ("mean", "variance"))
    sound = (
        factor.shape == (words,)
        and used.shape == (len(names), words)
        and (np.diff(chosen) > 0).all()
        and (len(chosen) == 0 or 0 <= chosen[0] <= chosen[-1] < words)
        and np.isfinite(mean).all()
        and (variance >= 0).all()
        and np.isfinite(variance).all()
        and not np.isinf(factor).any()
        and (used >= 0).all()
        and first.shape == used.shape
        and not np.isnan(first).any()
    )
    if not sound:
        raise ValueError("its groups do not match its words")
    found = np.array(chosen), mean, variance, np.array(factor), np.array(used), np.array(first)
    return Groups(tuple(names), *found, _read_messages(arrays, (len(names), words, dim)))


def _read_messages(arrays: Mapping[str, Any], shape: tuple[int, int, int]) -> GroupMessages | None:
    """The messages of groups, (G, L, d), in their file; None if it has none."""
    if "message_b" not in arrays:
        return None
    b, h = (arrays[f"message_{name}"].reshape(shape) for name in "bh")
    vectors, uses = arrays["message_vectors"], arrays["message_uses"]
    if vectors.shape != shape[1:] or uses.shape != shape[1:2]:
        raise ValueError("the messages of its groups do not match its words")
    if not all(np.isfinite(array).all() for array in (b, h, vectors, uses)) or (h < 0).any():
        raise ValueError("the messages of its groups hold impossible numbers")
    return GroupMessages(b, h, vectors, uses)


def write_curve(path: Path, curve: Sequence[Mapping[str, Any]]) -> None:
    """Write the rows of a curve; missing values and None are empty fields."""
    lines = [",".join(_CURVE)]
    for row in curve:
        unknown = set(row) - set(_CURVE)
        if unknown:
            columns = f"Its columns are {', '.join(_CURVE)}."
            raise SettingsError(f"A training curve has no column {min(unknown)!r}.", columns)
        lines.append(",".join(_shown(name, row.get(name)) for name in _CURVE))
    path.write_text("\n".join(lines) + "\n", encoding="ascii", newline="\n")


def read_curve(path: Path, largest: int) -> list[dict[str, Any]]:
    """The rows of a curve, from a file of at most `largest` bytes; empty fields are None."""
    try:
        title, *lines = read_lines(path, largest, REMEDY)
        if title != ",".join(_CURVE):
            raise ValueError("it has other columns")
        return [
            {name: _read_number(name, field) for name, field in zip(_CURVE, line.split(","), strict=True)}
            for line in lines
        ]
    except ValueError as error:
        raise FolderError(f"{path} is damaged: {error}.", REMEDY) from error


def _shown(name: str, value: Any) -> str:
    if value is None:
        return ""
    return str(int(value)) if name in _WHOLE else repr(float(value))


def _read_number(name: str, field: str) -> int | float | None:
    if not field:
        return None
    return int(field) if name in _WHOLE else float(field)
