"""The sufficient statistics of the model: the sparse, symmetric matrix n+ of each time slice, and its date.

They are a counts folder on disk (`docs/formats.md`), and arrays that map its files in memory. Only the half
of a matrix on and above the diagonal is stored, as integers in units of 1/window.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from wordtide.corpus.findings import Findings
from wordtide.counts.count_arrays import ARRAYS, CountArrays
from wordtide.counts.groups import FOLDER, open_groups, split_groups, write_group_arrays, write_group_facts
from wordtide.counts.settings import RECIPE, CountSettings, Summary
from wordtide.dates import format_date
from wordtide.errors import FolderError, SettingsError
from wordtide.spelling import counted, number_of
from wordtide.storage.arrays import load_array, save_array
from wordtide.storage.cells import read_lines, spelled_out, write_lines
from wordtide.storage.folders import check_not_input, new_folder, real_target
from wordtide.storage.header import read_as_one, read_header, verify, write_header
from wordtide.timeline import INTEGER_FIELDS, Slices
from wordtide.types import Floats, Integers

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from wordtide.counts.examples.concordance import Examples

KIND = "counts"
VERSION = 1
GROUPED = 2  # the version of folders with groups
_LARGEST_TEXT = 1 << 32  # bytes of the vocabulary: 2^24 words of 128 bytes have less


class Counts:
    """Counts of word pairs per time slice. `counts[t]` is n+ of slice t; `len(counts)` is T."""

    def __init__(
        self,
        words: Sequence[str],
        slices: Slices,
        arrays: CountArrays,
        settings: CountSettings,
        window: int,
        places: int = 1,
        summary: Summary | None = None,
        path: Path | None = None,
        groups: "Mapping[str, Counts] | None" = None,
    ) -> None:
        self.words = list(words)
        self.slices = slices
        self.arrays = arrays
        self.settings = settings
        self.window = window
        self.places = places  # n for n-grams, where each token is seen at n places; 1 for text
        self.summary = summary or Summary()
        self.findings: Findings | None = None  # what counting found out about the corpus; not saved
        self.path = path
        self.groups: Mapping[str, Counts] = groups or {}
        """The counts of each group of documents, if they have groups, with the same words and slices."""

    def __len__(self) -> int:
        return len(self.slices)

    def __repr__(self) -> str:
        span = f"{self.slices.labels[0]} to {self.slices.labels[-1]}" if len(self) else "empty"
        sizes = f"{counted(len(self.words), 'word')}, {counted(int(self.tokens.sum()), 'token')}"
        return f"<Counts: {counted(len(self), 'slice')} ({span}), {sizes}>"

    @cached_property
    def times(self) -> Floats:
        """Mean date of each slice's tokens in float years, strictly increasing, (T,)."""
        return self.slices.times()

    @cached_property
    def dates(self) -> npt.NDArray[np.datetime64]:
        """Mean date of each slice's tokens as a calendar day, (T,)."""
        return self.slices.dates()

    def shown_dates(self) -> list[str]:
        """The mean date of each slice, as precise as the dates of its texts: 1862, 1862-12 or 1862-12-01."""
        stamps = self.slices.mean_stamps()
        return [
            format_date(int(stamp), int(span)) for stamp, span in zip(stamps, self.slices.spans, strict=True)
        ]

    @property
    def labels(self) -> list[str]:
        """The label of each slice: its period, or its document."""
        return list(self.slices.labels)

    @property
    def tokens(self) -> Integers:
        """Tokens of each slice, in the vocabulary and out of it, (T,)."""
        return self.slices.tokens

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def recipe(self) -> dict[str, Any]:
        """Return how later texts must be counted to continue these counts; models store it."""
        settings = {name: getattr(self.settings, name) for name in RECIPE}
        return {**settings, "window": self.window, "places": self.places}

    def word_number(self, word: str) -> int:
        """Return the number of a word; an UnknownWordError suggests similar words of the vocabulary."""
        return number_of(word, self.index, "Count again with a larger --vocabulary-size.")

    def slice_at(self, date: str) -> int:
        """Return the slice that contains a date (1850, 1862-12, 1862-12-01), else the nearest."""
        return self.slices.nearest(date)

    def examples(self, word: str, at: str | None = None) -> "Examples":
        """The sentences with a word that were kept while counting (`count(..., examples=3)`).

        Args:
            word: A word of the vocabulary.
            at: A date (1850, 1862-12), whose nearest slice is meant; None for all slices.

        Returns:
            A list of sentences in order of time, each with date, document, and the text before and after the
            word. `print` shows one per line.

        Raises:
            FolderError: The counts keep no sentences.
            UnknownWordError: The word is not in the vocabulary.
        """
        from wordtide.counts.examples.concordance import find_examples

        return find_examples(self, word, range(len(self)) if at is None else [self.slice_at(str(at))])

    @overload
    def __getitem__(self, t: int) -> "csr_array": ...
    @overload
    def __getitem__(self, t: slice) -> "list[csr_array]": ...
    def __getitem__(self, t: int | slice) -> "csr_array | list[csr_array]":
        """n+ of slice t: symmetric, (L, L), float64."""
        if isinstance(t, slice):
            return [self[place] for place in range(*t.indices(len(self)))]
        half = self.upper(t).astype(np.float64) / self.window
        return (half + half.T).tocsr()  # the diagonal doubles: a word paired with itself counts twice

    def __iter__(self) -> "Iterator[csr_array]":
        return (self[t] for t in range(len(self)))

    def upper(self, t: int) -> "csr_array":
        """The stored half of slice t: upper triangle with diagonal, (L, L), integers in units of 1/window."""
        from scipy.sparse import csr_array  # slow to import, and not needed by questions

        t = range(len(self))[t]
        words = len(self.words)
        half = self.arrays.half(t, words)
        if half is None:
            raise FolderError(f"Slice {t} of {self.path or 'the counts'} is damaged.", "Count again.")
        return csr_array(half, shape=(words, words))

    def unigrams(self, t: int) -> Floats:
        """How often each word occurs in slice t, (L,)."""
        occurrences = np.zeros(len(self.words), dtype=np.float64)
        numbers, values = self.arrays.words_of(range(len(self))[t])
        if len(numbers) and int(numbers.max()) >= len(self.words):
            raise FolderError(f"Slice {t} of {self.path or 'the counts'} is damaged.", "Count again.")
        occurrences[numbers] = values / self.places
        return occurrences

    def tokens_in_vocabulary(self) -> Floats:
        """Tokens of each slice that are in the vocabulary, (T,)."""
        ends = np.concatenate([[0], np.cumsum(self.arrays.unigram_values)])
        return np.diff(ends[self.arrays.slice_unigrams]) / self.places

    def word_probability(self, t: int) -> Floats:
        """P_t(i), the share of each word in the pairs of slice t, (L,): supplement, "Construction of n-"."""
        half = self.upper(t)
        sums: Integers = np.asarray(half.sum(axis=0)).ravel() + np.asarray(half.sum(axis=1)).ravel()
        return sums / float(max(1, sums.sum()))

    def context_probability(self, t: int, gamma: float = 0.75) -> Floats:
        """P'_t(j), proportional to P_t(j)^gamma, (L,).

        n-_t is sum(n+_t) eta P_t P'_t: it has rank one and is never stored.
        """
        p = self.word_probability(t)
        raised: Floats = np.where(p > 0, p, 0.0) ** gamma
        return raised / float(max(raised.sum(), np.finfo(float).tiny))

    def active_words(self) -> Integers:
        """The number of words with at least one pair in each slice, (T,)."""
        return np.array(
            [np.count_nonzero(self.word_probability(t)) for t in range(len(self))], dtype=np.int64
        )

    def stored_pairs(self) -> Integers:
        """The number of distinct unordered pairs in each slice, (T,)."""
        ends = np.concatenate([[0], self.arrays.row_ends])
        return np.diff(ends[self.arrays.slice_rows])

    def __add__(self, other: "Counts") -> "Counts":
        return merge_counts([self, other])

    def in_memory(self) -> "Counts":
        """Return a copy with all arrays in memory, independent of any folder."""
        arrays = CountArrays(**{name: np.array(getattr(self.arrays, name)) for name in ARRAYS})
        groups = {name: group.in_memory() for name, group in self.groups.items()}
        return self.replaced(self.slices, arrays, self.summary, groups)

    def replaced(
        self,
        slices: Slices,
        arrays: CountArrays,
        summary: Summary,
        groups: "Mapping[str, Counts] | None" = None,
    ) -> "Counts":
        """Return counts of the same words with the same settings, and with other slices."""
        common = (self.settings, self.window, self.places)
        return Counts(self.words, slices, arrays, *common, summary, groups=groups)

    def save(self, path: str | PathLike[str], overwrite: bool = False) -> None:
        """Write a counts folder."""
        if (self.tokens == 0).any():
            raise SettingsError(
                "These are the counts of a group, which lacks some slices.",
                "Save the counts of all groups, or count the texts of the group.",
            )
        with new_folder(Path(path), overwrite, KIND) as folder:
            for name in ARRAYS:
                save_array(folder, name, np.asarray(getattr(self.arrays, name)))
            if self.groups:
                write_group_arrays(folder / FOLDER, self.groups)
            write_facts(folder, self)

    @staticmethod
    @read_as_one
    def load(path: str | PathLike[str], check: bool = False) -> "Counts":
        """Open a counts folder; its large arrays stay on disk (`in_memory()` loads them).

        `check` compares all checksums.
        """
        folder = Path(path)
        header = read_header(folder, KIND, VERSION, GROUPED)
        if check:
            verify(folder, header)
        arrays = CountArrays.load(folder)
        numbers = {name: load_array(folder, f"slice_{name}", "i8", in_memory=True) for name in INTEGER_FIELDS}
        labels, words = (
            read_lines(folder / name, _LARGEST_TEXT, "Count again.") for name in ("labels.txt", "words.txt")
        )
        try:
            counts = Counts(
                words,
                Slices(**numbers, labels=labels),
                arrays,
                CountSettings.from_json(header["settings"]),
                window=_positive(header["window"]),
                places=_positive(header["places"]),
                summary=Summary(**header["summary"]),
                path=folder,
            )
        except (KeyError, TypeError, ValueError, SettingsError) as error:
            raise FolderError(f"The header of {folder} is damaged: {error}", "Count again.") from error
        sound = counts.slices.are_sound() and arrays.are_sound(len(counts))
        if not sound or len(set(words)) < len(words):
            problem = f"The arrays in {folder} are inconsistent: the folder is damaged."
            raise FolderError(problem, "Count again.")
        if header["version"] == GROUPED:
            counts.groups = open_groups(counts, folder / FOLDER)
        return counts


