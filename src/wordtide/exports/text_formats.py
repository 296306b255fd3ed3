"""Files of words and numbers as text: word2vec (also binary), the Embedding Projector, CSV, and workbooks.

word2vec and the projector get words without white space. CSV files and workbooks have a row for each word and
time: time, word, occurrences, and a column for each coordinate. A workbook is a ZIP archive of XML files in
which words are text, never formulas. Numbers are written so that each float32 can be read back, slice by
slice, so memory stays small.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import IO
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np

from wordtide.errors import SettingsError
from wordtide.exports.selection import Selection
from wordtide.progress import Observer
from wordtide.storage.cells import spelled_out, text_cell
from wordtide.storage.folders import new_files
from wordtide.types import Array, Singles

_WHITE_SPACE = re.compile(r"\s")
_ROWS_AT_ONCE = 100


def _without_spaces(words: Sequence[str]) -> tuple[list[str], int]:
    """Replace white space in words by _; returns the words and how many have changed.

    Two words that become the same are an error, because readers would lose one of them.
    """
    written: dict[str, str] = {}
    for word in words:
        spelling = _WHITE_SPACE.sub("_", word)
        if not word or not _can_be_encoded(word):
            raise SettingsError(f"{word!r} cannot be written as a word.", "Leave it out.")
        if spelling in written:
            raise SettingsError(
                f"{written[spelling]!r} and {word!r} would both be written as {spelling!r}.",
                "Leave one of them out with --words, or export to npz, parquet or dwe, "
                "which keep words as they are.",
            )
        written[spelling] = word
    return list(written), sum(spelling != word for spelling, word in written.items())


def _rows_of_text(matrix: Singles, separator: str) -> Iterator[str]:
    """Each row of a matrix (n, d) as text: the fewest digits from which each float32 can be read back."""
    for start in range(0, len(matrix), _ROWS_AT_ONCE):
        for row in matrix[start : start + _ROWS_AT_ONCE].astype(str).tolist():
            yield separator.join(row)


def _can_be_encoded(word: str) -> bool:
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def save_word2vec(
    path: str | PathLike[str],
    words: Sequence[str],
    vectors: Singles,
    binary: bool = False,
    overwrite: bool = False,
) -> int:
    """Write the word2vec format, which gensim, the original C program and most others read.

    A first line "words dimensions"; then each word, a space, and its vector (n, d). Returns how many words
    were written with _ for white space.
    """
    spelled, changed = _without_spaces(words)
    with new_files([Path(path)], overwrite) as (partial,), open(partial, "wb") as file:
        file.write(f"{len(spelled)} {vectors.shape[1]}\n".encode())
        if binary:
            for word, vector in zip(spelled, np.ascontiguousarray(vectors, dtype="<f4"), strict=True):
                file.write(word.encode() + b" " + vector.tobytes() + b"\n")
        else:
            for word, numbers in zip(
                spelled, _rows_of_text(vectors.astype(np.float32, copy=False), " "), strict=True
            ):
                file.write(f"{word} {numbers}\n".encode())
    return changed


def projector_paths(name: str | PathLike[str]) -> list[Path]:
    """The paths of the two files: vectors and metadata."""
    path = Path(name)
    stem = path.name.removesuffix(".tsv").removesuffix(".vectors").removesuffix(".metadata")
    return [path.with_name(f"{stem}.vectors.tsv"), path.with_name(f"{stem}.metadata.tsv")]


def save_projector(
    name: str | PathLike[str],
    words: Sequence[str],
    vectors: Singles,
    occurrences: Array,
    deviations: Singles | None,
    overwrite: bool,
) -> int:
    """Write both files of the TensorFlow Embedding Projector, or neither.

    The files hold vectors (n, d), and the word, occurrences and sd of each.

    The sd is the root mean square over the coordinates of `deviations` (n, d); without them there is no such
    column. Returns how many words were written with _ for white space.
    """
    spelled, changed = _without_spaces(words)
    columns = {"word": list(map(text_cell, spelled)), "occurrences": occurrences.astype(str).tolist()}
    if deviations is not None:
        over_coordinates = np.sqrt(np.mean(np.square(deviations, dtype=np.float64), axis=1))
        columns["sd"] = over_coordinates.astype(np.float32).astype(str).tolist()
    with new_files(projector_paths(name), overwrite) as (vectors_file, metadata_file):
        with open(vectors_file, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{numbers}\n" for numbers in _rows_of_text(vectors, "\t"))
        with open(metadata_file, "w", encoding="utf-8", newline="\n") as file:
            for row in (columns, *zip(*columns.values(), strict=True)):
                file.write("\t".join(row) + "\n")
    return changed


#: What a sheet can hold.
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
_FACTS = ("time", "word", "occurrences")
_WHEN = (1980, 1, 1, 0, 0, 0)  # the date of the files in the archive: the same content gives the same bytes
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OOXML = "http://schemas.openxmlformats.org/"
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_OOXML}package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/xl/workbook.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
    '<Override PartName="/xl/worksheets/sheet1.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_OOXML}package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_OOXML}officeDocument/2006/relationships/officeDocument" '
    'Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_OOXML}spreadsheetml/2006/main" '
    f'xmlns:r="{_OOXML}officeDocument/2006/relationships">'
    '<sheets><sheet name="vectors" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_OOXML}package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_OOXML}officeDocument/2006/relationships/worksheet" '
    'Target="worksheets/sheet1.xml"/></Relationships>',
}
_FROZEN_HEADER = (
    '<sheetViews><sheetView workbookViewId="0"><pane xSplit="2" ySplit="1" topLeftCell="C2" '
    'activePane="bottomRight" state="frozen"/></sheetView></sheetViews>'
)


def write_csv(path: Path, selection: Selection, time: float | None, observer: Observer) -> None:
    """Write a CSV file of the selected words at one time, or (None) at all slices."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_columns(selection))
        for year, word, occurrences, numbers in _rows(selection, time, observer):
            writer.writerow([year, text_cell(word), occurrences, *numbers])


