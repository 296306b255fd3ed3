"""Portions of long files for several workers: byte ranges of lines and records, row groups of Parquet files.

A portion knows the number of its first line or row and what only the head of the file says, so that reading
the portions gives the same documents, labels and messages as reading the file. Compressed files cannot be
divided.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from wordtide.corpus.arrow_tables import cut_row_groups
from wordtide.corpus.byte_streams import BLOCK_BYTES, count_line_breaks, is_compressed, open_bytes
from wordtide.corpus.columns import Fields
from wordtide.corpus.delimited import find_borders
from wordtide.corpus.jsonlines import find_json_fields
from wordtide.corpus.remote import is_url, takes_ranges
from wordtide.corpus.source_files import Portion, SourceFile


class LineBreaks(NamedTuple):
    """The line feeds of a byte range: their number, and the position of the first in the file, or -1."""

    number: int
    first: int


def can_be_cut(file: SourceFile, step: int) -> bool:
    """Whether a file is longer than `step` bytes, not compressed, and of a format that can be read in
    portions.
    """
    if file.format == "text" or file.byte_count() <= step:
        return False
    if is_url(file.opened_at) and not takes_ranges(file.opened_at):
        return False
    return file.format == "parquet" or not is_compressed(file)


def find_line_breaks(file: SourceFile, start: int, stop: int) -> LineBreaks:
    """Count the line feeds between two bytes of a file."""
    count, first, place = 0, -1, start
    with open_bytes(replace(file, portion=Portion(start, stop, 1))) as stream:
        while block := stream.read(BLOCK_BYTES):
            if first < 0 and (found := block.find(b"\n")) >= 0:
                first = place + found
            count += count_line_breaks(block)
            place += len(block)
    return LineBreaks(count, first)


def ranges_of(file: SourceFile, step: int) -> list[tuple[int, int]]:
    """Divide a file into byte ranges of equal length, about `step` bytes each, regardless of lines."""
    size = file.byte_count()
    parts = max(1, round(size / step))
    ends = [size * part // parts for part in range(parts + 1)]
    return list(pairwise(ends))


def cut_lines(
    file: SourceFile,
    ranges: Sequence[tuple[int, int]],
    breaks: Sequence[LineBreaks],
    columns: tuple[str, ...] = (),
) -> list[SourceFile]:
    """Divide a file into portions of whole lines: a line belongs to the range in which it begins."""
    borders = [(0, 1)]
    lines = 1 + breaks[0].number  # the line in which the range begins
    for found in breaks[1:]:
        if found.first >= 0:
            borders.append((found.first + 1, lines + 1))
        lines += found.number
    return _portions(file, borders, ranges[-1][1], columns)


def cut_records(file: SourceFile, step: int) -> list[SourceFile]:
    """Divide a CSV or TSV file into portions of whole records, which takes reading all of it: quotes may hold
    line breaks.
    """
    columns, borders = find_borders(file, step)
    return _portions(file, [(0, 1), *borders], file.byte_count(), columns)


def cut_parquet(file: SourceFile, step: int) -> list[SourceFile]:
    """Divide a Parquet file into portions of whole row groups."""
    return [replace(file, portion=portion) for portion in cut_row_groups(file, step)]


def columns_of_lines(file: SourceFile, fields: Fields, skip_bad: bool) -> tuple[str, ...] | None:
    """Read the head of a file of lines: the two fields of JSON Lines, or None if it has no rows."""
    return find_json_fields(file, fields, skip_bad) if file.format == "jsonl" else ()


def _portions(
    file: SourceFile, borders: Sequence[tuple[int, int]], size: int, columns: tuple[str, ...]
) -> list[SourceFile]:
    stops = [start for start, _ in borders[1:]] + [size]
    return [
        replace(file, portion=Portion(start, stop, line, columns))
        for (start, line), stop in zip(borders, stops, strict=True)
        if stop > start
    ]
