"""Text files, one document each, with the date in the file's name or in the name of a folder above it."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import PurePath

from wordtide.corpus.byte_streams import Progress, open_bytes
from wordtide.corpus.documents import BadRows, Batch, Block, make_batch
from wordtide.corpus.source_files import SourceFile
from wordtide.dates import Stamp, date_in_name, parse_date

_BLOCK_BYTES = 4 << 20


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


def date_of_file(label: str, date_format: str | None) -> Stamp | None:
    """Find the date in the last part of a path that has one: 1862-12-01_lincoln.txt, or lincoln.txt in a
    folder 1862.
    """
    for part in reversed(PurePath(label).parts):
        found = date_in_name(part) if date_format is None else _date_by_format(part, date_format)
        if found is not None:
            return found
    return None


def _date_by_format(name: str, date_format: str) -> Stamp | None:
    """Parse a name, with or without some of its endings: 01.12.1862.text.gz matches %d.%m.%Y."""
    while name:
        try:
            return parse_date(name, date_format)
        except (ValueError, OverflowError):
            name = name.rpartition(".")[0]
    return None


def _parse(files: Sequence[SourceFile], date_format: str | None, progress: Progress, bad: BadRows) -> Batch:
    texts: list[bytes] = []
    stamps: list[Stamp] = []
    dated: list[SourceFile] = []
    for file in files:
        stamp = date_of_file(file.label, date_format)
        if stamp is None:
            _report_undated(file.path, date_format, bad)
            continue
        with open_bytes(file, progress) as stream:
            texts.append(stream.read())
        stamps.append(stamp)
        dated.append(file)
    labels, paths = [file.label for file in dated], [file.path for file in dated]
    return make_batch(texts, stamps, labels, [0] * len(dated), paths)


def _report_undated(path: str, date_format: str | None, bad: BadRows) -> None:
    if date_format is None:
        remedy = (
            "Name the file like 1862-12-01_lincoln.txt or 1862.txt, "
            "or give the pattern of its name with --date-format."
        )
        bad.report(path, "date missing", "there is no date in the file's name.", remedy)
    else:
        remedy = (
            "The whole name of the file without its ending, or of a folder above it must fit --date-format."
        )
        bad.report(
            path,
            "date not understood",
            f"the file's name does not fit the date format {date_format!r}.",
            remedy,
        )
