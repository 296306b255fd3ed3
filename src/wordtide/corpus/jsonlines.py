"""JSON Lines: one object per line. Blocks are parsed by Arrow; one with anything odd in it is read again line by line, slowly
and with line numbers, so that speed never decides what is accepted.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from wordtide.corpus.documents import DATE_REMEDY, BadRows, Batch, Block, batch_from_columns, make_batch
from wordtide.corpus.fields import Fields
from wordtide.corpus.streams import Progress, line_blocks, open_bytes
from wordtide.dates import parse_date
from wordtide.errors import InputError

_ARROW_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64()}


def read_json_lines(path: str, label: str, fields: Fields, progress: Progress) -> Iterator[Block]:
    """Blocks of a file of JSON objects, one per line."""
    settled = None
    with open_bytes(path, progress) as stream:
        for line, block in line_blocks(stream, path):
            if settled is None:
                settled = _settle(block, line, path, fields)
            if settled is not None:
                yield partial(_parse, block, line, path, label, settled)
    if settled is None:
        raise InputError(f"{path} holds no rows.", "Check that this is the right file.")


def _settle(block: bytes, first_line: int, path: str, fields: Fields) -> Fields | None:
    """Field names from the first object that can be read; with none in this block, from the next one."""
    for offset, line in enumerate(block.split(b"\n")):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            return fields.found_in(list(row), f"{path}, line {first_line + offset}")
    if not block.strip() or (fields.date and fields.text):
        return None if not block.strip() else fields
    raise InputError(
        f"{path}, line {first_line}: no line holds a JSON object.", "Give one object per line, or name the --format."
    )


def _parse(block: bytes, first_line: int, path: str, label: str, fields: Fields, bad: BadRows) -> Batch:
    date_field, text_field = fields.names()
    if date_field != text_field:
        try:
            table = _parse_with_arrow(block, date_field, text_field)
        except (pa.ArrowException, ValueError, RecursionError):
            table = None  # the slow way finds the line and says what is wrong with it
        lines = block.count(b"\n") + (not block.endswith(b"\n"))
        if table is not None and len(table) == lines and table[date_field].null_count + table[text_field].null_count == 0:
            quiet = BadRows(skip=True)
            rows = np.arange(first_line, first_line + len(table))
            batch = batch_from_columns(
                table[date_field].combine_chunks(),
                table[text_field].combine_chunks(),
                lambda row: f"{path}, line {first_line + row}",
                label,
                rows,
                fields.date_format,
                quiet,
            )
            if not quiet.reasons:
                return batch
    return _parse_line_by_line(block, first_line, path, label, fields, bad)


def _parse_with_arrow(block: bytes, date_field: str, text_field: str) -> pa.Table | None:
    first = json.loads(block[: block.index(b"\n")] if b"\n" in block else block)
    date_type = _ARROW_TYPES.get(type(first.get(date_field))) if isinstance(first, dict) else None
    if date_type is None:
        return None
    return pj.read_json(
        pa.BufferReader(block),
        read_options=pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
        parse_options=pj.ParseOptions(
            explicit_schema=pa.schema([(date_field, date_type), (text_field, pa.string())]),
            unexpected_field_behavior="ignore",
        ),
    )


def _parse_line_by_line(block: bytes, first_line: int, path: str, label: str, fields: Fields, bad: BadRows) -> Batch:
    texts: list[bytes] = []
    stamps: list[tuple[int, int]] = []
    rows: list[int] = []
    for line_number, line in enumerate(block.split(b"\n"), first_line):
        if not line.strip():
            continue
        place = f"{path}, line {line_number}"
        row = _object_on(line, place, bad)
        if row is None:
            continue
        date_field, text_field = fields.names()
        missing = [name for name in (date_field, text_field) if row.get(name) is None]
        if missing:
            what = "text missing" if missing == [text_field] else "date missing"
            bad.report(
                place, what, f"the field {missing[0]!r} is missing.", f"It has: {', '.join(map(str, row)) or 'nothing'}."
            )
            continue
        if not isinstance(row[text_field], str):
            bad.report(place, "text not a string", f"the field {text_field!r} is not a string.", "Choose another --text-field.")
            continue
        try:
            stamps.append(parse_date(row[date_field], fields.date_format))
        except (ValueError, OverflowError) as error:
            reason = "date missing" if "missing" in str(error) else "date not understood"
            bad.report(place, reason, f"{error}.", DATE_REMEDY)
            continue
        texts.append(row[text_field].encode("utf-8", "surrogatepass"))
        rows.append(line_number)
    return make_batch(texts, [stamp for stamp, _ in stamps], [span for _, span in stamps], [label], rows)


def _object_on(line: bytes, place: str, bad: BadRows) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except UnicodeDecodeError as error:
        bad.report(place, "not UTF-8", f"byte {error.start + 1} is not valid UTF-8.", "Convert the file to UTF-8 (iconv).")
        return None
    except (ValueError, RecursionError) as error:
        bad.report(place, "not JSON", f"the line is not valid JSON ({error}).", "Mend the line.")
        return None
    if not isinstance(row, dict):
        bad.report(place, "not an object", "the line is not a JSON object.", "Give one object per line.")
        return None
    return row
