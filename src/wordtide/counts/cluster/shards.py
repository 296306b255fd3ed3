"""The shards of a corpus: portions of long files, groups of short ones, each named after its content.

Their borders depend on the corpus only, not on the number of workers, so a job that is continued with more
workers finds its shards. Portions are byte ranges of whole lines or records, or row groups of Parquet files.
A portion knows the number of its first line or row and what only the head of the file says, so that reading
the portions gives the same documents, labels and messages as reading the file. Compressed files are not
divided.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from importlib import metadata
from itertools import pairwise
from typing import NamedTuple

from wordtide.corpus.arrow_tables import cut_row_groups
from wordtide.corpus.byte_streams import (
    BLOCK_BYTES,
    STANDARD_INPUT,
    Portion,
    SourceFile,
    count_line_breaks,
    explained_read_errors,
    is_compressed,
    open_bytes,
)
from wordtide.corpus.columns import Fields
from wordtide.corpus.delimited import find_borders, find_delimiter
from wordtide.corpus.encodings import UTF_8, open_text
from wordtide.corpus.jsonlines import find_json_fields, is_array
from wordtide.corpus.remote import is_url, takes_ranges
from wordtide.corpus.sources import Corpus
from wordtide.counts.cluster.job import Job, Piece, Run, Shard
from wordtide.counts.settings import CountSettings
from wordtide.counts.workers import fields_of
from wordtide.errors import InputError, SettingsError
from wordtide.storage.work_folder import WorkFolder, fingerprint

_SHARDS = 64
_SMALLEST, _LARGEST = 16 << 20, 256 << 20  # bytes of a shard: some seconds of work
_COMPRESSION = 4  # a typical ratio


def check_shareable(corpus: Corpus) -> None:
    """Reject data frames and pipes, which exist in this process only."""
    if corpus.in_memory is not None and not isinstance(corpus.in_memory, str):
        raise SettingsError(
            "Data in memory cannot be counted on a cluster.",
            "Write it to a file (Parquet or JSON Lines) that all workers see, "
            "or count it without a scheduler.",
        )
    if any(file.path == STANDARD_INPUT for file in corpus.files):
        raise SettingsError(
            "Standard input cannot be counted on a cluster.",
            "Save it in a file, or count it without --scheduler.",
        )


def find_shards(corpus: Corpus, settings: CountSettings, work: WorkFolder, run: Run) -> list[Shard]:
    """Find the shards of a corpus, in the order in which a single process reads it."""
    if isinstance(corpus.in_memory, str):
        return [_shard((), corpus.in_memory)]
    files = [_identified(file) for file in corpus.files]
    files = [file for file in files if file.format == "text"] + [
        file for file in files if file.format != "text"
    ]
    step = min(max(sum(map(_weight, files)) // _SHARDS, _SMALLEST), _LARGEST)
    portions = _cut([file for file in files if can_be_cut(file, step)], settings, step, work, run)
    return list(_grouped(files, portions, step))


def _identified(file: SourceFile) -> SourceFile:
    """Add the absolute path, the size and the modification time of a file."""
    if is_url(file.path):
        return file
    with explained_read_errors(file.shown):
        facts = os.stat(file.path)
    return replace(
        file, location=os.path.abspath(file.path), size=facts.st_size, version=str(facts.st_mtime_ns)
    )


def _weight(file: SourceFile) -> int:
    return file.byte_count() * (_COMPRESSION if file.opened_at.endswith((".gz", ".zst", ".zstd")) else 1)


def _cut(
    files: Sequence[SourceFile], settings: CountSettings, step: int, work: WorkFolder, run: Run
) -> dict[SourceFile, list[SourceFile]]:
    """Divide long files into portions. Workers find lines and records, which takes reading whole files."""
    fields = fields_of(settings)
    portions: dict[SourceFile, list[SourceFile]] = {}
    columns: dict[SourceFile, tuple[str, ...]] = {}
    tasks: list[Piece] = []
    pieces: dict[SourceFile, list[str]] = {}
    for file in files:
        if file.format == "parquet":
            portions[file] = cut_parquet(file, step)
            continue
        key = fingerprint(asdict(file), step)
        if file.format in ("csv", "tsv"):
            tasks.append(Piece(f"portions-{key}", _find_portions, (file, step)))
            pieces[file] = [f"portions-{key}"]
            continue
        found = columns_of_lines(file, fields, settings.skip_bad)
        if found is None:
            continue
        columns[file] = found
        pieces[file] = [f"breaks-{key}-{number}" for number in range(len(ranges_of(file, step)))]
        tasks += [
            Piece(piece, _find_breaks, (file, start, stop))
            for piece, (start, stop) in zip(pieces[file], ranges_of(file, step), strict=True)
        ]
    run("cutting", tasks)
    for file, made in pieces.items():
        facts = [work.facts(piece) for piece in made]
        if file in columns:
            portions[file] = cut_lines(
                file, ranges_of(file, step), [LineBreaks(**fact) for fact in facts], columns[file]
            )
        else:
            found_portions = [
                Portion(**{**portion, "columns": tuple(portion["columns"])})
                for portion in facts[0]["portions"]
            ]
            delimiter = facts[0].get("delimiter", "")
            portions[file] = [
                replace(file, portion=portion, delimiter=delimiter) for portion in found_portions
            ]
    return {file: parts for file, parts in portions.items() if len(parts) > 1}


def _find_breaks(job: Job, piece: str, file: SourceFile, start: int, stop: int) -> None:
    """Count the lines of a byte range."""
    with job.work.new_piece(piece) as (_, facts):
        facts.update(find_line_breaks(file, start, stop)._asdict())


def _find_portions(job: Job, piece: str, file: SourceFile, step: int) -> None:
    """Divide a file of records. A file that cannot be read is not divided: reading it raises the error."""
    with job.work.new_piece(piece) as (_, facts):
        try:
            parts = cut_records(file, step)
        except InputError:
            parts = []
        portions = [asdict(part.portion) for part in parts if part.portion]
        facts.update(portions=portions, delimiter=parts[0].delimiter if parts else "")


def _grouped(
    files: Iterable[SourceFile], portions: dict[SourceFile, list[SourceFile]], step: int
) -> Iterable[Shard]:
    group: list[SourceFile] = []
    weight = 0
    for file in files:
        parts = portions.get(file)
        apart = parts is not None or (group and (group[0].format == "text") != (file.format == "text"))
        if group and (apart or weight + _weight(file) > step):
            yield _shard(tuple(group), None)
            group, weight = [], 0
        if parts is not None:
            yield from (_shard((part,), None) for part in parts)
        else:
            group.append(file)
            weight += _weight(file)
    if group:
        yield _shard(tuple(group), None)


def _shard(files: tuple[SourceFile, ...], sample: str | None) -> Shard:
    try:
        version = metadata.version(sample) if sample else ""
    except metadata.PackageNotFoundError:
        version = ""  # reading it raises the error
    return Shard(files, sample, f"scan-{fingerprint([asdict(file) for file in files], sample, version)}")


class LineBreaks(NamedTuple):
    """The line feeds of a byte range: their number, and the position of the first in the file, or -1."""

    number: int
    first: int


def can_be_cut(file: SourceFile, step: int) -> bool:
    """Whether a file can be read in portions: longer than `step`, plain, UTF-8, of a suitable format."""
    if file.format in ("text", "xlsx") or file.byte_count() <= step:
        return False
    if is_url(file.opened_at) and not takes_ranges(file.opened_at):
        return False
    if file.format in ("parquet", "ngrams"):
        return file.format == "parquet" or not is_compressed(file)
    if is_compressed(file):
        return False
    with open_text(file) as text:
        return text.encoding == UTF_8 and not (file.format == "jsonl" and is_array(text.head))


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
    columns: tuple[str, ...],
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
    """Divide a CSV or TSV file into portions of whole records. Reads all of it: quotes hold line breaks."""
    file = replace(file, delimiter=find_delimiter(file))
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
