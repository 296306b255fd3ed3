"""`watch`: an endless stream of dated texts updates a model slice by slice, and words that surprise are told.

One rename puts a slice into the model together with the position in the stream (`Fitted.stream`); everything else can be made
again from these two. So a process that is killed at any moment is followed by one that comes to the same model. Rows of slices
that are not over wait in a folder beside the model, and nothing is read while a slice is fitted: memory stays bounded, and a
writer that is faster has to wait.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from wordtide.corpus.documents import BadRows
from wordtide.counts.workers import Observer
from wordtide.dates import DAY
from wordtide.embeddings.embeddings import DynamicEmbeddings
from wordtide.embeddings.folder import read_model
from wordtide.embeddings.posterior import Fitted
from wordtide.errors import NothingToCountError
from wordtide.inference.training import FitObserver
from wordtide.storage.folders import clean_up, explained_write_errors
from wordtide.storage.locks import take_lock
from wordtide.streaming.alerts import AlertFile, alerts_of, rule_of
from wordtide.streaming.followed_file import RowSource
from wordtide.streaming.open_slices import OpenSlice, OpenSlices
from wordtide.streaming.rows import Mark, Rows
from wordtide.streaming.settings import WatchRecord, WatchSettings, record_of
from wordtide.streaming.update import filtered_model, update_model
from wordtide.streaming.update_sources import counts_for
from wordtide.timeline import Every

_POLL_SECONDS = 1.0
_FIRST_DATE = int(np.datetime64("0001-01-01", "s").astype(np.int64))


@dataclass(frozen=True)
class SliceReport:
    """What became of a slice.

    `late` and `bad` rows since the slice before, `folded`: late rows that were taken in with this one. `alerts`: how many.
    `seconds`: from the row that ended the slice to the alerts. `problem`: why it is not in the model, if it is not.
    """

    label: str
    rows: int
    late: int
    folded: int
    bad: int
    alerts: int
    seconds: float
    admitted: tuple[str, ...] = ()
    problem: str = ""


class WatchObserver:
    """Hears how a watch goes on. This one is deaf."""

    counting: Observer | None = None
    fitting: FitObserver | None = None

    def tell(self, message: str) -> None:
        """Something the user should know."""

    def closed(self, report: SliceReport) -> None:
        """A slice was closed."""


@dataclass(frozen=True)
class Surroundings:
    """What a watch needs beside its settings, none of which decides the model."""

    alerts: AlertFile
    observer: WatchObserver
    clock: Callable[[], float] = time.time
    threads: int | None = None


@contextmanager
def watch_folder(model: Path) -> Iterator[Path]:
    """The folder beside a model for what is not yet in it. Only one watcher at a time may have it."""
    folder = model.with_name(f"{model.name}.watch")
    with explained_write_errors(folder):
        folder.mkdir(exist_ok=True)
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        take_lock(
            held,
            f"Another process is watching for {model} already.",
            "End it first, or watch with a copy of the model.",
        )
        try:
            clean_up(model)
            with explained_write_errors(folder):
                shutil.rmtree(folder / "slices", ignore_errors=True)
                (folder / "slices").mkdir()
            yield folder
        finally:
            shutil.rmtree(folder / "slices", ignore_errors=True)
    finally:
        os.close(held)


class Watcher:
    """Reads a source, closes slices that are over, and puts each into the model."""

    def __init__(
        self,
        model: Path,
        source: RowSource,
        source_kind: str,
        slices: OpenSlices,
        begins: int,
        every: Every,
        settings: WatchSettings,
        bad: BadRows,
        around: Surroundings,
    ) -> None:
        self._model, self._source, self._source_kind, self._slices = model, source, source_kind, slices
        self._begins, self._every, self._settings, self._bad, self._around = (
            begins,
            every,
            settings,
            bad,
            around,
        )
        self._now = 0.0
        self._late_told, self._bad_told = slices.late_rows, 0
        self.closed = 0

    def run(self, limit: int | None = None) -> None:
        """Go on until the stream ends or `limit` slices were closed."""
        self.tell_last_slice(read_model(self._model))
        while limit is None or self.closed < limit:
            found = self._source.read()
            if found is not None:
                self._take(found, limit)
            elif self._source.ended:
                break
            elif not self._source.wait(_POLL_SECONDS):
                self._close_by_clock()
        else:
            return
        if self._settings.close_at_end:
            for one in self._slices.all()[: None if limit is None else limit - self.closed]:
                self._close(one, self._source.cutter.reading)

    def tell_last_slice(self, fitted: Fitted) -> int:
        """Write the alerts of the model's last slice, if a watch put it there and has not told them all; how many there are."""
        record = record_of(fitted)
        if record is None or record.slice != fitted.labels[-1] or self._around.alerts.is_told(record.slice):
            return 0
        model = DynamicEmbeddings(fitted, self._model)
        lines = alerts_of(model, rule_of(record.alerts), record.start, record.end)
        self._around.alerts.write(record.slice, lines)
        return len(lines)

    def _take(self, found: list[Rows], limit: int | None) -> None:
        for rows in found:
            for mark in self._slices.take(self._plausible(rows)):
                for one in self._slices.over():
                    self._close(one, mark)
                    if limit is not None and self.closed >= limit:
                        return

    def _plausible(self, rows: Rows) -> Rows:
        """Rows without those of the future: one wrong date would end all slices and make everything after it late."""
        batch = rows.batch
        wrong = (batch.stamps - batch.spans // 2 > self._latest() + DAY) | (batch.stamps < _FIRST_DATE)
        for row in np.flatnonzero(wrong).tolist():
            detail = f"the date is more than a day after today, or before the year 1: {np.datetime64(int(batch.stamps[row]), 's')}."
            self._bad.report(
                batch.place(row), "date that cannot be", detail, "Mend the date, and the clock of its sender."
            )
        return rows.where(~wrong)

    def _latest(self) -> float:
        """The clock's time; a clock that is put back stands still until it is there again."""
        self._now = max(self._now, self._around.clock())
        return self._now

    def _close_by_clock(self) -> None:
        if self._settings.close_after is not None:
            for one in self._slices.over_by(self._latest() - self._settings.close_after):
                self._close(one, self._source.cutter.reading)

    def _close(self, one: OpenSlice, reading: Mark) -> None:
        """Put a slice into the model, and all that follows from it; `reading` is the next row to read."""
        started = time.monotonic()
        path, folded = self._slices.with_late_rows(one)
        needed = self._slices.first_needed(one, reading)
        problem, alerts = "", 0
        admitted: tuple[str, ...] = ()
        try:
            admitted = self._update(one, path, self._record(one, needed, reading))
        except NothingToCountError as error:  # it must not end the watch
            problem = error.problem
        else:
            alerts = self.tell_last_slice(read_model(self._model))
        self._slices.close(one)
        self._source.taken(needed.place)
        self.closed += 1
        late, bad = self._slices.late_rows, sum(self._bad.reasons.values())
        seconds = time.monotonic() - started
        since = (late - self._late_told, folded, bad - self._bad_told)
        self._late_told, self._bad_told = late, bad
        self._around.observer.closed(
            SliceReport(one.label, one.rows, *since, alerts, seconds, admitted, problem)
        )

    def _update(self, one: OpenSlice, path: Path, record: WatchRecord) -> tuple[str, ...]:
        """Count the rows of a slice and update the model with them and the record; the words that were let in."""
        settings, observer = self._settings, self._around.observer
        counts = counts_for(
            filtered_model(self._model),
            str(path),
            settings.grow,
            observer.counting,
            self._around.threads,
            every=str(self._every),
            tokenizer=settings.tokenizer,
            format="jsonl",
            date_field="date",
            text_field="text",
        )
        report = update_model(
            self._model,
            counts,
            grow=settings.grow,
            grow_min_count=settings.grow_min_count,
            header_extra=record.as_json(),
            observer=observer.fitting,
            threads=self._around.threads,
        )
        return tuple(report.admitted)

    def _record(self, one: OpenSlice, needed: Mark, reading: Mark) -> WatchRecord:
        fields = self._source.cutter.fields
        return WatchRecord(
            source=self._source_kind,
            fields=[fields.date, fields.text],
            position=self._source.position(needed),
            begins=self._begins,
            closed_until=one.end,
            seen_until=reading.place,
            late_rows=self._slices.late_rows,
            slice=one.label,
            start=str(np.datetime64(one.start, "s")),
            end=str(np.datetime64(one.end, "s")),
            alerts=asdict(self._settings.alerts),
        )
