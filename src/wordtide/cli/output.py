"""What commands print: answers on standard output, progress and messages on standard error.

Answers are tables, CSV or JSON.
"""

import json
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table
from rich.text import Text

from wordtide.progress import Observer
from wordtide.storage.cells import csv_text, spelled_out

_UNLIMITED = 100_000  # columns: wider than any answer
_GAP = 2  # columns between those of a table
_FAINT = "faint"  # the column that marks rows to print dimly
#: Characters that are legal in JSON and unsafe in terminals: DEL, C1 controls, bidirectional controls,
#: surrogates.
_STEERING = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Format(StrEnum):
    """How an answer is printed."""

    table = "table"
    csv = "csv"
    json = "json"


def print_rows(rows: Sequence[Mapping[str, Any]], format: Format, columns: Sequence[str]) -> None:
    """Print rows with the given columns."""
    if format is Format.json:
        print_json([{column: row[column] for column in columns} for row in rows])
    elif format is Format.csv:
        sys.stdout.write(csv_text(rows, columns))
    else:
        _print_table(
            {column: [_shown(row[column]) for row in rows] for column in columns}, _numbers(rows, columns)
        )


def print_json(answer: object) -> None:
    """Print an answer as JSON, with characters that could control a terminal escaped."""
    text = json.dumps(answer, ensure_ascii=False, indent=1, allow_nan=False)
    sys.stdout.write(_STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


class _Console(Console):
    """A console that leaves broken pipes to the command."""

    def on_broken_pipe(self) -> None:
        raise


def console() -> Console:
    """Standard output, as wide as the terminal; unlimited if it is a file."""
    return _Console(width=None if sys.stdout.isatty() else _UNLIMITED, highlight=False)


def _print_table(cells: dict[str, list[str]], numbers: set[str]) -> None:
    """Print a table that fits the terminal.

    Texts wrap or go below their row, and headers break before numbers do.
    """
    out = console()
    widths, beneath = _widths(cells, out.width), []
    if widths is None:
        beneath = [name for name in list(cells)[1:] if any(" " in cell for cell in cells[name])]
        beside = {name: column for name, column in cells.items() if name not in beneath}
        widths = _widths(beside, out.width) or _widths(beside, out.width, whole_headers=False)
        while widths is None and len(beside) > 1:  # move one column after the other below its row
            beneath.insert(0, list(beside)[-1])
            del beside[beneath[0]]
            widths = _widths(beside, out.width, whole_headers=False)
        widths = widths or _least(beside)
    if not beneath:
        out.print(_table(cells, widths, numbers, slice(None)))
        return
    for row in range(len(cells[beneath[0]])):
        out.print(_table(cells, widths, numbers, slice(row, row + 1), header=row == 0))
        texts = "; ".join(f"{_title(name)}: {cells[name][row]}" for name in beneath)
        out.print(Padding(Text(texts), (0, 0, 0, 2), expand=False))


def _table(
    cells: dict[str, list[str]], widths: dict[str, int], numbers: set[str], rows: slice, header: bool = True
) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=header)
    for name, width in widths.items():
        table.add_column(
            Text(_title(name)), justify="right" if name in numbers else "left", overflow="fold", width=width
        )
    faint = cells.get(_FAINT, [""] * len(next(iter(cells.values()))))[rows]
    for mark, *row in zip(faint, *(cells[name][rows] for name in widths), strict=True):
        table.add_row(*map(Text, row), style="dim" if mark else None)
    return table


def _widths(cells: dict[str, list[str]], room: int, whole_headers: bool = True) -> dict[str, int] | None:
    """The width of each column, with texts wrapped between words if needed; None if they do not fit."""
    widths = _least(cells)
    if whole_headers:
        widths = {name: max(widths[name], *map(cell_len, _title(name).split(" "))) for name in cells}
    wanted = {name: max(map(cell_len, (_title(name), *column))) for name, column in cells.items()}
    spare = room - sum(widths.values()) - _GAP * (len(cells) - 1)
    if spare < 0:
        return None
    for served, name in enumerate(sorted(cells, key=lambda name: wanted[name] - widths[name])):
        given = min(wanted[name] - widths[name], spare // (len(cells) - served))
        widths[name] += given
        spare -= given
    return widths


def _least(cells: dict[str, list[str]]) -> dict[str, int]:
    """The width of the longest word in each column, without the header."""
    return {
        name: max((cell_len(word) for cell in column for word in cell.split(" ")), default=0) or 1
        for name, column in cells.items()
    }


def _numbers(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> set[str]:
    """Columns with numbers, which are right-aligned."""
    return {column for column in columns if any(isinstance(row[column], (int, float)) for row in rows)}


def _title(column: str) -> str:
    return column.replace("_", " ")


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) >= 10_000 or value != value else f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return spelled_out(str(value))


class _Rate(ProgressColumn):
    """Units per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed and speed >= 1 else "", style="progress.data.speed")


class ProgressBar(Observer):
    """Draws a bar for the innermost stage if standard error is a terminal. Messages go there in any case."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._bars: list[Progress] = []
        self._lock = threading.Lock()

    def start(self, stage: str, total: int = 0, unit: str = "steps") -> None:
        """Draw a bar, and hide that of the outer stage."""
        if not self._console.is_terminal:
            return
        amount: tuple[ProgressColumn, ...] = (
            (DownloadColumn(), TransferSpeedColumn())
            if unit == "bytes"
            else (MofNCompleteColumn(), TextColumn(unit), _Rate())
        )
        bar = Progress(
            SpinnerColumn(),
            TextColumn(f"{stage:9}"),
            BarColumn(),
            TaskProgressColumn(),
            *amount,
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[status]}", markup=False),
            console=self._console,
            transient=True,
        )
        bar.add_task(stage, total=total or None, status="")
        with self._lock:
            if self._bars:
                self._bars[-1].stop()
            self._bars.append(bar)
            bar.start()

    def step(self, amount: int = 1, status: str = "") -> None:
        """Move the bar."""
        with self._lock:
            if self._bars:
                bar, task = self._bars[-1], self._bars[-1].tasks[0]
                bar.update(task.id, advance=amount, status=status or task.fields["status"])

    def message(self, text: str) -> None:
        """Print a line, above the bar if there is one."""
        self._console.print(spelled_out(text), markup=False)

    def finish(self) -> None:
        """Remove the bar and show that of the outer stage again."""
        with self._lock:
            if self._bars:
                self._bars.pop().stop()
            if self._bars:
                self._bars[-1].start()


def say(*lines: str) -> None:
    """Print lines on standard error."""
    bar = ProgressBar()
    for line in lines:
        bar.message(line)
