"""`wordtide watch`: update a model with each slice of an endless stream, and report surprising words.

One rename puts a slice into the model together with the position in the stream (`Fitted.stream`), and
everything else can be recomputed from these two. So a process that replaces a killed one arrives at the same
model. Rows of open slices wait in a folder beside the model, and nothing is read while a slice is fitted:
memory stays bounded, and a faster writer has to wait.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np

from wordtide.corpus.byte_streams import STANDARD_INPUT
from wordtide.dates import DAY
from wordtide.embeddings.folder import read_model
from wordtide.embeddings.posterior import Fitted
from wordtide.embeddings.states import Embeddings
from wordtide.errors import NothingToCountError, SettingsError
from wordtide.progress import Observer
from wordtide.spelling import counted
from wordtide.storage.folders import clean_inside, clean_up, explained_write_errors, real_target
from wordtide.storage.locks import changing, locked
from wordtide.streaming.additions import count_for_update
from wordtide.streaming.alerts import AlertFile, find_alerts
from wordtide.streaming.followed_file import find_stream, open_stream
from wordtide.streaming.open_slices import OpenSlice, OpenSlices
from wordtide.streaming.rows import RowPosition, Rows, RowSource
from wordtide.streaming.settings import WatchOptions, WatchSettings
from wordtide.streaming.update import read_filtered, update_model
from wordtide.streaming.watch_record import WatchRecord, read_record, resume_progress
from wordtide.timeline import SliceLength

_POLL_SECONDS = 1.0
_FIRST_DATE = int(np.datetime64("0001-01-01", "s").astype(np.int64))


@dataclass(frozen=True)
class SliceReport:
    """What happened to a slice of this number of rows.

    `late` and `bad` rows since the previous slice came too late or are not valid; `folded` ones are late rows
    that were added to this slice. `seconds` is the time from the row that ended the slice to its alerts.
    `problem` says why the slice is not in the model, if it is not.
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


class WatchObserver(Observer):
    """Receives messages, the progress of counting and fitting, and a report of each slice.

    This class ignores them.
    """

    def slice_closed(self, report: SliceReport) -> None:
        """Report that a slice was added to the model or left out."""


def watch(
    model: str | PathLike[str],
    source: str | PathLike[str] = STANDARD_INPUT,
    settings: WatchSettings | None = None,
    options: WatchOptions | None = None,
    observer: WatchObserver | None = None,
    clock: Callable[[], float] = time.time,
) -> dict[str, int]:
    """Update a filtering model with the slices of a stream, continuing where its last watch stopped.

    The source is a file, or "-" for standard input; only one process at a time may watch with a model.
    `clock` returns the time in seconds from 1970. Returns the number of bad rows by reason.

    Raises:
        SettingsError: The model, or the settings, cannot be used for a watch.
        InputError: The source cannot be watched, or is not the one that was watched last.
        OutputError: Another process is watching with this model.
    """
    settings, options = settings or WatchSettings(), options or WatchOptions()
    observer = observer or WatchObserver()
    target = real_target(model)
    stream = find_stream(source, options)
    every = _slice_length(read_filtered(target), settings)
    with _watch_folder(target) as folder:
        with changing(target):  # also removes the lock of a killed watch that has nothing left to do
            fitted = read_filtered(target)  # again, now that no other watcher can change it
        record = read_record(fitted, options.forget_position)
        progress = resume_progress(fitted, every, record, options.forget_position)
        alerts = AlertFile(None if options.alerts is None else Path(options.alerts), folder / "told")
        whole_at_end = settings.close_at_end or not options.replayed
        with closing(open_stream(stream, folder, options, whole_at_end, record, observer)) as rows:
            slices = OpenSlices(folder / "slices", every, settings.patience_seconds, settings.late, progress)
            watcher = Watcher(target, rows, slices, settings, alerts, observer, clock, options.threads)
            watcher.run(options.slices)
            _report_remaining_rows(slices, fitted, observer)
            return dict(sorted(rows.reader.bad.reasons.items()))


def _slice_length(fitted: Fitted, settings: WatchSettings) -> SliceLength:
    text = settings.every or str((fitted.counting or {}).get("every", ""))
    if not text:
        raise SettingsError("The model does not record the length of its slices.", "Give it: --every=day.")
    if (fitted.counting or {}).get("group_field") is not None:
        raise SettingsError(
            "The model has groups, and watch does not read the groups of rows.",
            "Use wordtide update with files, or fit a model without groups.",
        )
    every = SliceLength.parse(text)
    if every.unit == "document":
        raise SettingsError("Slices of one document never end.", "Give slices a length: --every=day.")
    return every


@contextmanager
def _watch_folder(model: Path) -> Iterator[Path]:
    """Lock the folder beside a model that holds what is not yet in the model."""
    folder = model.with_name(f"{model.name}.watch")
    with explained_write_errors(folder):
        folder.mkdir(exist_ok=True)
    with locked(
        folder / ".lock",
        f"Another process is already watching with {model}.",
        "End it first, or watch with a copy of the model.",
        folder,
    ):
        try:
            clean_up(model)
            clean_inside(folder)
            with explained_write_errors(folder):
                shutil.rmtree(folder / "slices", ignore_errors=True)
                (folder / "slices").mkdir()
            yield folder
        finally:
            shutil.rmtree(folder / "slices", ignore_errors=True)


