"""Text files, one document each, with the date in the file's name or in the name of a folder above it."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import PurePath

from wordtide.corpus.documents import BadRows, Batch, Block, make_batch
from wordtide.corpus.streams import Progress, open_bytes, size_of
from wordtide.dates import Stamp, date_in_name, parse_date

_BLOCK_BYTES = 4 << 20


def read_text_files(files: Sequence[tuple[str, str]], date_format: str | None, progress: Progress) -> Iterator[Block]:
    """Blocks of text files, given as (path, label): several small ones, or one large one, to a block."""
    block: list[tuple[str, str]] = []
    block_bytes = 0
    for path, label in files:
        block.append((path, label))
        block_bytes += size_of(path)
        if block_bytes >= _BLOCK_BYTES:
            yield partial(_parse, block, date_format, progress)
            block, block_bytes = [], 0
    if block:
        yield partial(_parse, block, date_format, progress)


def date_of_file(label: str, date_format: str | None) -> Stamp | None:
    """The date in a path's last part that has one: 1862-12-01_lincoln.txt, or lincoln.txt in a folder 1862."""
    for part in reversed(PurePath(label).parts):
        stem = part.split(".txt")[0]
        if date_format is not None:
            try:
                return parse_date(stem, date_format)
            except ValueError:
                continue
        found = date_in_name(stem)
        if found is not None:
            return found
    return None


def _parse(files: Sequence[tuple[str, str]], date_format: str | None, progress: Progress, bad: BadRows) -> Batch:
    texts: list[bytes] = []
    stamps: list[Stamp] = []
    labels: list[str] = []
    for path, label in files:
        stamp = date_of_file(label, date_format)
        if stamp is None:
            remedy = "Name the file like 1862-12-01_lincoln.txt or 1862.txt."
            bad.report(path, "date missing", "there is no date in the file's name.", remedy)
            continue
        with open_bytes(path, progress) as stream:
            texts.append(stream.read())
        stamps.append(stamp)
        labels.append(label)
    return make_batch(texts, [stamp for stamp, _ in stamps], [span for _, span in stamps], labels, [0] * len(labels))
