"""Counts of groups of documents, such as parties, with the words and slices of the counts of all documents.

On disk they are one set of arrays in the subfolder `groups` of a counts folder, group after group: slice t of
group g of T slices is slice g T + t there.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np

from wordtide.counts.count_arrays import CountArrays, join_arrays
from wordtide.counts.settings import CountSettings, Summary
from wordtide.errors import FolderError, InputError
from wordtide.storage.arrays import load_array, save_array
from wordtide.storage.cells import read_lines, write_lines
from wordtide.timeline import DatedSlices, Slices
from wordtide.types import Floats, Integers

if TYPE_CHECKING:
    from wordtide.corpus.documents import Batch
    from wordtide.counts.segments import Entry, Segment

FOLDER = "groups"
MOST_GROUPS = 100
#: The numbers of slices that groups have of their own; the others are those of the whole.
OWN_FIELDS = ("tokens", "documents", "moment_days", "moment_seconds")
_NAMES = "names.txt"
_LARGEST_TEXT = 1 << 20


class CountsLike(Protocol):
    """The interface of `Counts` for the modules that it imports."""

    words: list[str]
    slices: Slices
    arrays: CountArrays
    settings: CountSettings
    window: int
    places: int
    summary: Summary
    path: Path | None

    @property
    def groups(self) -> "Mapping[str, CountsLike]":
        """The counts of each group."""

    @property
    def times(self) -> Floats:
        """The mean date of each slice."""

    def word_number(self, word: str) -> int:
        """The number of a word; UnknownWordError if there is none."""

    def upper(self, t: int) -> Any:
        """The stored half of slice t as a sparse matrix; FolderError if it is damaged."""

    def replaced(self, slices: Slices, arrays: CountArrays, summary: Summary) -> Self:
        """Counts of the same words with other slices."""


CountsType = TypeVar("CountsType", bound=CountsLike)


class GroupNumbers:
    """Numbers the groups of documents in the order in which they are met. Thread-safe."""

    def __init__(self, field: str | None) -> None:
        self._field = field
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()

    def of_documents(self, batch: "Batch") -> Integers | None:
        """The number of each document's group, (n,); None if documents have no groups."""
        if batch.groups is None:
            return None
        numbers = np.zeros(len(batch.group_names), dtype=np.int64)
        with self._lock:
            for place in np.unique(batch.groups).tolist():
                name = batch.group_names[place]
                numbers[place] = self._numbers.setdefault(name, len(self._numbers))
            if len(self._numbers) > MOST_GROUPS:
                raise InputError(
                    f"--group-field={self._field} gives more than {MOST_GROUPS} groups, which is the limit.",
                    "Choose a field with few values, such as a party or a country.",
                )
        return numbers[batch.groups]

    def names(self) -> list[str]:
        """The names of the groups in the order of their numbers."""
        return list(self._numbers)


@dataclass(frozen=True)
class GroupEntries:
    """The entries of segments by group and slice: those of slice t of group g are at g T + t."""

    entries: "list[list[Entry]]"
    numbers: dict[str, Integers]  # of the slices: `OWN_FIELDS`, (G T,)


def entries_of_groups(
    segments: Sequence["Segment"], members: Sequence[Integers], slices: int, groups: Sequence[str]
) -> tuple[list[str], GroupEntries]:
    """Assign the entries of segments, whose slices are `members` (or -1), to groups and slices.

    `groups` are the names in the order of their numbers in segments. Returns the names of the groups that
    have words, sorted, and the entries in their order.
    """
    used = np.unique(np.concatenate([segment.groups for segment in segments])).tolist()
    order = sorted(used, key=groups.__getitem__)
    number = np.zeros(len(groups), dtype=np.int64)
    number[order] = np.arange(len(order))
    total = len(order) * slices
    entries: list[list[Entry]] = [[] for _ in range(total)]
    numbers = {name: np.zeros(total, dtype=np.int64) for name in OWN_FIELDS}
    for segment, places in zip(segments, members, strict=True):
        if segment.groups is None:
            raise AssertionError("the documents of a segment have no groups")
        there = np.flatnonzero(places >= 0)
        targets = number[segment.groups[there]] * slices + places[there]
        for name, sums in numbers.items():
            np.add.at(sums, targets, getattr(segment.entries, name)[there])
        for entry, target in zip(there.tolist(), targets.tolist(), strict=True):
            entries[target].append((segment, entry))
    return [groups[place] for place in order], GroupEntries(entries, numbers)