def _report_remaining_rows(slices: OpenSlices, fitted: Fitted, observer: Observer) -> None:
    if slices.early_rows:
        observer.message(
            f"left out: {counted(slices.early_rows, 'row')} from before the end of the model "
            f"({fitted.labels[-1]})"
        )
    for one in slices.all():
        observer.message(
            f"{one.label} is still open: {counted(one.rows, 'row')} so far, kept for the next start"
        )


@dataclass
class Watcher:
    """Reads a source, closes slices that have ended, and adds each to the model."""

    model: Path
    source: RowSource
    slices: OpenSlices
    settings: WatchSettings
    alerts: AlertFile
    observer: WatchObserver
    clock: Callable[[], float] = time.time
    threads: int | None = None
    closed: int = field(default=0, init=False)
    _now: float = field(default=0.0, init=False)
    _late_reported: int = field(init=False)
    _bad_reported: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._late_reported = self.slices.late_rows

    def run(self, limit: int | None = None) -> None:
        """Continue until the stream ends or `limit` slices are closed."""
        self._write_alerts(read_model(self.model))
        while limit is None or self.closed < limit:
            found = self.source.read()
            if found is not None:
                self._add(found, limit)
            elif self.source.ended:
                break
            elif not self.source.wait(_POLL_SECONDS):
                self._close_by_clock()
        else:
            return
        if self.settings.close_at_end:
            for one in self.slices.all()[: None if limit is None else limit - self.closed]:
                self._close(one, self.source.reader.position)

    def _add(self, found: list[Rows], limit: int | None) -> None:
        for rows in found:
            for position in self.slices.add(self._without_impossible_dates(rows)):
                for one in self.slices.ended():
                    self._close(one, position)
                    if limit is not None and self.closed >= limit:
                        return

    def _without_impossible_dates(self, rows: Rows) -> Rows:
        """Drop rows of the future: one wrong date would end all slices and make all following rows late."""
        batch = rows.batch
        wrong = (batch.stamps - batch.spans // 2 > self._latest() + DAY) | (batch.stamps < _FIRST_DATE)
        for row in np.flatnonzero(wrong).tolist():
            date = np.datetime64(int(batch.stamps[row]), "s")
            self.source.reader.bad.report(
                batch.place(row),
                "impossible date",
                f"the date is more than a day after today, or before the year 1: {date}.",
                "Correct the date, and the clock of its sender.",
            )
        return rows.where(~wrong)

    def _latest(self) -> float:
        """Return the latest time that the clock has shown, so that setting it back changes nothing."""
        self._now = max(self._now, self.clock())
        return self._now

    def _close_by_clock(self) -> None:
        seconds = self.settings.close_after_seconds
        if seconds is not None:
            for one in self.slices.ended_by(self._latest() - seconds):
                self._close(one, self.source.reader.position)

    def _close(self, one: OpenSlice, next_row: RowPosition) -> None:
        """Add a slice to the model, write its alerts, and release its rows."""
        started = time.monotonic()
        folded = self.slices.fold_late_rows(one)
        needed = self.slices.first_needed(one, next_row)
        problem, alerts, admitted = "", 0, list[str]()
        try:
            admitted = self._update(one, self._record(one, needed, next_row))
        except NothingToCountError as error:  # a slice without known words must not end the watch
            problem = error.problem
        else:
            alerts = self._write_alerts(read_model(self.model))
        self.slices.close(one)
        self.source.discard_before(needed.offset)
        self.closed += 1
        late, bad = self.slices.late_rows, sum(self.source.reader.bad.reasons.values())
        self.observer.slice_closed(
            SliceReport(
                label=one.label,
                rows=one.rows,
                late=late - self._late_reported,
                folded=folded,
                bad=bad - self._bad_reported,
                alerts=alerts,
                seconds=time.monotonic() - started,
                admitted=tuple(admitted),
                problem=problem,
            )
        )
        self._late_reported, self._bad_reported = late, bad

    def _update(self, one: OpenSlice, record: WatchRecord) -> list[str]:
        """Count the rows of a slice, and update the model with them and the record.

        Returns the admitted words.
        """
        settings, observer = self.settings, self.observer
        counts = count_for_update(
            read_filtered(self.model),
            str(one.path),
            settings.grow,
            observer,
            self.threads,
            every=str(self.slices.every),
            tokenizer=settings.tokenizer,
            format="jsonl",
            date_field="date",
            text_field="text",
        )
        extra, threads = record.as_json(), self.threads
        return update_model(
            self.model, counts, growth=settings, header_extra=extra, observer=observer, threads=threads
        ).admitted

    def _record(self, one: OpenSlice, needed: RowPosition, next_row: RowPosition) -> WatchRecord:
        fields = self.source.reader.fields
        return WatchRecord(
            source=self.source.kind,
            fields=[fields.date, fields.text],
            position=self.source.saved_position(needed),
            begins=self.slices.progress.begins,
            closed_until=one.end,
            seen_until=next_row.offset,
            late_rows=self.slices.late_rows,
            slice=one.label,
            start=str(np.datetime64(one.start, "s")),
            end=str(np.datetime64(one.end, "s")),
            alerts=asdict(self.settings.alerts),
        )

    def _write_alerts(self, fitted: Fitted) -> int:
        """Write the alerts of the last slice, if a watch added it and they are incomplete.

        Returns their number.
        """
        record = read_record(fitted)
        if record is None or record.slice != fitted.labels[-1] or self.alerts.is_complete(record.slice):
            return 0
        model = Embeddings(fitted, self.model)
        lines = find_alerts(model, record.alert_rule(), record.start, record.end)
        self.alerts.write(record.slice, lines)
        return len(lines)
