"""Batches of dated documents, and the handling of bad rows."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wordtide.corpus.columns import DATE_MISSING, parse_column, text_buffers
from wordtide.errors import InputError


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
    document or one for all; a text file has its own name and row 0.
    """

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    stamps: npt.NDArray[np.int64]
    spans: npt.NDArray[np.int64]
    sources: Sequence[str]
    rows: npt.NDArray[np.int64]
    places: Sequence[str] = ()

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

    def where(self, keep: npt.NDArray[np.bool_]) -> "Batch":
        """Select documents."""
        if keep.all():
            return self
        chosen = np.flatnonzero(keep).tolist()
        sources, places = (
            [names[n] for n in chosen] if len(names) > 1 else names for names in (self.sources, self.places)
        )
        return make_batch(
            [self.text(n) for n in chosen],
            self.stamps[chosen],
            self.spans[chosen],
            sources,
            self.rows[chosen],
            places,
        )


def _of(names: Sequence[str], document: int) -> str:
    return names[document] if len(names) > 1 else names[0]


def make_batch(
    texts: Sequence[bytes],
    stamps: npt.ArrayLike,
    spans: npt.ArrayLike,
    sources: Sequence[str],
    rows: npt.ArrayLike,
    places: Sequence[str] = (),
) -> Batch:
    """Make a batch of separate texts."""
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return Batch(
        np.frombuffer(b"".join(texts), dtype=np.uint8),
        offsets,
        np.asarray(stamps, dtype=np.int64),
        np.asarray(spans, dtype=np.int64),
        sources,
        np.asarray(rows, dtype=np.int64),
        places,
    )


class BadRows:
    """Handles bad rows: raises an error that names the row or, with `skip`, counts rows by reason.
    Thread-safe.
    """

    def __init__(self, skip: bool = False) -> None:
        self.skip = skip
        self.reasons: Counter[str] = Counter()
        self._lock = threading.Lock()

    def report(self, place: str, reason: str, detail: str, remedy: str) -> None:
        """Raise an InputError or count the row; `reason` is the kind of problem, `detail` this instance."""
        if not self.skip:
            raise InputError(f"{place}: {detail}", f"{remedy} Or add --skip-bad to leave such rows out.")
        with self._lock:
            self.reasons[reason] += 1


#: Input that a worker parses into documents.
Block = Callable[[BadRows], Batch]

_DATE_REMEDY = (
    "Give the field's name with --date-field, or its pattern with --date-format (for instance '%d/%m/%Y')."
)


def report_bad_date(bad: BadRows, place: str, problem: str) -> None:
    """Report a row whose date is rejected by `parse_date`."""
    reason = "date missing" if problem == DATE_MISSING else "date not understood"
    bad.report(place, reason, f"{problem}.", _DATE_REMEDY)


def batch_from_columns(
    dates: pa.Array,
    texts: pa.Array,
    origin: Origin,
    rows: npt.NDArray[np.int64],
    date_format: str | None,
    bad: BadRows,
) -> Batch:
    """Make a batch from two columns of a table whose rows have the numbers `rows`."""
    stamps, spans, wrong = parse_column(dates, date_format)
    for row, problem in wrong.items():
        report_bad_date(bad, origin.row(rows[row]), problem)
    keep = np.ones(len(stamps), dtype=np.bool_)
    keep[list(wrong)] = False
    if texts.null_count:
        for row in np.flatnonzero(texts.is_null().to_numpy(zero_copy_only=False) & keep).tolist():
            remedy = "Check the column given with --text-field."
            bad.report(origin.row(rows[row]), "text missing", "the text is missing.", remedy)
            keep[row] = False
    if not keep.all():
        texts = texts.filter(pa.array(keep))
        stamps, spans, rows = stamps[keep], spans[keep], rows[keep]
    data, offsets = text_buffers(texts)
    return Batch(data, offsets, stamps, spans, [origin.label], rows, [origin.place])
