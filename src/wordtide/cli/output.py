"""Answers on standard output, as a table, CSV or JSON."""

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text


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
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([row[column] for column in columns] for row in rows)
        sys.stdout.write(text.getvalue())
    else:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            number = bool(rows) and isinstance(rows[0][column], (int, float))
            table.add_column(column.replace("_", " "), justify="right" if number else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(_shown(row[column])) for column in columns))
        console().print(table)


def print_json(answer: object) -> None:
    """Print any answer as JSON."""
    sys.stdout.write(json.dumps(answer, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def console() -> Console:
    """Standard output; as wide as the terminal, or as wide as it takes when it is a file."""
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) >= 10_000 or value != value else f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)
