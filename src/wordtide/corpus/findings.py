"""Findings about a corpus, by which users can see whether it was understood.

The order in which findings are merged does not matter, so workers, portions and clusters report the same.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np

from wordtide.dates import DAY, format_date
from wordtide.types import Integers

_PRECISIONS: Final = ("second", "day", "month", "year", "several years")
_COUNTERS: Final = ("files", "encodings", "delimiters", "columns", "ignored", "precisions")
_SPANS: Final = np.array([1, DAY, 31 * DAY, 366 * DAY])
_SAMPLES: Final = 3
_SAMPLE_BYTES: Final = 400
_EXAMPLES: Final = 3
_ENDINGS_SHOWN: Final = 6
#: Scripts without spaces between words, as `inspect_texts` counts them.
SCRIPTS: Final = ("Chinese characters", "Japanese kana", "Thai, Lao, Khmer or Burmese")

#: A document in an order that does not depend on workers: its source, its row, and its stamp and span.
_Dated = tuple[str, int, int, int]


class DatedDocuments(Protocol):
    """The part of a batch of documents that findings are about."""

    @property
    def stamps(self) -> Integers: ...
    @property
    def spans(self) -> Integers: ...
    @property
    def rows(self) -> Integers: ...
    @property
    def sources(self) -> Sequence[str]: ...
    def text(self, document: int) -> bytes: ...


class Findings:
    """What is known about the files, columns and dates of a corpus. Thread-safe.

    Attributes:
        files, encodings, delimiters, columns: Numbers of files with each.
        ignored: Numbers of files in folders that were not read, by their ending.
        precisions: Numbers of documents whose dates name a second, a day, a month, a year or more.
        coarse: The number of documents whose dates are less precise than slices are long.
        ambiguous: The number of file names with several dates, or none that is plausible.
        text_bytes: Bytes of text; `script_bytes` of them are in each of `SCRIPTS`.
    """

    def __init__(self, all_names: bool = False) -> None:
        self.files: Counter[str] = Counter()
        self.encodings: Counter[str] = Counter()
        self.delimiters: Counter[str] = Counter()
        self.columns: Counter[str] = Counter()
        self.ignored: Counter[str] = Counter()
        self.precisions: Counter[str] = Counter()
        self.coarse = 0
        self.ambiguous = 0
        self.text_bytes = 0
        self.script_bytes = [0] * len(SCRIPTS)
        self._all_names = all_names
        self._earliest: _Dated | None = None
        self._latest: _Dated | None = None
        self._coarse_example: _Dated | None = None
        self._names: list[tuple[str, str, list[str]]] = []
        self._samples: list[tuple[str, int, int, int, str]] = []
        self._lock = threading.Lock()

    def add_file(
        self, kind: str, encoding: str = "", delimiter: str = "", columns: Sequence[str] = ()
    ) -> None:
        """Add a file of a kind ("text", "csv", "docx"); what is empty does not apply to it."""
        with self._lock:
            self.files[kind] += 1
            if encoding:
                self.encodings[encoding] += 1
            if delimiter:
                self.delimiters[delimiter] += 1
            if columns:
                self.columns[", ".join(columns)] += 1

    def add_ambiguous_name(self, label: str, chosen: str, others: list[str]) -> None:
        """Add a file name with several dates, or none that is plausible."""
        with self._lock:
            self.ambiguous += 1
            self._names.append((label, chosen, others))
            if not self._all_names and len(self._names) > 100:
                self._names = sorted(self._names)[:_EXAMPLES]

    def add_scripts(self, text_bytes: int, script_bytes: Integers) -> None:
        """Add to the amount of text."""
        with self._lock:
            self.text_bytes += text_bytes
            for number, amount in enumerate(script_bytes.tolist()):
                self.script_bytes[number] += amount

    def add_documents(self, batch: DatedDocuments, longest: int) -> None:
        """Add dated documents in the order of their sources and rows.

        Slices last at most `longest` seconds: dates that name a longer period are coarse.
        """
        if not len(batch.stamps):
            return
        precisions = np.bincount(np.searchsorted(_SPANS, batch.spans), minlength=len(_PRECISIONS)).tolist()
        coarse = np.flatnonzero(batch.spans > longest)
        first, last = int(batch.stamps.argmin()), int(batch.stamps.argmax())
        with self._lock:
            self.precisions.update({name: n for name, n in zip(_PRECISIONS, precisions, strict=True) if n})
            self.coarse += len(coarse)
            self._keep_dates(_dated(batch, first), _dated(batch, last))
            if len(coarse):
                found = _dated(batch, int(coarse[0]))
                self._coarse_example = min(self._coarse_example or found, found)
            for document in range(min(_SAMPLES, len(batch.stamps))):
                found = _dated(batch, document)
                if len(self._samples) < _SAMPLES or found[:2] < self._samples[-1][:2]:
                    text = batch.text(document)[:_SAMPLE_BYTES].decode("utf-8", "ignore")
                    self._samples = sorted([*self._samples, (*found, " ".join(text.split()))])[:_SAMPLES]

    def _keep_dates(self, early: _Dated, late: _Dated) -> None:
        self._earliest = min(self._earliest or early, early, key=lambda one: (one[2], one[:2]))
        self._latest = min(self._latest or late, late, key=lambda one: (-one[2], one[:2]))

    def merge(self, saved: dict[str, Any]) -> None:
        """Add the findings that `as_json` returned elsewhere."""
        with self._lock:
            for name in _COUNTERS:
                getattr(self, name).update(saved[name])
            for name in ("coarse", "ambiguous", "text_bytes"):
                setattr(self, name, getattr(self, name) + saved[name])
            self.script_bytes = [a + b for a, b in zip(self.script_bytes, saved["scripts"], strict=True)]
            if saved["earliest"]:
                self._keep_dates(tuple(saved["earliest"]), tuple(saved["latest"]))
            if saved["coarse_example"]:
                found: _Dated = tuple(saved["coarse_example"])
                self._coarse_example = min(self._coarse_example or found, found)
            self._names += [(label, chosen, others) for label, chosen, others in saved["names"]]
            samples = [*self._samples, *(tuple(sample) for sample in saved["samples"])]
            self._samples = sorted(samples)[:_SAMPLES]

    def as_json(self) -> dict[str, Any]:
        """Everything, for `merge`."""
        return {
            **{name: dict(getattr(self, name)) for name in _COUNTERS},
            **{name: getattr(self, name) for name in ("coarse", "ambiguous", "text_bytes")},
            "scripts": self.script_bytes,
            "earliest": self._earliest,
            "latest": self._latest,
            "coarse_example": self._coarse_example,
            "names": self._names if self._all_names else sorted(self._names)[:_EXAMPLES],
            "samples": self._samples,
        }

    @property
    def earliest(self) -> tuple[str, str] | None:
        """The earliest date and its document, if there is one."""
        return _shown(self._earliest)

    @property
    def latest(self) -> tuple[str, str] | None:
        """The latest date and its document, if there is one."""
        return _shown(self._latest)

    @property
    def coarse_example(self) -> tuple[str, str] | None:
        """A date that is less precise than slices are long, and its document."""
        return _shown(self._coarse_example)

    @property
    def ambiguous_names(self) -> list[tuple[str, str, list[str]]]:
        """File names with unclear dates: the name, the date chosen, and the others. All of them, or a few."""
        return sorted(self._names)[: None if self._all_names else _EXAMPLES]

    @property
    def samples(self) -> list[tuple[str, str, str]]:
        """The first documents: date, name, and the beginning of the text."""
        return [(*(_shown(sample[:4]) or ("", "")), sample[4]) for sample in self._samples]

    @property
    def unspaced_share(self) -> float:
        """The share of the text that is in scripts without spaces between words."""
        return sum(self.script_bytes) / self.text_bytes if self.text_bytes else 0.0


def merge_findings(saved: Iterable[dict[str, Any]]) -> Findings:
    """Merge the findings of several shards."""
    findings = Findings()
    for part in saved:
        findings.merge(part)
    return findings


def listed_endings(files: Mapping[str, int]) -> str:
    """The endings of files that were not read, each with its number, the most frequent first."""
    ordered = sorted(files.items(), key=lambda one: (-one[1], one[0]))[:_ENDINGS_SHOWN]
    return ", ".join(f"{ending or 'no ending'} {number:,}" for ending, number in ordered)


def _dated(batch: DatedDocuments, document: int) -> _Dated:
    source = batch.sources[document] if len(batch.sources) > 1 else batch.sources[0]
    return source, int(batch.rows[document]), int(batch.stamps[document]), int(batch.spans[document])


def _shown(found: _Dated | None) -> tuple[str, str] | None:
    if found is None:
        return None
    source, row, stamp, span = found
    return format_date(stamp, span), f"{source}:{row}" if row else source
