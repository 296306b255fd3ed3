"""The one call that watches a stream: where it begins, or goes on, and with what."""

import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from pathlib import Path

import numpy as np

from wordtide.corpus.documents import BadRows
from wordtide.corpus.fields import Fields
from wordtide.corpus.source_files import STANDARD_INPUT, SourceFile
from wordtide.corpus.sources import find_corpus
from wordtide.dates import bounds
from wordtide.embeddings.posterior import Fitted
from wordtide.errors import InputError, SettingsError
from wordtide.storage.folders import real_target
from wordtide.streaming.alerts import AlertFile
from wordtide.streaming.followed_file import FollowedFile, RowSource
from wordtide.streaming.journal import JournaledInput, drop_journal
from wordtide.streaming.open_slices import OpenSlices, Standing, first_stamp
from wordtide.streaming.settings import WatchRecord, WatchSettings, record_of
from wordtide.streaming.update import filtered_model
from wordtide.streaming.watcher import Surroundings, Watcher, WatchObserver, watch_folder
from wordtide.timeline import Every

_FORMATS = ("jsonl", "csv", "tsv")


@dataclass(frozen=True)
class Reading:
    """How a stream is read.

    `format`: auto, jsonl, csv or tsv. `follow`: wait for what is still to be written to the file. `replayed`: standard input
    comes again from its first row. `forget_position`: begin anew, after the model's last slice. `skip_bad`: leave bad rows
    out; else the first is an error.
    """

    format: str = "auto"
    fields: Fields = field(default_factory=Fields)
    follow: bool = False
    replayed: bool = False
    forget_position: bool = False
    skip_bad: bool = True


def watch(
    model: str | PathLike[str],
    source: str | PathLike[str] = STANDARD_INPUT,
    settings: WatchSettings | None = None,
    *,
    reading: Reading | None = None,
    alerts: str | PathLike[str] | None = None,
    slices: int | None = None,
    observer: WatchObserver | None = None,
    threads: int | None = None,
    clock: Callable[[], float] = time.time,
) -> dict[str, int]:
    """Update a model, fitted by filtering, with the slices of a stream, and go on where the last watch of this model ended.

    `source`: a file, or "-" for standard input. `alerts`: the file that alerts are added to (standard output if not given).
    `slices`: stop after so many. Returns how many rows were bad, by reason.
    """
    settings, reading, observer = (
        settings or WatchSettings(),
        reading or Reading(),
        observer or WatchObserver(),
    )
    target = real_target(model)
    file = _source_file(source, reading.format)
    _check_options(file, reading, slices)
    every = _every(filtered_model(target), settings)
    bad = BadRows(reading.skip_bad)
    with watch_folder(target) as folder:
        fitted = filtered_model(target)  # as it is now that no other watcher changes it
        kind = "input" if file.path == STANDARD_INPUT else "file"
        record = record_of(fitted, reading.forget_position)
        standing = _standing(fitted, every, record, reading.forget_position)
        told = AlertFile(None if alerts is None else Path(alerts), folder / "told")
        with closing(_rows(file, kind, folder, reading, settings, record, bad, observer)) as rows:
            waiting = OpenSlices(folder / "slices", every, settings.patience, settings.late, standing)
            around = Surroundings(told, observer, clock, threads)
            Watcher(target, rows, kind, waiting, standing.begins, every, settings, bad, around).run(slices)
            _tell_the_rest(waiting, fitted, observer)
    return dict(sorted(bad.reasons.items()))


def _rows(
    file: SourceFile,
    kind: str,
    folder: Path,
    reading: Reading,
    settings: WatchSettings,
    record: WatchRecord | None,
    bad: BadRows,
    observer: WatchObserver,
) -> RowSource:
    """The source, at the place where it is to go on."""
    if reading.forget_position:
        drop_journal(folder)
        record = None
    if record is not None and record.source != kind:
        before = "a file" if record.source == "file" else "standard input"
        raise SettingsError(
            f"This model was watching {before}, and goes on from there.",
            "Watch the same as before; or begin with another stream, after the model's last slice: --forget-position.",
        )
    names = record.fields if record is not None else [None, None]
    fields = Fields(
        reading.fields.date or names[0], reading.fields.text or names[1], reading.fields.date_format
    )
    position = record.position if record is not None else None
    if kind == "file":
        return FollowedFile(
            Path(file.path), file.format, fields, bad, position, reading.follow, observer.tell
        )
    whole_at_end = settings.close_at_end or not reading.replayed
    return JournaledInput(folder, 0, file.format, fields, bad, position, reading.replayed, whole_at_end)


def _source_file(source: str | PathLike[str], format: str) -> SourceFile:
    files = find_corpus(os.fspath(source), format).files
    if len(files) != 1 or files[0].format not in _FORMATS or "://" in files[0].path:
        raise InputError(
            f"{source} is not a file of rows that can be watched.",
            f"Give one file, or - for standard input, and its --format if the name does not tell: {', '.join(_FORMATS)}.",
        )
    return files[0]


def _check_options(file: SourceFile, reading: Reading, slices: int | None) -> None:
    if reading.follow and file.path == STANDARD_INPUT:
        raise SettingsError("--follow is for files: standard input is followed as it is.", "Leave it out.")
    if reading.replayed and file.path != STANDARD_INPUT:
        raise SettingsError(
            "--replayed is for standard input: a file is read from where it was left.", "Leave it out."
        )
    if slices is not None and slices < 1:
        raise SettingsError(f"--slices {slices} is out of range.", "Give 1 or more.")


def _every(fitted: Fitted, settings: WatchSettings) -> Every:
    """The length of a slice."""
    text = settings.every or str((fitted.counting or {}).get("every", ""))
    if not text:
        raise SettingsError("The model does not tell how long its slices are.", "Say it: --every day.")
    every = Every.parse(text)
    if every.unit == "document":
        raise SettingsError("A slice for each document is never over.", "Give slices a length: --every day.")
    return every


def _standing(fitted: Fitted, every: Every, record: WatchRecord | None, forget: bool) -> Standing:
    """How far the watch is: as it was kept, unless the model went on since then. A new one begins with the next slice."""
    reached = _last_date(fitted)
    if record is None or record.closed_until <= reached:
        closed = first_stamp(every, int(every.ordinals(np.array([reached]))[0]) + 1)
    else:
        closed = record.closed_until
    if record is None or forget:
        return Standing(closed, closed)
    return Standing(record.begins, closed, record.seen_until, record.late_rows)


def _last_date(fitted: Fitted) -> int:
    """The last date in a model, in seconds from 1970."""
    year = float(fitted.diffusion.times[-1] if fitted.extents is None else fitted.extents[-1, 1])
    start, after = bounds(str(int(np.floor(year))))
    return round(start + (Fraction(year) - int(np.floor(year))) * (after - start))


def _tell_the_rest(waiting: OpenSlices, fitted: Fitted, observer: WatchObserver) -> None:
    if waiting.early_rows:
        last = fitted.labels[-1]
        observer.tell(f"{waiting.early_rows:,} rows from before the end of the model ({last}) were left out")
    for one in waiting.all():
        observer.tell(f"{one.label} is not over: its {one.rows:,} rows so far are kept for the next start")
