"""JSON Lines: one object per line.

Arrow parses blocks. A block with any irregularity is parsed again line by line, with line numbers, so that
the fast path never decides what is accepted.
"""

import codecs
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from wordtide.corpus.byte_streams import Progress, line_blocks, no_progress, open_bytes
from wordtide.corpus.columns import Fields
from wordtide.corpus.documents import (
    BadRows,
    Batch,
    Block,
    Origin,
    batch_from_columns,
    make_batch,
    report_bad_date,
)
from wordtide.corpus.source_files import SourceFile
from wordtide.dates import Stamp, parse_date
from wordtide.errors import InputError

_ARROW_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64()}


def read_json_lines(file: SourceFile, fields: Fields, bad: BadRows, progress: Progress) -> Iterator[Block]:
    """Read a file of JSON objects, one per line, in blocks."""
    settled = (
        Fields(file.portion.columns[0], file.portion.columns[1], fields.date_format) if file.portion else None
    )
    origin = _origin(file)
    for line, block in _blocks(file, progress):
        if settled is None and block.strip():
            settled = _settle(block, line, origin, fields, bad.skip)
        if settled is not None:
            yield partial(_parse, block, line, origin, settled)
    if settled is None:
        raise InputError(f"{file.shown} holds no rows.", "Check that this is the right file.")


def find_json_fields(file: SourceFile, fields: Fields, skip_bad: bool) -> tuple[str, str] | None:
    """Choose the two fields by the first rows of a file; None if it has no rows."""
    for line, block in _blocks(file, no_progress):
        if block.strip():
            return _settle(block, line, _origin(file), fields, skip_bad).names()
    return None


def _origin(file: SourceFile) -> Origin:
    return Origin(file.label, f"{file.shown}, line")


def _blocks(file: SourceFile, progress: Progress) -> Iterator[tuple[int, bytes]]:
    with open_bytes(file, progress) as stream:
        for line, block in line_blocks(stream, file):
            yield line, block.removeprefix(codecs.BOM_UTF8) if line == 1 else block


def _settle(block: bytes, first_line: int, origin: Origin, fields: Fields, skip_bad: bool) -> Fields:
    """Choose fields by the first row or, if bad rows are skipped, by the first with a date and a text."""
    if skip_bad and fields.date is not None and fields.text is not None:
        return fields
    problems: list[InputError] = []
    ignored = BadRows(skip_bad)  # bad rows are counted later
    for line_number, row in _objects(block, first_line, origin, ignored):
        try:
            return fields.found_in(list(row), origin.row(line_number))
        except InputError as problem:
            if not skip_bad:
                raise
            problems.append(problem)
    if problems:
        raise problems[0]
    raise InputError(
        f"{origin.row(first_line)}: no line from here on holds a JSON object.",
        "Give one object per line, or name the --format.",
    )


def _parse(block: bytes, first_line: int, origin: Origin, fields: Fields, bad: BadRows) -> Batch:
    table = _parse_with_arrow(block, *fields.names())
    if table is not None:
        dates, texts = (table[name].combine_chunks() for name in fields.names())
        lines = np.arange(first_line, first_line + len(table))
        quiet = BadRows(skip=True)
        batch = batch_from_columns(dates, texts, origin, lines, fields.date_format, quiet)
        if not quiet.reasons:
            return batch
    return _parse_line_by_line(block, first_line, origin, fields, bad)


def _parse_with_arrow(block: bytes, date_field: str, text_field: str) -> pa.Table | None:
    """Parse both columns of a regular block: UTF-8, one object per line, both fields in each; None for other
    blocks.
    """
    lines = _lines_of_objects(block)
    if not lines or not _is_utf8(block) or date_field == text_field:
        return None
    try:
        first = json.loads(block[: block.index(b"\n")] if lines > 1 else block)
        date_type = _ARROW_TYPES[type(first[date_field])]
        table = pj.read_json(
            pa.BufferReader(block),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=pa.schema([(date_field, date_type), (text_field, pa.string())]),
                unexpected_field_behavior="ignore",
            ),
        )
    except (pa.ArrowException, ValueError, KeyError, RecursionError):
        return None  # the slow path finds and explains the problem
    whole = len(table) == lines and table[date_field].null_count + table[text_field].null_count == 0
    return table if whole else None


def _lines_of_objects(block: bytes) -> int:
    """The number of lines, or 0 unless each begins with { and ends with }.

    Such line breaks are between objects, so if there are as many objects as lines, each line holds one.
    """
    data = np.frombuffer(block, dtype=np.uint8)
    breaks = np.flatnonzero(data == ord("\n"))
    if not block.endswith(b"\n"):
        breaks = np.append(breaks, len(block))
    begins = np.append(0, breaks[:-1] + 1)
    ends = breaks - 1
    ends -= data[ends] == ord("\r")
    proper = (data[begins] == ord("{")).all() and (data[ends] == ord("}")).all()
    return len(breaks) if proper else 0


def _is_utf8(block: bytes) -> bool:
    whole = pa.py_buffer(np.array([0, len(block)]))
    try:
        pa.Array.from_buffers(pa.large_string(), 1, [None, whole, pa.py_buffer(block)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _parse_line_by_line(block: bytes, first_line: int, origin: Origin, fields: Fields, bad: BadRows) -> Batch:
    date_field, text_field = fields.names()
    texts: list[bytes] = []
    dates: list[Stamp] = []
    lines: list[int] = []
    for line_number, row in _objects(block, first_line, origin, bad):
        place = origin.row(line_number)
        missing = [name for name in (date_field, text_field) if row.get(name) is None]
        if missing:
            what = "text missing" if missing == [text_field] else "date missing"
            remedy = f"It has: {', '.join(row) or 'nothing'}."
            bad.report(place, what, f"the field {missing[0]!r} is missing.", remedy)
            continue
        if not isinstance(row[text_field], str):
            bad.report(
                place,
                "text not a string",
                f"the field {text_field!r} is not a string.",
                "Choose another --text-field.",
            )
            continue
        try:
            dates.append(parse_date(row[date_field], fields.date_format))
        except (ValueError, OverflowError) as error:
            report_bad_date(bad, place, str(error))
            continue
        texts.append(row[text_field].encode("utf-8", "surrogatepass"))
        lines.append(line_number)
    return make_batch(texts, dates, [origin.label], lines, [origin.place])


def _objects(
    block: bytes, first_line: int, origin: Origin, bad: BadRows
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and object of each line; lines without an object are reported."""
    for line_number, line in enumerate(block.split(b"\n"), first_line):
        if line.strip():
            row = _object_on(line, origin.row(line_number), bad)
            if row is not None:
                yield line_number, row


def _object_on(line: bytes, place: str, bad: BadRows) -> dict[str, Any] | None:
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        remedy = "Convert the file to UTF-8: iconv -f LATIN1 -t UTF-8 old.jsonl > new.jsonl."
        bad.report(place, "not UTF-8", f"byte {error.start + 1} of the line is not valid UTF-8.", remedy)
        return None
    except (ValueError, RecursionError) as error:
        bad.report(place, "not JSON", f"the line is not valid JSON ({error}).", "Fix the line.")
        return None
    if not isinstance(row, dict):
        bad.report(place, "not an object", "the line is not a JSON object.", "Give one object per line.")
        return None
    return row