def merge_counts(parts: Sequence[Counts], output: Path | None = None, overwrite: bool = False) -> Counts:
    """Add counts with the same vocabulary and settings.

    Counting parts of a corpus and merging them gives the counts of the whole.

    Args:
        parts: The counts to add.
        output: The folder to write the sum to. None: the sum is held in memory.
        overwrite: Whether to replace a counts folder at `output`.

    Returns:
        The sum.

    Raises:
        SettingsError: Vocabularies or settings differ.
    """
    from wordtide.counts.merge import check_agreement, write_sum, write_sum_of_groups  # imports the compiler

    check_agreement(parts)
    first = parts[0]
    if output is not None:
        check_not_input(real_target(output), [part.path for part in parts])
    with tempfile.TemporaryDirectory() if output is None else new_folder(output, overwrite, KIND) as place:
        slices, arrays, settings, summary = write_sum(parts, Path(place))
        merged = Counts(first.words, slices, arrays, settings, first.window, first.places, summary)
        if first.groups:
            merged.groups = split_groups(merged, *write_sum_of_groups(parts, Path(place) / FOLDER))
        if output is None:
            return merged.in_memory()
        write_facts(Path(place), merged)
    return Counts.load(output)


def write_facts(folder: Path, counts: Counts) -> None:
    """Write the files of a counts folder except the large arrays, the header last."""
    for name in INTEGER_FIELDS:
        save_array(folder, f"slice_{name}", np.asarray(getattr(counts.slices, name), dtype=np.int64))
    write_lines(folder / "labels.txt", map(_one_line, counts.slices.labels))
    write_lines(folder / "words.txt", counts.words)
    content = {
        "settings": counts.settings.as_json(),
        "window": counts.window,
        "places": counts.places,
        "slices": len(counts),
        "words": len(counts.words),
        "summary": asdict(counts.summary),
    }
    if counts.groups:
        write_group_facts(folder / FOLDER, counts.groups)
    write_header(folder, KIND, GROUPED if counts.groups else VERSION, content)


def _one_line(label: str) -> str:
    return spelled_out(" ".join(label.encode("utf-8", "replace").decode("utf-8").split()))


def _positive(value: object) -> int:
    if not isinstance(value, int) or not 1 <= value <= 255:
        raise ValueError(f"{value!r} is not a small positive number")
    return value
