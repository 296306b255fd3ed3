"""The file or pipe that a watch reads."""

import os
from os import PathLike
from pathlib import Path

from wordtide.corpus.columns import Fields
from wordtide.corpus.documents import BadRows
from wordtide.corpus.source_files import STANDARD_INPUT, SourceFile
from wordtide.corpus.sources import find_corpus
from wordtide.errors import InputError, SettingsError
from wordtide.progress import Observer
from wordtide.streaming.followed_file import FollowedFile
from wordtide.streaming.journal import JournaledInput, drop_journal
from wordtide.streaming.rows import RowReader, RowSource
from wordtide.streaming.settings import FORMATS, WatchOptions
from wordtide.streaming.watch_record import WatchRecord


def find_stream(source: str | PathLike[str], options: WatchOptions) -> SourceFile:
    """Find the file to watch and its format, and check that the options suit it.

    Raises:
        InputError: The source cannot be watched.
        SettingsError: An option is for another kind of source.
    """
    files = find_corpus(os.fspath(source), options.format).files
    if len(files) != 1 or files[0].format not in FORMATS or "://" in files[0].path:
        raise InputError(
            f"{source} is not a file of rows that can be watched.",
            "Give one file, or - for standard input, and --format if the name does not end in "
            f"{', '.join(f'.{format}' for format in FORMATS)}.",
        )
    is_input = files[0].path == STANDARD_INPUT
    if options.follow and is_input:
        raise SettingsError("--follow is for files: standard input is always followed.", "Omit --follow.")
    if options.replayed and not is_input:
        raise SettingsError(
            "--replayed is for standard input: files are resumed where the last watch stopped.",
            "Omit --replayed.",
        )
    return files[0]


def open_stream(
    stream: SourceFile,
    folder: Path,
    options: WatchOptions,
    whole_at_end: bool,
    record: WatchRecord | None,
    observer: Observer,
) -> RowSource:
    """Open a stream at the position where the last watch stopped.

    Args:
        stream: The file, or standard input.
        folder: Where the journal of standard input lies.
        options: How the stream is read.
        whole_at_end: At the end of standard input, the last row is complete even without a line break.
        record: The record of the last watch, if there was one.
        observer: Is notified when rows are lost because a file was emptied.

    Raises:
        SettingsError: The last watch read another kind of source.
    """
    kind = JournaledInput.kind if stream.path == STANDARD_INPUT else FollowedFile.kind
    if options.forget_position:
        drop_journal(folder)
        record = None
    if record is not None and record.source != kind:
        before = "a file" if record.source == FollowedFile.kind else "standard input"
        raise SettingsError(
            f"The last watch of this model read {before}, and this one continues there.",
            "Watch the same source; or start over with another one after the model's last slice: "
            "--forget-position.",
        )
    names = [None, None] if record is None else record.fields
    given = options.fields
    fields = Fields(given.date or names[0], given.text or names[1], given.date_format)
    reader = RowReader(stream.format, fields, BadRows(options.skip_bad))
    position = None if record is None else record.position
    if kind == FollowedFile.kind:
        return FollowedFile(Path(stream.path), reader, position, options.follow, observer.message)
    return JournaledInput(folder, 0, reader, position, options.replayed, whole_at_end)
