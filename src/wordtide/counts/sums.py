"""Sums per slice, from many parts of a corpus, added up in bounded memory.

Sums are sorted arrays of keys (pairs, or words) and values. What does not fit into memory goes to a file; a
slice is merged range by range, so that even a single slice may be larger than memory.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.compiled import kernel
from wordtide.types import Array, Integers

_BLOCK = 1 << 22  # entries merged at a time


class KeySums(NamedTuple):
    """Sorted distinct keys and their sums, which may be 32-bit until they are added to others."""

    keys: Array
    sums: Array


@kernel
def _merge_two(
    keys_a: Array,
    sums_a: Integers,
    keys_b: Array,
    sums_b: Integers,
    keys: Array,
    sums: Integers,
) -> int:
    a = b = found = 0
    while a < keys_a.size and b < keys_b.size:
        if keys_a[a] < keys_b[b]:
            keys[found], sums[found] = keys_a[a], sums_a[a]
            a += 1
        elif keys_b[b] < keys_a[a]:
            keys[found], sums[found] = keys_b[b], sums_b[b]
            b += 1
        else:
            keys[found], sums[found] = keys_a[a], sums_a[a] + sums_b[b]
            a += 1
            b += 1
        found += 1
    while a < keys_a.size:
        keys[found], sums[found] = keys_a[a], sums_a[a]
        a += 1
        found += 1
    while b < keys_b.size:
        keys[found], sums[found] = keys_b[b], sums_b[b]
        b += 1
        found += 1
    return found


def add_sums(parts: Sequence[KeySums]) -> KeySums:
    """Add up sums, smallest first, so that long arrays are copied rarely."""
    waiting = sorted(parts, key=lambda part: -len(part.keys))
    while len(waiting) > 1:
        one, other = (
            KeySums(keys, sums.astype(np.int64, copy=False)) for keys, sums in (waiting.pop(), waiting.pop())
        )
        keys = np.empty(len(one.keys) + len(other.keys), dtype=one.keys.dtype)
        sums = np.empty(len(keys), dtype=np.int64)
        found = _merge_two(one.keys, one.sums, other.keys, other.sums, keys, sums)
        waiting.append(KeySums(keys[:found], sums[:found]))
        waiting.sort(key=lambda part: -len(part.keys))
    return waiting[0]


class SliceSums:
    """Collects sums per slice; beyond `budget` bytes they go to a file in `folder`."""

    def __init__(self, slices: int, folder: Path, budget: int, key_dtype: npt.DTypeLike = np.uint64) -> None:
        self._held: list[list[KeySums]] = [[] for _ in range(slices)]
        self._spilled: list[list[tuple[int, int]]] = [[] for _ in range(slices)]
        self._bytes = 0
        self._budget = budget
        self._folder = folder
        self._key_dtype = np.dtype(key_dtype)
        self._file: Any = None

    def add(self, slice_index: int, partial: KeySums) -> None:
        """Add sums to a slice. The arrays are kept, not copied."""
        if len(partial.keys) == 0:
            return
        self._held[slice_index].append(partial)
        self._bytes += partial.keys.nbytes + partial.sums.nbytes
        if self._bytes > self._budget:
            self._compact()
            if self._bytes > self._budget // 2:
                self._spill()

    def take(self, slice_index: int) -> Iterator[KeySums]:
        """Remove the sums of a slice; yields them in blocks of ascending keys."""
        for parts in self.take_unmerged(slice_index):
            yield add_sums(parts)

    def take_unmerged(self, slice_index: int) -> Iterator[list[KeySums]]:
        """Remove the sums of a slice; yields what `add_sums` is to add, in ascending ranges of keys."""
        pieces = self._held[slice_index] + [self._loaded(*place) for place in self._spilled[slice_index]]
        self._bytes -= sum(piece.keys.nbytes + piece.sums.nbytes for piece in self._held[slice_index])
        self._held[slice_index] = []
        self._spilled[slice_index] = []
        for group in _overlapping(pieces):
            bounds = _bounds(group)
            cuts = [[0, *np.searchsorted(piece.keys, bounds), len(piece.keys)] for piece in group]
            for block in range(len(bounds) + 1):
                spans = [(piece, cut[block], cut[block + 1]) for piece, cut in zip(group, cuts, strict=True)]
                parts = [
                    KeySums(piece.keys[start:stop], piece.sums[start:stop])
                    for piece, start, stop in spans
                    if stop > start
                ]
                if parts:
                    yield parts

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _compact(self) -> None:
        for slice_index, partials in enumerate(self._held):
            if len(partials) > 1:
                self._held[slice_index] = [add_sums(partials)]
        self._bytes = sum(p.keys.nbytes + p.sums.nbytes for partials in self._held for p in partials)

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (closed by close)
        for slice_index, partials in enumerate(self._held):
            for partial in partials:
                self._file.seek(0, 2)
                self._spilled[slice_index].append((self._file.tell(), len(partial.keys)))
                self._file.write(np.ascontiguousarray(partial.keys, dtype=self._key_dtype).data)
                self._file.write(np.ascontiguousarray(partial.sums, dtype=np.int64).data)
            self._held[slice_index] = []
        self._bytes = 0

    def _loaded(self, offset: int, length: int) -> KeySums:
        self._file.flush()
        keys = np.memmap(self._file, dtype=self._key_dtype, mode="r", offset=offset, shape=(length,))
        sums = np.memmap(self._file, dtype=np.int64, mode="r", offset=offset + keys.nbytes, shape=(length,))
        return KeySums(keys.view(np.ndarray), sums.view(np.ndarray))


def _overlapping(pieces: Sequence[KeySums]) -> Iterator[list[KeySums]]:
    """Groups of pieces whose ranges of keys overlap, in ascending order of keys."""
    group: list[KeySums] = []
    for piece in sorted(pieces, key=lambda piece: int(piece.keys[0])):
        if group and int(piece.keys[0]) > max(int(other.keys[-1]) for other in group):
            yield group
            group = []
        group.append(piece)
    if group:
        yield group


def _bounds(pieces: Sequence[KeySums]) -> Array:
    """Keys that divide the pieces into ranges of about `_BLOCK` entries in total."""
    total = sum(len(piece.keys) for piece in pieces)
    if total <= _BLOCK:
        return pieces[0].keys[:0]
    blocks = -(-total // _BLOCK)
    sample = np.sort(np.concatenate([piece.keys[:: max(1, _BLOCK // 1024)] for piece in pieces]))
    return np.unique(sample[np.linspace(0, len(sample) - 1, blocks + 1).astype(np.int64)[1:-1]])
