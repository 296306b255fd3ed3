"""JSON Lines, one object per line, and files with one JSON array of objects.

Arrow parses blocks. A block with any irregularity is parsed again line by line, with line numbers, so that
the fast path never decides what is accepted.
"""

import codecs
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from wordtide.compiled import integer, kernel
from wordtide.corpus.byte_streams import Progress, Readable, SourceFile, line_blocks
from wordtide.corpus.columns import Fields
from wordtide.corpus.documents import (
    ENCODING_REMEDY,
    BadRows,
    Batch,
    Block,
    Origin,
    RowCollector,
    RowColumns,
    batch_from_columns,
)
from wordtide.corpus.encodings import TextStream, open_text
from wordtide.errors import InputError
from wordtide.types import Bytes, Integers

#: Places in a file with an array: before it, inside, after its end, and in text that follows the end.
_BEFORE, _INSIDE, _AFTER, _BEYOND = range(4)
_ARROW_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64()}


def read_json_lines(file: SourceFile, fields: Fields, bad: BadRows, progress: Progress) -> Iterator[Block]:
    """Read a file of JSON objects, one per line or in one array, in blocks."""
    settled = (
        replace(fields, date=file.portion.columns[0], text=file.portion.columns[1]) if file.portion else None
    )
    with open_text(file, progress) as text:
        in_array = is_array(text.head)
        origin = _origin(file, in_array)
        for line, block in _blocks(text, file):
            if settled is None and block.strip():
                settled = _choose_fields(block, line, origin, fields, bad.skip)
            if settled is not None:
                yield partial(_parse, block, line, origin, settled)
    if settled is not None and (file.portion is None or file.portion.start == 0):
        bad.findings.add_file("JSON array" if in_array else "jsonl", text.encoding, columns=settled.columns())
    if settled is None:
        raise InputError(f"{file.shown} holds no rows.", "Check that this is the right file.")


def find_json_fields(file: SourceFile, fields: Fields, skip_bad: bool) -> tuple[str, str] | None:
    """Choose the two fields by the first rows of a file; None if it has no rows."""
    with open_text(file) as text:
        for line, block in _blocks(text, file):
            if block.strip():
                return _choose_fields(block, line, _origin(file, False), fields, skip_bad).names()
    return None


def _origin(file: SourceFile, in_array: bool) -> Origin:
    return Origin(file.label, f"{file.shown}, {'item' if in_array else 'line'}")


def _blocks(text: TextStream, file: SourceFile) -> Iterator[tuple[int, bytes]]:
    stream = _ArrayItems(text.stream, file) if is_array(text.head) else text.stream
    for line, block in line_blocks(stream, file):
        yield line, block.removeprefix(codecs.BOM_UTF8) if line == 1 else block


def is_array(head: bytes) -> bool:
    """Whether a file that begins like this holds one JSON array instead of JSON Lines."""
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if not start.startswith(b"["):
        return False
    line, _, rest = start.partition(b"\n")
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return not rest.strip()  # a row that is an array, among others


class _ArrayItems:
    """The items of a JSON array as lines, read piece by piece: memory does not grow with the array."""

    def __init__(self, stream: Readable, file: SourceFile) -> None:
        self._stream = stream
        self._shown = file.shown
        self._state = np.zeros(4, dtype=np.int64)

    def read(self, size: int = -1, /) -> bytes:
        """Read the next lines."""
        while piece := self._stream.read(size):
            if self._state[0] == _BEFORE:
                piece = piece.removeprefix(codecs.BOM_UTF8)
            lines = np.empty(len(piece), dtype=np.uint8)
            length = find_items(np.frombuffer(piece, dtype=np.uint8), lines, self._state)
            if self._state[0] == _BEYOND:
                raise InputError(
                    f"{self._shown}: text follows the end of the array.",
                    "Give one array, or one object per line.",
                )
            if length:
                return lines[:length].tobytes()
        if self._state[0] != _AFTER:
            raise InputError(f"{self._shown} is cut short: the array is not closed.", "Fetch the file again.")
        return b""


@kernel
def find_items(data: Bytes, lines: Bytes, state: Integers) -> int:
    """Write the items of an array as lines; returns the number of bytes.

    A line break outside the items is dropped, one inside an item becomes a space. `state` is kept from piece
    to piece: where in the file, the depth of brackets, whether in a string, and whether after a backslash.
    """
    place, depth, in_string, escaped = state[0], state[1], state[2], state[3]
    filled = 0
    for byte in data:
        space = byte == 0x20 or byte == 0x0A or byte == 0x0D or byte == 0x09
        if in_string:
            in_string = escaped or byte != 0x22
            escaped = byte == 0x5C and not escaped
        elif place != _INSIDE:
            if not space:
                place = _INSIDE if place == _BEFORE else _BEYOND
            continue
        elif depth == 0 and (space or byte == 0x5D):  # ]
            if not space:
                place = integer(_AFTER)
            continue
        elif depth == 0 and byte == 0x2C:  # a comma
            byte = np.uint8(0x0A)
            lines[filled] = byte
            filled += 1
            continue
        elif byte == 0x22:
            in_string = integer(1)
        elif byte == 0x7B or byte == 0x5B:  # { [
            depth += 1
        elif byte == 0x7D or byte == 0x5D:  # } ]
            depth -= 1
        lines[filled] = 0x20 if byte == 0x0A or byte == 0x0D else byte
        filled += 1
    state[0], state[1], state[2], state[3] = place, depth, in_string, escaped
    return filled


def _choose_fields(block: bytes, first_line: int, origin: Origin, fields: Fields, skip_bad: bool) -> Fields:
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
    table = _parse_with_arrow(block, fields.columns())
    if table is not None:
        columns = RowColumns(*(table[name].combine_chunks() for name in fields.columns()))
        lines = np.arange(first_line, first_line + len(table))
        quiet = BadRows(skip=True)
        batch = batch_from_columns(columns, origin, lines, fields.date_format, quiet)
        if not quiet.reasons:
            return batch
    return _parse_line_by_line(block, first_line, origin, fields, bad)


def _parse_with_arrow(block: bytes, columns: tuple[str, ...]) -> pa.Table | None:
    """Parse the columns of a block; None unless it is UTF-8, one object per line, with all fields."""
    lines = _lines_of_objects(block)
    if not lines or not _is_utf8(block) or len(set(columns)) < len(columns):
        return None
    try:
        first = json.loads(block[: block.index(b"\n")] if lines > 1 else block)
        types = {name: _ARROW_TYPES[type(first[name])] for name in columns}
        types[columns[1]] = pa.string()
        table = pj.read_json(
            pa.BufferReader(block),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=pa.schema(types),
                unexpected_field_behavior="ignore",
            ),
        )
    except (pa.ArrowException, ValueError, KeyError, RecursionError):
        return None  # the slow path finds and explains the problem
    whole = len(table) == lines and not any(table[name].null_count for name in columns)
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
    rows = RowCollector(origin, fields.date_format, fields.group is not None, bad)
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
        text = row[text_field].encode("utf-8", "surrogatepass")
        group = None if fields.group is None else row.get(fields.group)
        rows.add(line_number, row[date_field], text, group)
    return rows.batch()


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
        detail = f"byte {error.start + 1} of the line is not valid UTF-8."
        bad.report(place, "not UTF-8", detail, ENCODING_REMEDY)
        return None
    except (ValueError, RecursionError) as error:
        bad.report(place, "not JSON", f"the line is not valid JSON ({error}).", "Fix the line.")
        return None
    if not isinstance(row, dict):
        bad.report(place, "not an object", "the line is not a JSON object.", "Give one object per line.")
        return None
    return row
