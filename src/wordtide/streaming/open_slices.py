"""Slices of a stream that are not over yet. Their rows wait on disk, not in memory.

The dates of rows decide, not the clock. A slice is over when a row comes whose date is `patience` or more after the slice's
end; a row of a slice that is over is late. So the same rows give the same slices, whenever and however they are read.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO

import numpy as np

from wordtide.dates import shown_date
from wordtide.storage.folders import explained_write_errors
from wordtide.streaming.rows import Mark, Rows
from wordtide.timeline import Every, Integers

#: What becomes of late rows.
LATE = ("drop", "fold")
_FIRST_STAMP, _LAST_STAMP = -(1 << 39), 1 << 39  # some 17,000 years before and after 1970


@lru_cache(maxsize=4096)
def first_stamp(every: Every, ordinal: int) -> int:
    """The first second of a period, found by asking for the period of seconds: right for whatever periods there are."""
    low, high = _FIRST_STAMP, _LAST_STAMP
    while low < high:
        middle = (low + high) // 2
        if int(every.ordinals(np.array([middle]))[0]) >= ordinal:
            high = middle
        else:
            low = middle + 1
    return low


@dataclass(frozen=True)
class Standing:
    """How far a watch has come. Dates are seconds from 1970.

    Rows dated before `begins` are older than the watch; their texts may be in the model, so they are left out. Those before
    `closed_until` belong to slices that are in the model: if they stand before the place `seen_until` of the stream they were
    dealt with, else they are late.
    """

    begins: int
    closed_until: int
    seen_until: int = 0
    late_rows: int = 0


@dataclass
class OpenSlice:
    """A slice whose rows are still coming: its period, the file they wait in, the first of them, and how many they are."""

    ordinal: int
    start: int
    end: int
    label: str
    path: Path
    first: Mark
    rows: int = 0


class OpenSlices:
    """Sorts rows into slices.

    Of rows in `standing` nothing is taken in twice. `early_rows` are from before the watch, `late_rows` came too late.
    """

    def __init__(self, folder: Path, every: Every, patience: int, late: str, standing: Standing) -> None:
        self.early_rows = 0
        self.late_rows = standing.late_rows
        self._folder, self._every, self._patience, self._fold = folder, every, patience, late == "fold"
        self._standing = standing
        self._closed_until = standing.closed_until
        self._open: dict[int, OpenSlice] = {}
        self._watermark: int | None = None
        self._folded = 0

    def __len__(self) -> int:
        return len(self._open)

    def take(self, rows: Rows) -> Iterator[Mark]:
        """Take in rows. Whenever one of them ends slices it is handed out before it is taken in, and `over` tells which."""
        if not len(rows):
            return
        stamps = rows.batch.stamps
        highest = np.maximum.accumulate(
            stamps if self._watermark is None else np.maximum(stamps, self._watermark)
        )
        horizon = self._every.ordinals(highest - self._patience)  # the first period that is not over
        before = int(horizon[0]) if self._watermark is None else self._horizon()
        turns = np.flatnonzero(np.diff(horizon, prepend=before))
        done = 0
        for turn in [*turns.tolist(), len(rows)]:
            self._put(rows, done, turn, before)
            done = turn
            if turn < len(rows):
                before = int(horizon[turn])
                self._watermark = int(highest[turn])
                if self.over():
                    yield rows.mark(turn)
        self._watermark = int(highest[-1])

    def over(self) -> list[OpenSlice]:
        """Slices that are over by the dates of rows, in order of time."""
        return self._before(self._horizon()) if self._watermark is not None else []

    def over_by(self, moment: float) -> list[OpenSlice]:
        """Slices whose end was before a moment, in order of time."""
        return [one for one in self.all() if one.end <= moment]

    def all(self) -> list[OpenSlice]:
        """All open slices, in order of time."""
        return [self._open[ordinal] for ordinal in sorted(self._open)]

    def next_end(self) -> int | None:
        """When the first of them ends."""
        return min((one.end for one in self._open.values()), default=None)

    def with_late_rows(self, one: OpenSlice) -> tuple[Path, int]:
        """The file of a slice, together with late rows that came since the last one, and their number; they are dated to its
        beginning."""
        late = self._late_path()
        if self._folded:
            date = _dates(np.array([one.start]), np.array([1]))[0]
            with _added_to(one.path) as file, open(late, encoding="utf-8") as texts:
                file.writelines(f'{{"date":"{date}","text":{text.rstrip()}}}\n' for text in texts)
            late.unlink()
        folded, self._folded = self._folded, 0
        return one.path, folded

    def first_needed(self, one: OpenSlice, reading: Mark) -> Mark:
        """The first row that is needed when this slice is in the model: of another open slice, or the next to read."""
        return min(
            (other.first for other in self._open.values() if other is not one),
            key=lambda m: m.place,
            default=reading,
        )

    def close(self, one: OpenSlice) -> None:
        """Forget a slice; its rows are in the model, or no good."""
        del self._open[one.ordinal]
        one.path.unlink()
        self._closed_until = max(self._closed_until, one.end)

    def _horizon(self) -> int:
        assert self._watermark is not None
        return int(self._every.ordinals(np.array([self._watermark - self._patience]))[0])

    def _before(self, ordinal: int) -> list[OpenSlice]:
        return [one for one in self.all() if one.ordinal < ordinal]

    def _put(self, rows: Rows, start: int, stop: int, horizon: int) -> None:
        """Put rows, during which no slice ends, into the files of their slices."""
        if start == stop:
            return
        stamps, places = rows.batch.stamps[start:stop], rows.places[start:stop]
        ordinals = self._every.ordinals(stamps)
        closed = stamps < self._closed_until
        early = stamps < self._standing.begins
        seen = closed & (places < self._standing.seen_until)
        late = (closed | (ordinals < horizon)) & ~seen & ~early
        self.early_rows += int(np.count_nonzero(early & ~seen))
        self._put_late(rows, np.flatnonzero(late) + start)
        good = ~late & ~seen & ~early
        for ordinal in np.unique(ordinals[good]).tolist():
            self._append(rows, ordinal, np.flatnonzero(good & (ordinals == ordinal)) + start)

    def _put_late(self, rows: Rows, chosen: Integers) -> None:
        self.late_rows += len(chosen)
        if self._fold and len(chosen):
            self._folded += len(chosen)
            with _added_to(self._late_path()) as file:
                file.writelines(f"{_text(rows, n)}\n" for n in chosen.tolist())

    def _append(self, rows: Rows, ordinal: int, chosen: Integers) -> None:
        one = self._open.get(ordinal)
        if one is None:
            path = self._folder / f"slice{ordinal:+d}.jsonl"
            start, end = first_stamp(self._every, ordinal), first_stamp(self._every, ordinal + 1)
            one = OpenSlice(ordinal, start, end, self._every.label(ordinal), path, rows.mark(int(chosen[0])))
            self._open[ordinal] = one
        dates = _dates(rows.batch.stamps[chosen], rows.batch.spans[chosen])
        with _added_to(one.path) as file:
            file.writelines(
                f'{{"date":"{date}","text":{_text(rows, n)}}}\n'
                for date, n in zip(dates, chosen.tolist(), strict=True)
            )
        one.rows += len(chosen)

    def _late_path(self) -> Path:
        return self._folder / "late"


@contextmanager
def _added_to(path: Path) -> Iterator[IO[str]]:
    with explained_write_errors(path), open(path, "a", encoding="utf-8") as file:
        yield file


def _text(rows: Rows, row: int) -> str:
    return json.dumps(rows.batch.text(row).decode("utf-8"), ensure_ascii=False)


def _dates(stamps: Integers, spans: Integers) -> list[str]:
    """Dates as they are read back to the same stamp and span."""
    moments = np.datetime_as_string(stamps.astype("datetime64[s]")).tolist()
    return [
        moment if span == 1 else shown_date(int(stamp), int(span))
        for moment, stamp, span in zip(moments, stamps, spans, strict=True)
    ]