def words_of_groups(segments: Sequence["Segment"], groups: Sequence[str]) -> dict[str, int]:
    """The number of words of each group, by name."""
    words = np.zeros(len(groups), dtype=np.int64)
    for segment in segments:
        if segment.groups is not None:
            np.add.at(words, segment.groups, segment.entries.tokens)
    return {name: number for name, number in sorted(zip(groups, words.tolist(), strict=True)) if number}


def split_groups(
    whole: CountsType, names: Sequence[str], arrays: CountArrays, numbers: Mapping[str, Integers]
) -> "GroupCounts[CountsType]":
    """The counts of each group, by sorted name, from those of all documents (`whole`).

    The arrays of all groups have G T slices, and so have their numbers: `OWN_FIELDS`, (G T,).
    """
    slices = DatedSlices(**{**vars(whole.slices), "stamps": whole.slices.mean_stamps()})

    def make(group: int) -> CountsType:
        start, stop = group * len(slices), (group + 1) * len(slices)
        numbered: dict[str, Any] = {name: values[start:stop] for name, values in numbers.items()}
        own = replace(slices, **numbered)
        part = arrays.between(start, stop)
        summary = Summary(
            documents=int(own.documents.sum()),
            tokens=int(own.tokens.sum()),
            tokens_in_vocabulary=int(part.unigram_values.sum()) / whole.places,
            distinct_words=len(np.unique(part.unigram_words)),  # of the vocabulary
        )
        return whole.replaced(own, part, summary)

    return GroupCounts(names, make)


def open_groups(whole: CountsType, folder: Path) -> "GroupCounts[CountsType]":
    """Open the subfolder with the groups of a counts folder; its large arrays stay on disk."""
    numbers = {name: load_array(folder, f"slice_{name}", "i8", in_memory=True) for name in OWN_FIELDS}
    names = read_lines(folder / _NAMES, _LARGEST_TEXT, "Count again.")
    arrays = CountArrays.load(folder)
    total = len(names) * len(whole.slices)
    sound = 0 < len(names) <= MOST_GROUPS and names == sorted(set(names)) and arrays.are_sound(total)
    sound = sound and all(len(values) == total for values in numbers.values())
    if not sound or (numbers["tokens"] < 0).any() or (numbers["documents"] < 0).any():
        raise FolderError(f"The arrays in {folder} are inconsistent: the folder is damaged.", "Count again.")
    return split_groups(whole, names, arrays, numbers)


def write_group_facts(folder: Path, groups: Mapping[str, CountsLike]) -> None:
    """Write the names of groups and the numbers of their slices beside their arrays."""
    write_lines(folder / _NAMES, groups)
    for name in OWN_FIELDS:
        values = np.concatenate([getattr(group.slices, name) for group in groups.values()])
        save_array(folder, f"slice_{name}", values)


def write_group_arrays(folder: Path, groups: Mapping[str, CountsLike]) -> None:
    """Write the arrays of all groups, one group after the other."""
    folder.mkdir()
    parts = [group.arrays for group in groups.values()]
    for name, array in vars(join_arrays(parts)).items():
        save_array(folder, name, array)


def lone_documents(groups: Mapping[str, CountsLike]) -> list[str]:
    """The groups with a single document."""
    return [name for name, group in groups.items() if group.summary.documents == 1]


class GroupCounts(Mapping[str, CountsType]):
    """The counts of each group by its name, made when they are asked for."""

    def __init__(self, names: Sequence[str], make: Callable[[int], CountsType]) -> None:
        self._numbers = {name: number for number, name in enumerate(names)}
        self._make = make
        self._made: dict[str, CountsType] = {}

    def __getitem__(self, name: str) -> CountsType:
        number = self._numbers[name]
        if name not in self._made:
            self._made[name] = self._make(number)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __repr__(self) -> str:
        return f"<GroupCounts: {', '.join(self)}>"
