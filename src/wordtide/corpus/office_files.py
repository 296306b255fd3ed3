"""Office documents and web pages, recognized by their content: .docx, .odt, .html, .pdf, .rtf and .xlsx.

Word and OpenDocument files are archives of XML, which the standard library reads. XML entities, by which a
small file can expand to gigabytes, are rejected, and so are archives that expand too far. The libraries of
the extra `[documents]` read PDF, RTF and Excel files. Anything wrong with a file becomes one error.
"""

import io
import logging
import re
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from html.parser import HTMLParser
from importlib import import_module
from itertools import islice
from typing import Any, Final, TypeVar
from xml.parsers import expat

from wordtide.corpus.byte_streams import Progress, SourceFile, check_expansion, open_bytes
from wordtide.corpus.columns import Fields
from wordtide.corpus.documents import BadRows, Batch, Block, Origin, RowCollector
from wordtide.corpus.encodings import check_encoding, detect_encoding
from wordtide.errors import InputError

Result = TypeVar("Result")

#: Names of formats by their kind.
NAMES: Final = {
    "docx": "a Word document",
    "odt": "an OpenDocument text",
    "html": "a web page",
    "pdf": "a PDF file",
    "rtf": "a Rich Text file",
    "xlsx": "an Excel workbook",
    "zip": "a zip archive or a damaged document",
    "ole": "a document of an old version of Office",
    "xml": "an XML file, whose markup would be counted",
    "binary": "not text",
}
_REMEDIES: Final = {
    "xlsx": "Count it as a table: --format xlsx; its first row must name the columns.",
    "zip": "Unpack the archive, or fetch the document again.",
    "ole": "Open it in Office or LibreOffice and save it as .docx, .xlsx or .txt.",
    "xml": "Convert it to text or HTML, for instance with a stylesheet (XSLT).",
    "binary": "Leave it out, or save it as text.",
}
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP: Final = b"PK\x03\x04"
#: Atomic groups: many comments must not multiply the ways to match them.
_PAGE: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?>(?:<\?xml[^>]*>|<!--(?:(?!-->).){0,1000}-->)\s*+)*+<(?:!doctype\s+html|html)\b",
    re.I | re.S,
)
_XML: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*+<(?:\?xml|TEI)\b")
_HEAD: Final = 1 << 12
_LARGEST: Final = 1 << 28  # bytes of a document
_LARGEST_PART: Final = 1 << 29  # bytes of a part of an archive
_LONGEST_TEXT: Final = 1 << 28  # characters of one document
_PAGES: Final = 20_000
_ROWS: Final = 4096
_INSTALL: Final = "Install what reads it: pip install 'wordtide[documents]'."
_AGAIN: Final = "Open it in the program that made it and save it again, or save it as text."


def recognize(data: bytes) -> str:
    """The kind of a file (see `NAMES`) by its first bytes; "text" if it is none of these."""
    head = data[:_HEAD]
    if head.startswith(_ZIP):
        return _kind_of_archive(data)
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith(_OLE):
        return "ole"
    if _PAGE.match(head):
        return "html"
    return "xml" if _XML.match(head) else "text"


