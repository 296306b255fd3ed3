"""Slices of a stream that are still open. Their rows wait on disk, not in memory.

The dates of rows decide, not the clock. A slice ends when a row arrives that is dated `patience` or more
after the end of the slice; rows of ended slices are late. So the same rows give the same slices, at whatever
speed they are read.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO

import numpy as np

from wordtide.dates import format_date
from wordtide.storage.folders import explained_write_errors
from wordtide.streaming.rows import RowPosition, Rows
from wordtide.timeline import SliceLength
from wordtide.types import Integers

_FIRST_STAMP, _LAST_STAMP = -(1 << 39), 1 << 39  # about 17,000 years before and after 1970


@lru_cache(maxsize=4096)
def period_start(every: SliceLength, ordinal: int) -> int:
    """Find the first second of a period by bisection, which is right for any kind of period."""
    low, high = _FIRST_STAMP, _LAST_STAMP
    while low < high:
        middle = (low + high) // 2
        if int(every.ordinals(np.array([middle]))[0]) >= ordinal:
            high = middle
        else:
            low = middle + 1
    return low


@dataclass(frozen=True)
class WatchProgress:
    """How far a watch has come. Dates are in seconds from 1970.

    Rows dated before `begins` are older than the watch; the model may contain their texts, so they are
    dropped. Rows dated before `closed_until` belong to slices that the model contains. Of these, rows before
    the offset `seen_until` of the stream have been handled, and later ones are late.
    """

    begins: int
    closed_until: int
    seen_until: int = 0
    late_rows: int = 0


@dataclass
class OpenSlice:
    """A slice whose rows are still arriving, with the file they wait in and the position of the first one."""

    ordinal: int
    start: int
    end: int
    label: str
    path: Path
    first: RowPosition
    rows: int = 0


class OpenSlices:
    """Sorts rows into slices, each row once.

    `early_rows` counts rows from before the watch, `late_rows` those that came too late.
    """

    def __init__(
        self, folder: Path, every: SliceLength, patience: int, late: str, progress: WatchProgress
    ) -> None:
        self.every = every
        self.progress = progress
        self.early_rows = 0
        self.late_rows = progress.late_rows
        self._folder, self._patience, self._fold = folder, patience, late == "fold"
        self._closed_until = progress.closed_until
        self._open: dict[int, OpenSlice] = {}
        self._watermark: int | None = None  # the latest date so far
        self._to_fold = 0
        self._late_path = folder / "late"

    def add(self, rows: Rows) -> Iterator[RowPosition]:
        """Add rows.

        Before a row that ends slices is added, yields its position; `ended` then lists these slices.
        """
        if not len(rows):
            return
        stamps = rows.batch.stamps
        highest = np.maximum.accumulate(
            stamps if self._watermark is None else np.maximum(stamps, self._watermark)
        )
        horizon = self.every.ordinals(highest - self._patience)  # the first period that has not ended
        before = int(horizon[0]) if self._watermark is None else self._horizon()
        turns = np.flatnonzero(np.diff(horizon, prepend=before))
        done = 0
        for turn in [*turns.tolist(), len(rows)]:
            self._sort(rows, done, turn, before)
            done = turn
            if turn < len(rows):
                before = int(horizon[turn])
                self._watermark = int(highest[turn])
                if self.ended():
                    yield rows.position(turn)
        self._watermark = int(highest[-1])

    def all(self) -> list[OpenSlice]:
        """Return all open slices in order of time."""
        return [self._open[ordinal] for ordinal in sorted(self._open)]

    def ended(self) -> list[OpenSlice]:
        """Return the slices that have ended by the dates of rows, in order of time."""
        if self._watermark is None:
            return []
        horizon = self._horizon()
        return [one for one in self.all() if one.ordinal < horizon]

    def ended_by(self, moment: float) -> list[OpenSlice]:
        """Return the slices whose period ended by a moment, in order of time."""
        return [one for one in self.all() if one.end <= moment]

    def fold_late_rows(self, one: OpenSlice) -> int:
        """Add the late rows since the previous slice to this one, dated to its start; returns how many."""
        if self._to_fold:
            date = _format_dates(np.array([one.start]), np.array([1]))[0]
            with _appending(one.path) as file, open(self._late_path, encoding="utf-8") as texts:
                file.writelines(f'{{"date":"{date}","text":{text.rstrip()}}}\n' for text in texts)
            self._late_path.unlink()
        folded, self._to_fold = self._to_fold, 0
        return folded

    def first_needed(self, one: OpenSlice, next_row: RowPosition) -> RowPosition:
        """Return the first row that is still needed once this slice is in the model."""
        others = (other.first for other in self._open.values() if other is not one)
        return min(others, key=lambda position: position.offset, default=next_row)

    def close(self, one: OpenSlice) -> None:
        """Forget a slice whose rows are in the model or of no use."""
        del self._open[one.ordinal]
        one.path.unlink()
        self._closed_until = max(self._closed_until, one.end)

    def _horizon(self) -> int:
        """Return the first period that has not ended."""
        assert self._watermark is not None
        return int(self.every.ordinals(np.array([self._watermark - self._patience]))[0])

    def _sort(self, rows: Rows, start: int, stop: int, horizon: int) -> None:
        """Append rows among which no slice ends to the files of their slices."""
        if start == stop:
            return
        stamps, offsets = rows.batch.stamps[start:stop], rows.offsets[start:stop]
        ordinals = self.every.ordinals(stamps)
        closed = stamps < self._closed_until
        early = stamps < self.progress.begins
        seen = closed & (offsets < self.progress.seen_until)
        late = (closed | (ordinals < horizon)) & ~seen & ~early
        self.early_rows += int(np.count_nonzero(early & ~seen))
        self._keep_late(rows, np.flatnonzero(late) + start)
        good = ~late & ~seen & ~early
        for ordinal in np.unique(ordinals[good]).tolist():
            self._append(rows, ordinal, np.flatnonzero(good & (ordinals == ordinal)) + start)

    def _keep_late(self, rows: Rows, chosen: Integers) -> None:
        self.late_rows += len(chosen)
        if self._fold and len(chosen):
            self._to_fold += len(chosen)
            with _appending(self._late_path) as file:
                file.writelines(f"{_json_text(rows, n)}\n" for n in chosen.tolist())

    def _append(self, rows: Rows, ordinal: int, chosen: Integers) -> None:
        one = self._open.get(ordinal)
        if one is None:
            path = self._folder / f"slice{ordinal:+d}.jsonl"
            start, end = period_start(self.every, ordinal), period_start(self.every, ordinal + 1)
            label, first = self.every.label(ordinal), rows.position(int(chosen[0]))
            one = self._open[ordinal] = OpenSlice(ordinal, start, end, label, path, first)
        dates = _format_dates(rows.batch.stamps[chosen], rows.batch.spans[chosen])
        with _appending(one.path) as file:
            file.writelines(
                f'{{"date":"{date}","text":{_json_text(rows, n)}}}\n'
                for date, n in zip(dates, chosen.tolist(), strict=True)
            )
        one.rows += len(chosen)


@contextmanager
def _appending(path: Path) -> Iterator[IO[str]]:
    with explained_write_errors(path), open(path, "a", encoding="utf-8") as file:
        yield file


def _json_text(rows: Rows, row: int) -> str:
    return json.dumps(rows.batch.text(row).decode("utf-8"), ensure_ascii=False)


def _format_dates(stamps: Integers, spans: Integers) -> list[str]:
    """Write dates so that they are read back with the same stamp and span."""
    moments = np.datetime_as_string(stamps.astype("datetime64[s]")).tolist()
    return [
        moment if span == 1 else format_date(int(stamp), int(span))
        for moment, stamp, span in zip(moments, stamps, spans, strict=True)
    ]
