"""Batches of dated documents: valid UTF-8 in composed form (NFC), with bad rows reported or counted."""

import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wordtide.compiled import kernel
from wordtide.corpus.columns import (
    DATE_MISSING,
    GROUP_MISSING,
    group_name,
    parse_column,
    parse_groups,
    text_buffers,
)
from wordtide.corpus.findings import SCRIPTS, Findings
from wordtide.corpus.tokens.unicode import TABLE_SIZE, character_tables, decode
from wordtide.dates import ParsedDate
from wordtide.errors import InputError
from wordtide.types import Bytes, Flags, Integers

_DATE_REMEDY = (
    "Give the field's name with --date-field, or its pattern with --date-format (for instance '%d/%m/%Y')."
)


class Origin(NamedTuple):
    """The source of rows: `label` names it in the counts, independent of the location of its folder; `place`
    names it in messages, with its path and the word before a row number ("/data/posts.jsonl, line").
    """

    label: str
    place: str

    def row(self, number: int) -> str:
        """The name of a row in messages."""
        return f"{self.place} {number}"


@dataclass(frozen=True)
class Batch:
    """Documents: text n is `data[offsets[n]:offsets[n + 1]]` (UTF-8), dated `stamps[n]`, `spans[n]` seconds
    precise.

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
    """Handles bad rows: raises an error that names the row or, with `skip`, counts rows by reason and keeps
    an example of each. Thread-safe.

    `facts`: what else reading found out.
    """

    def __init__(self, skip: bool = False, facts: Findings | None = None) -> None:
        self.skip = skip
        self.reasons: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.findings = facts or Findings()
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


@kernel
def inspect_texts(data: Bytes, offsets: Integers, unstable: Flags, scripts: Integers) -> Bytes:
    """Classify documents: 0 if they are UTF-8 in composed form, 1 if not composed, 2 if not UTF-8.

    Adds the bytes of characters in scripts without spaces between words to `scripts` (see `SCRIPTS`).
    """
    verdicts = np.zeros(offsets.size - 1, dtype=np.uint8)
    for document in range(offsets.size - 1):
        end = offsets[document + 1]
        at = offsets[document]
        high = np.uint8(0)
        for position in range(at, end):
            high |= data[position]
        if high < 0x80:
            continue
        while at < end:
            first = data[at]
            if first < 0x80:
                at += 1
                continue
            width = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            if first < 0xC2 or first > 0xF4 or at + width > end:
                verdicts[document] = 2
                break
            proper = True
            for position in range(at + 1, at + width):
                proper = proper and (data[position] & 0xC0) == 0x80
            code, _ = decode(data, at)
            if not proper or (width == 3 and code < 0x800) or (code >= 0xD800 and code < 0xE000):
                verdicts[document] = 2
                break
            if (width == 4 and code < 0x10000) or code > 0x10FFFF:
                verdicts[document] = 2
                break
            if code >= TABLE_SIZE or unstable[code]:
                verdicts[document] = 1
            if code >= 0x0E00 and code < 0x30000:
                if code >= 0x3400 and (
                    code < 0xA000 or (code >= 0xF900 and code < 0xFB00) or code >= 0x20000
                ):
                    scripts[0] += width
                elif code >= 0x3041 and code < 0x3100:
                    scripts[1] += width
                elif (
                    code < 0x0F00 or (code >= 0x1000 and code < 0x10A0) or (code >= 0x1780 and code < 0x1800)
                ):
                    scripts[2] += width
            at += width
    return verdicts


def normalize_texts(batch: Batch, bad: BadRows) -> Batch:
    """Normalize the texts of a batch to NFC, and report and drop those that are not valid UTF-8."""
    scripts = np.zeros(len(SCRIPTS), dtype=np.int64)
    verdicts = inspect_texts(batch.data, batch.offsets, character_tables(True).unstable, scripts)
    bad.findings.add_scripts(int(batch.offsets[-1] - batch.offsets[0]), scripts)
    if not verdicts.any():
        return batch
    texts: list[bytes] = []
    for document, verdict in enumerate(verdicts):
        text = batch.text(document)
        if verdict == 2:
            _report_bad_encoding(batch, document, text, bad)
        elif verdict == 1:
            text = unicodedata.normalize("NFC", text.decode("utf-8")).encode("utf-8")
        texts.append(text)
    return batch.with_texts(texts).where(verdicts != 2)


def _report_bad_encoding(batch: Batch, document: int, text: bytes, bad: BadRows) -> None:
    try:
        text.decode("utf-8")
        raise AssertionError("inspect_texts and Python disagree about UTF-8")
    except UnicodeDecodeError as error:
        start = error.start
    place = batch.place(document)
    if not batch.rows[document]:  # the document is a whole file
        line = text.count(b"\n", 0, start) + 1
        place = f"{place}, line {line}"
    detail = f"byte {start + 1} of the text (0x{text[start]:02x}) is not valid UTF-8."
    bad.report(
        place,
        "not UTF-8",
        detail,
        "Name the file's encoding if it is not UTF-8: --encoding cp1252, for instance.",
    )