def _kind_of_archive(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return "zip"
    for kind, part in (("docx", "word/document.xml"), ("xlsx", "xl/workbook.xml"), ("odt", "content.xml")):
        if part in names:
            return kind
    return "zip"


def text_of(data: bytes, kind: str, file: SourceFile) -> bytes:
    """Extract the text of a document of a kind that `recognize` returned, as UTF-8.

    Raises:
        InputError: The document is damaged, or cannot be read here.
    """
    if kind in _REMEDIES:
        raise InputError(f"{file.shown} is {NAMES[kind]}.", _REMEDIES[kind])
    if len(data) > _LARGEST:
        raise InputError(
            f"{file.shown} is {NAMES[kind]} of more than {_LARGEST >> 20} MB.", "Save it as text."
        )
    readers: dict[str, Callable[[bytes, SourceFile], str]] = {
        "docx": partial(_text_of_archive, "word/document.xml", _WORD),
        "odt": partial(_text_of_archive, "content.xml", _OPEN_DOCUMENT),
        "html": _text_of_page,
        "pdf": _text_of_pdf,
        "rtf": _text_of_rtf,
    }
    text = _with_one_error(file, kind, lambda: readers[kind](data, file))
    return text.encode("utf-8", "replace")


def _with_one_error(file: SourceFile, kind: str, read: Callable[[], Result]) -> Result:
    """Call a reader, and turn whatever its library raises for a damaged file into an InputError."""
    try:
        return read()
    except InputError:
        raise
    except ImportError as error:
        raise InputError(f"{file.shown} is {NAMES[kind]}.", _INSTALL) from error
    except Exception as error:
        shown = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise InputError(
            f"{file.shown} is {NAMES[kind]} that cannot be read ({shown[:200]}).", _AGAIN
        ) from error


#: Elements of XML that hold text or hide it, that end a paragraph, and that are a space.
_WORD: Final = ({"w:t"}, {"w:del", "w:instrText"}, {"w:p", "w:tr"}, {"w:tab", "w:br", "w:cr"})
_OPEN_DOCUMENT: Final = (
    {"text:p", "text:h"},
    {"text:tracked-changes", "office:annotation", "office:scripts"},
    {"text:p", "text:h"},
    {"text:s", "text:tab", "text:line-break"},
)


def _text_of_archive(part: str, rule: tuple[set[str], ...], data: bytes, file: SourceFile) -> str:
    holding, hidden, ending, spaces = rule
    pieces: list[str] = []
    inside, outside, length = [0], [0], [0]

    def start(name: str, _: dict[str, str]) -> None:
        inside[0] += name in holding
        outside[0] += name in hidden
        if name in spaces:
            pieces.append(" ")

    def end(name: str) -> None:
        inside[0] -= name in holding
        outside[0] -= name in hidden
        if name in ending:
            pieces.append("\n\n")

    def characters(text: str) -> None:
        if inside[0] and not outside[0]:
            pieces.append(text)
            length[0] += len(text)
            if length[0] > _LONGEST_TEXT:
                raise InputError(
                    f"{file.shown} holds more than {_LONGEST_TEXT >> 20} million characters.",
                    "Save it as text.",
                )

    def refuse(*_: object) -> None:
        raise InputError(f"{file.shown} declares XML entities.", "It may be malicious. Save it as text.")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = characters
    parser.EntityDeclHandler = refuse
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        check_archive(archive, len(data), file)
        with archive.open(part) as stream:
            parser.ParseFile(stream)
    return "".join(pieces)


def check_archive(archive: zipfile.ZipFile, size: int, file: SourceFile) -> None:
    """Refuse an archive whose parts expand too far. No part can become longer than it declares."""
    if any(part.file_size > _LARGEST_PART for part in archive.infolist()):
        raise InputError(
            f"{file.shown} has a part of more than {_LARGEST_PART >> 20} MB.", "Save it as text or CSV."
        )
    check_expansion(file.shown, size, sum(part.file_size for part in archive.infolist()), file.max_expansion)


class _Page(HTMLParser):
    """Collects the text of a web page: no scripts and styles, a blank line between blocks."""

    _HIDDEN: Final = frozenset(("script", "style", "template", "noscript", "svg", "math", "title"))
    _INLINE: Final = frozenset(
        "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark q s samp small span "
        "strike strong sub sup time tt u var wbr".split()
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._HIDDEN:
            self._hidden.append(tag)
        elif tag not in self._INLINE:
            self.pieces.append("\n" if tag == "br" else "\n\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            while self._hidden.pop() != tag:
                pass
        elif tag not in self._INLINE:
            self.pieces.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data)


def _text_of_page(data: bytes, file: SourceFile) -> str:
    declared = re.search(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w-]{1,40})", data[:_HEAD], re.I)
    encoding = file.encoding or detect_encoding(data, whole=True)
    if not file.encoding and declared and encoding != "utf-8":
        name = declared[1].decode("ascii")
        try:
            check_encoding(name)
            encoding = name
        except ValueError:
            pass
    page = _Page()
    page.feed(data.decode(encoding or "utf-8", "replace"))
    page.close()
    return "".join(page.pieces)


def _text_of_pdf(data: bytes, file: SourceFile) -> str:
    logging.getLogger("pypdf").addHandler(logging.NullHandler())  # remarks on damage are not for users
    reader: Any = import_module("pypdf").PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise InputError(f"{file.shown} is protected by a password.", "Save it without, or as text.")
    pages: list[str] = []
    length = 0
    for page in islice(reader.pages, _PAGES):
        pages.append(page.extract_text())
        length += len(pages[-1])
        if length > _LONGEST_TEXT:
            raise InputError(f"{file.shown} holds too much text for a PDF file.", "It may be malicious.")
    if not length:
        raise InputError(
            f"{file.shown} holds no text: its pages are pictures.", "Run it through text recognition (OCR)."
        )
    return "\n\n".join(pages)


def _text_of_rtf(data: bytes, file: SourceFile) -> str:
    text: str = import_module("striprtf.striprtf").rtf_to_text(data.decode("latin-1"), errors="replace")
    return text.replace("\n", "\n\n")


def read_workbook(file: SourceFile, fields: Fields, bad: BadRows, progress: Progress) -> Iterator[Block]:
    """Read the first sheet of an Excel workbook in blocks. Its first row names the columns."""
    with open_bytes(file, progress) as stream:
        data = stream.read(_LARGEST + 1)
    kind = recognize(data)
    if kind != "xlsx":
        raise InputError(f"{file.shown} is not an Excel workbook.", "Check the --format.")
    if len(data) > _LARGEST:
        raise InputError(f"{file.shown} is larger than {_LARGEST >> 20} MB.", "Save it as CSV.")
    rows = _with_one_error(file, kind, lambda: _open_rows(data, file))
    header = _with_one_error(file, kind, lambda: next(rows, ()))
    names = ["" if cell is None else str(cell).strip() for cell in header]
    origin = Origin(file.label, f"{file.shown}, row")
    settled = fields.found_in([name for name in names if name], origin.row(1))
    chosen = [names.index(name) for name in settled.columns()]
    bad.findings.add_file("xlsx", columns=settled.columns())
    first = 2
    while some := _with_one_error(file, kind, lambda: list(islice(rows, _ROWS))):
        yield partial(_parse_rows, some, first, chosen, origin, fields.date_format)
        first += len(some)


def _open_rows(data: bytes, file: SourceFile) -> Iterator[tuple[Any, ...]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        check_archive(archive, len(data), file)
    workbook: Any = import_module("openpyxl").load_workbook(
        io.BytesIO(data), read_only=True, data_only=True, keep_links=False
    )
    rows: Iterator[tuple[Any, ...]] = workbook.worksheets[0].iter_rows(values_only=True)
    return rows


def _parse_rows(
    rows: list[tuple[Any, ...]],
    first: int,
    chosen: list[int],
    origin: Origin,
    date_format: str | None,
    bad: BadRows,
) -> Batch:
    collected = RowCollector(origin, date_format, len(chosen) > 2, bad)
    for number, row in enumerate(rows, first):
        cells: list[Any] = [row[column] if column < len(row) else None for column in chosen]
        date, text, group = cells[0], cells[1], cells[2:]
        if date is None and text is None:
            continue  # an empty row
        if text is None:
            bad.report(origin.row(number), "text missing", "the text is missing.", "Fill in the cell.")
            continue
        if hasattr(date, "hour") and not (date.hour or date.minute or date.second):
            date = date.date() if hasattr(date, "date") else None  # a time without a day is not a date
        collected.add(number, date, str(text).encode("utf-8", "replace"), *group)
    return collected.batch()
