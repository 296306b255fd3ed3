"""Cells that no spreadsheet takes for a formula, and text that cannot control a terminal.

Spreadsheets evaluate a cell that begins with = + - or @, also after a tab or a line break. Such text is
prefixed with an apostrophe, which marks it as text. Plain numbers are harmless and stay as they are. Control
characters, which could control a terminal, are spelled out (\\x1b). JSON needs neither and stays exact.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from wordtide.errors import FolderError

#: Leading apostrophes count: one more is added, so that removing one restores the text.
#: Spreadsheets accept the wide forms, too.
_FORMULA: Final = re.compile(r"'*\s*[=+\-@＝＋－＠]|'*[\t\n]")  # noqa: RUF001
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
#: Control characters except tab and line feed, bidirectional controls, and surrogates.
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def spelled_out(text: str) -> str:
    r"""Replace control characters, except tab and line feed, by their escape sequences.

    >>> print(spelled_out("\x1b[2Jgone"))
    \x1b[2Jgone
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def is_plain(text: str) -> bool:
    """Whether a text has no control characters."""
    return _UNSEEN.search(text) is None


def read_lines(path: Path, largest: int, remedy: str) -> list[str]:
    """Read the lines of a file that wordtide wrote.

    Raises:
        FolderError: The file has more than `largest` bytes, cannot be read, or holds control characters.
    """
    try:
        if not path.is_file() or path.stat().st_size > largest:  # reading a pipe would block forever
            raise FolderError(f"{path} is not a file of lines, or too large for one.", remedy)
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FolderError(f"{path} cannot be read: {error}", remedy) from error
    if not is_plain(text):
        raise FolderError(f"{path} is damaged: it holds control characters.", remedy)
    return text.split("\n")[:-1]


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines that `read_lines` can read."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def text_cell(text: str) -> str:
    """A text as a cell, with an apostrophe before what a spreadsheet would evaluate.

    >>> text_cell("=cmd|'/c calc'!A1"), text_cell("steam"), text_cell("-44")
    ("'=cmd|'/c calc'!A1", 'steam', '-44')
    """
    text = spelled_out(text)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def text_of_cell(cell: str) -> str:
    """The text of a cell made by `text_cell`. Control characters stay spelled out.

    >>> text_of_cell(text_cell("@name")), text_of_cell(text_cell("'tis"))
    ('@name', "'tis")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Rows as CSV with a header. None becomes an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(text_cell, columns))
    writer.writerows([_cell(row[column]) for column in columns] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    return text_cell(value) if isinstance(value, str) else value
