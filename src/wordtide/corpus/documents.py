"""Batches of dated documents, which readers make of rows; bad rows are reported or counted."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wordtide.corpus.columns import (
    DATE_MISSING,
    GROUP_MISSING,
    group_name,
    parse_column,
    parse_groups,
    text_buffers,
)
from wordtide.corpus.findings import Findings
from wordtide.dates import ParsedDate, parse_date
from wordtide.errors import InputError
from wordtide.types import Bytes, Flags, Integers

ENCODING_REMEDY = "Name the file's encoding if it is not UTF-8: --encoding cp1252, for instance."
_DATE_REMEDY = (
    "Give the field's name with --date-field, or its pattern with --date-format (for instance '%d/%m/%Y')."
)


class Origin(NamedTuple):
    """The source of rows.

    `label` names it in the counts, independent of the location of its folder. `place` names it in messages,
    with its path and the word before a row number ("/data/posts.jsonl, line").
    """

    label: str
    place: str

    def row(self, number: int) -> str:
        """The name of a row in messages."""
        return f"{self.place} {number}"


@dataclass(frozen=True)
class Batch:
    """Dated documents.

    Text n is `data[offsets[n]:offsets[n + 1]]` (UTF-8), dated `stamps[n]`, a period of `spans[n]` seconds.
    `sources` and `rows` say where each came from, `places` the same for messages (see `Origin`), one for each
    document or one for all; a text file has its own name and row 0. Document n is of the group
    `group_names[groups[n]]`, if documents have groups.
    """

    data: Bytes
    offsets: Integers
    stamps: Integers
    spans: Integers
    sources: Sequence[str]
    rows: Integers
    places: Sequence[str] = ()
    groups: Integers | None = None
    group_names: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.data.setflags(write=False)  # a single array type for the kernels

    def __len__(self) -> int:
        return len(self.stamps)

    def name(self, document: int) -> str:
        """The name of a document in the counts: its file, and its line or row if there is one."""
        source = _of(self.sources, document)
        return f"{source}:{self.rows[document]}" if self.rows[document] else source

    def place(self, document: int) -> str:
        """The name of a document in messages."""
        if not self.places:
            return self.name(document)
        place = _of(self.places, document)
        return f"{place} {self.rows[document]}" if self.rows[document] else place

    def text(self, document: int) -> bytes:
        """The bytes of one document."""
        return self.data[self.offsets[document] : self.offsets[document + 1]].tobytes()

    def where(self, keep: Flags) -> "Batch":
        """Select documents."""
        if keep.all():
            return self
        chosen = np.flatnonzero(keep).tolist()
        sources, places = (
            [names[n] for n in chosen] if len(names) > 1 else names for names in (self.sources, self.places)
        )
        stamps, spans, rows = self.stamps[chosen], self.spans[chosen], self.rows[chosen]
        groups = None if self.groups is None else self.groups[chosen]
        data, offsets = _joined([self.text(n) for n in chosen])
        return Batch(data, offsets, stamps, spans, sources, rows, places, groups, self.group_names)

    def with_texts(self, texts: Sequence[bytes]) -> "Batch":
        """The same documents with other texts."""
        return self.with_buffers(*_joined(texts))

    def with_buffers(self, data: Bytes, offsets: Integers) -> "Batch":
        """The same documents with other texts, which lie in one array."""
        return replace(self, data=data, offsets=offsets)


def _of(names: Sequence[str], document: int) -> str:
    return names[document] if len(names) > 1 else names[0]


def make_batch(
    texts: Sequence[bytes],
    dates: Sequence[ParsedDate],
    sources: Sequence[str],
    rows: npt.ArrayLike,
    places: Sequence[str] = (),
    groups: Sequence[str] | None = None,
) -> Batch:
    """Make a batch of separate texts with the dates that `parse_date` returned, and with names of groups."""
    stamps, spans = np.array(dates, dtype=np.int64).reshape(-1, 2).T.copy()
    batch = Batch(*_joined(texts), stamps, spans, sources, np.asarray(rows, dtype=np.int64), places)
    if groups is None:
        return batch
    names = {name: number for number, name in enumerate(dict.fromkeys(groups))}
    numbers = np.array([names[name] for name in groups], dtype=np.int64)
    return replace(batch, groups=numbers, group_names=list(names))


def _joined(texts: Sequence[bytes]) -> tuple[Bytes, Integers]:
    """The bytes of all texts, and their offsets."""
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return np.frombuffer(b"".join(texts), dtype=np.uint8), offsets


class BadRows:
    """Handles bad rows: raises an error that names the row or, with `skip`, counts rows by reason.

    Keeps an example for each reason, and the other `findings` of reading. Thread-safe.
    """

    def __init__(self, skip: bool = False, findings: Findings | None = None) -> None:
        self.skip = skip
        self.reasons: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.findings = findings or Findings()
        self._lock = threading.Lock()

    def report(self, place: str, reason: str, detail: str, remedy: str) -> None:
        """Raise an InputError or count the row; `reason` is the kind of problem, `detail` this instance."""
        if not self.skip:
            raise InputError(f"{place}: {detail}", f"{remedy} Or add --skip-bad to leave such rows out.")
        with self._lock:
            self.reasons[reason] += 1
            self.examples[reason] = min(self.examples.get(reason, "\U0010ffff"), f"{place}: {detail}")


#: Input that a worker parses into documents.
Block = Callable[[BadRows], Batch]


def report_bad_date(bad: BadRows, place: str, problem: str) -> None:
    """Report a row whose date is rejected by `parse_date`."""
    if "(--date-format=" in problem:  # the problem names the options
        bad.report(place, "date ambiguous", f"{problem}.", "Choose the right one.")
        return
    reason = "date missing" if problem == DATE_MISSING else "date not understood"
    bad.report(place, reason, f"{problem}.", _DATE_REMEDY)


def report_bad_group(bad: BadRows, place: str, problem: str) -> None:
    """Report a row whose group is rejected by `group_name`."""
    reason = "no group" if problem == GROUP_MISSING else "group not understood"
    bad.report(place, reason, f"{problem}.", "Fix the row, or choose another --group-field.")


def grouped_by_folder(batch: Batch, level: int, bad: BadRows) -> Batch:
    """Group documents by the folder of their file, on a level of the folders above it."""
    names: dict[str, int] = {}
    groups = np.full(len(batch), -1, dtype=np.int64)
    for document in range(len(batch)):
        folders = _of(batch.sources, document).replace("\\", "/").split("/")[:-1]
        if level > len(folders):
            detail = f"the file is in no folder of level {level}."
            bad.report(batch.place(document), "no group", detail, "Move it, or choose another level.")
            continue
        try:
            groups[document] = names.setdefault(group_name(folders[level - 1]), len(names))
        except ValueError as error:
            report_bad_group(bad, batch.place(document), str(error))
    return replace(batch, groups=groups, group_names=list(names)).where(groups >= 0)


class RowCollector:
    """Makes a batch of rows that are added one by one; rows with a bad date or group are reported."""

    def __init__(self, origin: Origin, date_format: str | None, has_groups: bool, bad: BadRows) -> None:
        self._origin, self._date_format, self._has_groups, self._bad = origin, date_format, has_groups, bad
        self._texts: list[bytes] = []
        self._dates: list[ParsedDate] = []
        self._groups: list[str] = []
        self._rows: list[int] = []

    def add(self, row: int, date: object, text: bytes, group: object = None) -> None:
        """Add the row with this number, unless its date or group is bad."""
        place = self._origin.row(row)
        try:
            parsed = parse_date(date, self._date_format)
        except (ValueError, OverflowError) as error:
            report_bad_date(self._bad, place, str(error))
            return
        if self._has_groups:
            try:
                self._groups.append(group_name(group))
            except ValueError as error:
                report_bad_group(self._bad, place, str(error))
                return
        self._dates.append(parsed)
        self._texts.append(text)
        self._rows.append(row)

    def batch(self) -> Batch:
        """The rows that were added."""
        groups = self._groups if self._has_groups else None
        return make_batch(
            self._texts, self._dates, [self._origin.label], self._rows, [self._origin.place], groups
        )


class RowColumns(NamedTuple):
    """The columns of a table, with a value per row."""

    dates: pa.Array
    texts: pa.Array
    groups: pa.Array | None = None


def batch_from_columns(
    columns: RowColumns, origin: Origin, rows: Integers, date_format: str | None, bad: BadRows
) -> Batch:
    """Make a batch from columns of a table whose rows have the numbers `rows`."""
    texts = columns.texts
    stamps, spans, wrong = parse_column(columns.dates, date_format)
    for row, problem in wrong.items():
        report_bad_date(bad, origin.row(rows[row]), problem)
    keep = np.ones(len(stamps), dtype=np.bool_)
    keep[list(wrong)] = False
    if texts.null_count:
        for row in np.flatnonzero(texts.is_null().to_numpy(zero_copy_only=False) & keep).tolist():
            remedy = "Check the column given with --text-field."
            bad.report(origin.row(rows[row]), "text missing", "the text is missing.", remedy)
            keep[row] = False
    groups: Integers | None = None
    names: list[str] = []
    if columns.groups is not None:
        groups, names, wrong = parse_groups(columns.groups)
        for row, problem in wrong.items():
            if keep[row]:
                report_bad_group(bad, origin.row(rows[row]), problem)
                keep[row] = False
    if not keep.all():
        texts = texts.filter(pa.array(keep))
        stamps, spans, rows = stamps[keep], spans[keep], rows[keep]
        groups = None if groups is None else groups[keep]
    data, offsets = text_buffers(texts)
    return Batch(data, offsets, stamps, spans, [origin.label], rows, [origin.place], groups, names)
