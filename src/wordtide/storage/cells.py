"""Cells of text in CSV and TSV, so that no spreadsheet takes one for a formula and no terminal one for a command.

Spreadsheets run a cell that begins with = + - or @, also after a tab or a line break. Such a text gets an apostrophe before
it, which they take for "this is text". Text that is a plain number cannot do anything and stays as it is; so do numbers.
Control characters, with which a text could steer a terminal, are spelled out (\\x1b). JSON has neither: it stays exact.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

#: Some apostrophes may stand before it already: one more is put there, so that taking one away gives the text back.
_FORMULA: Final = re.compile(r"'*\s*[=+\-@＝＋－＠]|'*[\t\n]")  # noqa: RUF001 (spreadsheets take the wide forms, too)
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
#: Control characters but for tab and line feed, what turns the direction of writing round, and halves of characters.
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def spelled_out(text: str) -> str:
    r"""Text in which nothing but characters, spaces, tabs and line feeds is left: what else there was is spelled out.

    >>> print(spelled_out("\x1b[2Jgone"))
    \x1b[2Jgone
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def is_plain(text: str) -> bool:
    """Can this be shown as it is?"""
    return _UNSEEN.search(text) is None


def text_cell(text: str) -> str:
    """A text as a cell: an apostrophe before what a spreadsheet would run.

    >>> text_cell("=cmd|'/c calc'!A1"), text_cell("steam"), text_cell("-44")
    ("'=cmd|'/c calc'!A1", 'steam', '-44')
    """
    text = spelled_out(text)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def text_of_cell(cell: str) -> str:
    """What `text_cell` was given, but for control characters, which stay spelled out.

    >>> text_of_cell(text_cell("@name")), text_of_cell(text_cell("'tis"))
    ('@name', "'tis")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Rows as CSV with a header; what is None stays empty, and numbers come back as they were."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(text_cell, columns))
    writer.writerows([_cell(row[column]) for column in columns] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    return text_cell(value) if isinstance(value, str) else value
