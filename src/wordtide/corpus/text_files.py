"""Text files and office documents, one document each, dated by their name or that of a folder above."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import PurePath
from typing import NamedTuple

from wordtide.corpus.byte_streams import Progress, SourceFile, open_bytes
from wordtide.corpus.documents import BadRows, Batch, Block, make_batch
from wordtide.corpus.encodings import is_binary, to_utf8
from wordtide.corpus.office_files import NAMES, recognize, text_of
from wordtide.dates import ParsedDate, date_of_parts, parse_date
from wordtide.errors import InputError
from wordtide.written_dates import DAY_FIRST, MONTH_FIRST, FoundDate, dates_in_name

_BLOCK_BYTES = 4 << 20
#: Three lines of a table of n-grams of either version: up to five words, then years with two counts.
_NGRAM_LINES = re.compile(rb"(?:\S+(?: \S+){0,4}(?:\t\d{4}\t\d+\t\d+|(?:\t\d{4},\d+,\d+)+)\r?\n){3}")


def read_text_files(
    files: Sequence[SourceFile], date_format: str | None, progress: Progress
) -> Iterator[Block]:
    """Read text files in blocks of several small files or one large one."""
    block: list[SourceFile] = []
    block_bytes = 0
    for file in files:
        block.append(file)
        block_bytes += file.byte_count()
        if block_bytes >= _BLOCK_BYTES:
            yield partial(_parse, block, date_format, progress)
            block, block_bytes = [], 0
    if block:
        yield partial(_parse, block, date_format, progress)


class NameDate(NamedTuple):
    """The date in the name of a file, as it is written, and other dates that the name may mean.

    A year outside 1400 to 2100, or after a word such as "MS", is not plausible.
    """

    stamp: ParsedDate
    text: str
    others: list[str]
    is_plausible: bool = True


def date_of_file(label: str, date_format: str | None) -> NameDate | None:
    """Find the date in the last part of a path that has one: 1862-12-01_lincoln.txt, or 1862/lincoln.txt.

    A number that is hardly a year (MS 1234.txt) counts only if no folder has a date.
    """
    order = date_format if date_format in (DAY_FIRST, MONTH_FIRST) else None
    parts = PurePath(label).parts
    if date_format is not None and order is None:
        stamps = (_date_by_format(part, date_format) for part in reversed(parts))
        return next((NameDate(stamp, "", []) for stamp in stamps if stamp is not None), None)
    found = [dates for part in reversed(parts) if (dates := dates_in_name(part, order))]
    best = next((dates for dates in found if dates[0].is_plausible), found[0] if found else None)
    if best is None:
        return None
    stamp = date_of_parts(best[0].parts)
    others = [other.text for other in best[1:] if not _agrees(other, stamp)]
    return NameDate(stamp, best[0].text, [*best[0].meanings, *others], best[0].is_plausible)


def _agrees(other: FoundDate, stamp: ParsedDate) -> bool:
    """Whether another date agrees: it names the same period or a longer one around it."""
    middle, span = date_of_parts(other.parts)
    return abs(middle - stamp[0]) <= span // 2 and span >= stamp[1]


def _date_by_format(name: str, date_format: str) -> ParsedDate | None:
    """Parse a name, with or without some of its endings: 01.12.1862.text.gz matches %d.%m.%Y."""
    while name:
        try:
            return parse_date(name, date_format)
        except (ValueError, OverflowError):
            name = name.rpartition(".")[0]
    return None


def _parse(files: Sequence[SourceFile], date_format: str | None, progress: Progress, bad: BadRows) -> Batch:
    texts: list[bytes] = []
    stamps: list[ParsedDate] = []
    dated: list[SourceFile] = []
    for file in files:
        date = date_of_file(file.label, date_format)
        if date is None:
            _report_undated(file.path, date_format, bad)
            continue
        text = _read_text(file, progress, bad)
        if text is None:
            continue
        if date.others or not date.is_plausible:
            bad.findings.add_ambiguous_name(file.label, date.text, date.others)
        texts.append(text)
        stamps.append(date.stamp)
        dated.append(file)
    labels, paths = [file.label for file in dated], [file.path for file in dated]
    return make_batch(texts, stamps, labels, [0] * len(dated), paths)


def _read_text(file: SourceFile, progress: Progress, bad: BadRows) -> bytes | None:
    """Read the text of a file in UTF-8, whatever its encoding; None if it is bad."""
    with open_bytes(file, progress) as stream:
        data = stream.read()
    if _NGRAM_LINES.match(data, 0, _BLOCK_BYTES):
        raise InputError(f"{file.shown} is a table of n-grams, not a text.", "Count it with --format ngrams.")
    kind = recognize(data)
    if kind == "text" and not file.encoding and is_binary(data):
        kind = "binary"
    if kind != "text":
        try:
            text = text_of(data, kind, file)
        except InputError as error:
            detail = "the file " + error.problem.removeprefix(f"{file.shown} ")
            bad.report(file.shown, NAMES[kind], detail, error.remedy)
            return None
        bad.findings.add_file(kind)
        return text
    try:
        text, encoding = to_utf8(data, file)
    except ValueError as error:
        bad.report(
            file.shown, "wrong encoding", f"{error}.", "Name the right one: --encoding cp1252, for instance."
        )
        return None
    bad.findings.add_file("text", encoding)
    return text


def _report_undated(path: str, date_format: str | None, bad: BadRows) -> None:
    if date_format is None:
        reason, detail = "date missing", "there is no date in the file's name."
        remedy = (
            "Name the file like 1862-12-01_lincoln.txt or 1862.txt, "
            "or give the pattern of its name with --date-format."
        )
    else:
        reason, detail = (
            "date not understood",
            f"the file's name does not fit the date format {date_format!r}.",
        )
        remedy = (
            "The whole name of the file without its ending, or of a folder above it must fit --date-format."
        )
    bad.report(path, reason, detail, remedy)