def write_workbook(path: Path, selection: Selection, time: float | None, observer: Observer) -> None:
    """Write a workbook (.xlsx) of the selected words at one time, or (None) at all slices."""
    columns = _columns(selection)
    rows = 1 + len(selection.words) * (len(selection.model) if time is None else 1)
    if rows > MOST_ROWS or len(columns) > MOST_COLUMNS:
        raise SettingsError(
            f"A sheet holds {MOST_ROWS:,} rows and {MOST_COLUMNS:,} columns, "
            f"and this one would have {rows:,} and {len(columns):,}.",
            "Keep fewer words with --top or --words, give one time with --at, or use --to=csv.",
        )
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in _PARTS.items():
            archive.writestr(_member(name), _HEAD + content)
        with archive.open(_member("xl/worksheets/sheet1.xml"), "w", force_zip64=True) as sheet:
            sheet.write(f'{_HEAD}<worksheet xmlns="{_OOXML}spreadsheetml/2006/main">'.encode())
            sheet.write(f"{_FROZEN_HEADER}<sheetData>".encode())
            _write_row(sheet, map(_text, columns))
            for year, word, occurrences, numbers in _rows(selection, time, observer):
                _write_row(sheet, [_number(year), _text(word), _number(occurrences), *map(_number, numbers)])
            sheet.write(b"</sheetData></worksheet>")


def _columns(selection: Selection) -> list[str]:
    return [*_FACTS, *(f"v{k}" for k in range(1, selection.model.dim + 1))]


def _rows(
    selection: Selection, time: float | None, observer: Observer
) -> Iterator[tuple[float, str, float, list[str]]]:
    """Time, word, occurrences and vector of each word. Numbers have the fewest digits that identify them."""
    years = selection.model.times.tolist() if time is None else [time]
    means: Iterable[Singles] = selection.means_at_slices() if time is None else [selection.means_at(time)]
    with observer.stage("writing", len(years), "slices"):
        for year, vectors in zip(years, means, strict=True):
            occurrences = selection.occurrences_at(year).tolist()
            texts = vectors.astype(np.float32, copy=False).astype(str).tolist()
            yield from ((year, *row) for row in zip(selection.words, occurrences, texts, strict=True))
            observer.step()


def _write_row(sheet: IO[bytes], cells: Iterable[str]) -> None:
    sheet.write(f"<row>{''.join(cells)}</row>".encode("utf-8", "replace"))


def _text(content: str) -> str:
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(spelled_out(content))}</t></is></c>'


def _number(content: object) -> str:
    return f"<c><v>{content}</v></c>"


def _member(name: str) -> ZipInfo:
    member = ZipInfo(name, _WHEN)
    member.compress_type = ZIP_DEFLATED
    return member
