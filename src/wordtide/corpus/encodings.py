"""Encodings of text: detected where a file is not UTF-8, and converted to UTF-8 as the file is read.

Valid UTF-8 is never changed. UTF-16 and UTF-32 are recognized by their byte-order mark or their zero bytes;
charset-normalizer distinguishes the others by a sample around the first byte that is not UTF-8. The first
`HEAD_BYTES` determine the encoding of a file of rows, in whatever portions it is read.
"""

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from wordtide.corpus.byte_streams import Progress, Readable, SourceFile, no_progress, open_bytes
from wordtide.errors import InputError

UTF_8: Final = "utf-8"
#: Bytes that determine the encoding and the delimiter of a file of rows.
HEAD_BYTES: Final = 1 << 18
_SAMPLE_BYTES: Final = 1 << 15
_BEFORE: Final = 1 << 12  # bytes of the sample before the first that is not UTF-8
_PIECE: Final = 1 << 20
_MARKS: Final = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Encodings to choose from. The first of those that fit about equally well is chosen.
_CANDIDATES: Final = (
    *("cp1252", "iso8859_2", "cp1250", "cp1251", "koi8_r", "cp866", "iso8859_5", "cp1253", "cp1254"),
    *("cp1255", "cp1256", "cp932", "euc_jp", "gb18030", "big5", "cp949", "cp850", "mac_roman"),
)
_CHAOS, _COHERENCE = 0.05, 0.1  # differences in charset-normalizer's scores that do not matter


class TextStream(NamedTuple):
    """The bytes of a file in UTF-8, its original encoding, and its first bytes in UTF-8."""

    stream: Readable
    encoding: str
    head: bytes


def detect_encoding(data: bytes, whole: bool = False) -> str | None:
    """Detect the encoding of text by its first bytes; None if it is not text.

    Unless they are the `whole` text, the last character may be cut.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name
    start = data[:_SAMPLE_BYTES]
    holds_zeros = b"\0" in start
    if holds_zeros and (wide := _wide_encoding(start)) is not None:
        return wide
    if data.isascii() or (wrong := _first_invalid(data, whole)) is None:
        return UTF_8
    if holds_zeros:
        return None
    return UTF_8 if _is_mostly_utf8(data) else _guess(data, wrong)


def is_binary(data: bytes) -> bool:
    """Whether the first bytes cannot be text: zero bytes outside UTF-8, UTF-16 and UTF-32."""
    return b"\0" in data[:_SAMPLE_BYTES] and detect_encoding(data) is None


def check_encoding(name: str) -> None:
    """Raise a ValueError for a name that is not a text encoding of Python."""
    try:
        "x".encode(name)
        b"x".decode(name)
    except UnicodeDecodeError:
        return  # UTF-16: one byte is not a character
    except (LookupError, ValueError, UnicodeError):
        raise ValueError("it is not known") from None


def _first_invalid(data: bytes, whole: bool) -> int | None:
    """The place of the first byte that is not UTF-8, or None."""
    try:
        codecs.getincrementaldecoder(UTF_8)().decode(data, final=whole)
    except UnicodeDecodeError as error:
        return error.start
    return None


def _is_mostly_utf8(data: bytes) -> bool:
    """Whether more characters beyond ASCII are valid UTF-8 than not: a damaged file, not another encoding."""
    text = data.decode(UTF_8, "replace")
    wrong = text.count("\ufffd")
    beyond_ascii = sum(map(len, re.findall(r"[^\x00-\x7f]+", text)))
    return beyond_ascii - wrong > wrong


def _wide_encoding(start: bytes) -> str | None:
    """UTF-16 without a mark: most of the text is ASCII, so every other byte is zero."""
    even, odd = start[0::2].count(0), start[1::2].count(0)
    half = len(start) // 2
    if odd > 0.3 * half and even < 0.05 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.3 * half and odd < 0.05 * half else None


def _guess(data: bytes, wrong: int) -> str | None:
    """Choose an encoding by a sample of whole lines around the first byte that is not UTF-8."""
    from charset_normalizer import from_bytes  # loaded for files that need it

    start = data.rfind(b"\n", 0, max(0, wrong - _BEFORE)) + 1
    if wrong - start > 2 * _BEFORE:
        start = wrong - _BEFORE
    sample = data[start : start + _SAMPLE_BYTES]
    matches = list(from_bytes(sample, cp_isolation=list(_CANDIDATES), enable_fallback=False))
    if not matches:
        return None
    chaos, coherence = min(match.chaos for match in matches), max(match.coherence for match in matches)
    fitting = {
        name
        for match in matches
        if match.chaos <= chaos + _CHAOS and match.coherence >= coherence - _COHERENCE
        for name in match.could_be_from_charset
    } or {matches[0].encoding}
    return next((name for name in _CANDIDATES if name in fitting), matches[0].encoding)


def to_utf8(data: bytes, file: SourceFile) -> tuple[bytes, str]:
    """Convert the bytes of a whole text file to UTF-8; returns them and the original encoding.

    Bytes that no encoding explains are returned as they are: reading them as UTF-8 reports the problem.

    Raises:
        ValueError: The bytes are not in the given encoding.
    """
    encoding = file.encoding or detect_encoding(data, whole=True)
    if encoding is None or codecs.lookup(encoding).name == UTF_8:
        return data, UTF_8
    try:
        return data.decode(encoding).encode(UTF_8, "surrogatepass"), encoding
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is not valid {encoding}") from None


@contextmanager
def open_text(file: SourceFile, progress: Progress = no_progress) -> Iterator[TextStream]:
    """Open a file of rows as UTF-8, whatever its encoding. Portions are UTF-8 unless an encoding is given."""
    with open_bytes(file, progress) as stream:
        if file.portion is not None:
            encoding = codecs.lookup(file.encoding or UTF_8).name
            converted = _ConvertedStream(stream, encoding, file.shown) if encoding != UTF_8 else stream
            yield TextStream(converted, encoding, b"")
            return
        head = read_head(stream)
        whole = _PrefixedStream(head, stream)
        encoding = file.encoding or detect_encoding(head, len(head) < HEAD_BYTES) or UTF_8
        if codecs.lookup(encoding).name == UTF_8:
            yield TextStream(whole, UTF_8, head)
            return
        converted = _ConvertedStream(whole, encoding, file.shown)
        start = read_head(converted)
        yield TextStream(_PrefixedStream(start, converted), encoding, start)


def read_head(stream: Readable) -> bytes:
    """Read the first `HEAD_BYTES`, fewer only if the file is shorter."""
    head = b""
    while len(head) < HEAD_BYTES and (piece := stream.read(HEAD_BYTES - len(head))):
        head += piece
    return head


class _PrefixedStream:
    """A stream whose first bytes were read already."""

    def __init__(self, head: bytes, stream: Readable) -> None:
        self._head = head
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        """Read the next bytes, or all if no number is given."""
        if not self._head:
            return self._stream.read(size)
        start = self._head if size < 0 else self._head[:size]
        self._head = self._head[len(start) :]
        if size == len(start):
            return start
        return start + self._stream.read(size - len(start) if size >= 0 else -1)


class _ConvertedStream:
    """A stream of text converted to UTF-8."""

    def __init__(self, stream: Readable, encoding: str, shown: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._encoding = encoding
        self._shown = shown
        self._read = 0
        self._waiting = b""
        self._is_over = False

    def read(self, size: int = -1, /) -> bytes:
        """Read the next bytes, or all if no number is given."""
        pieces = [self._waiting]
        length = len(self._waiting)
        while not self._is_over and (size < 0 or length < size):
            pieces.append(self._next_piece())
            length += len(pieces[-1])
        data = b"".join(pieces)
        size = len(data) if size < 0 else size
        self._waiting = data[size:]
        return data[:size]

    def _next_piece(self) -> bytes:
        piece = self._stream.read(_PIECE)
        self._is_over = not piece
        try:
            text = self._decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self._shown} is not valid {self._encoding}: see byte {self._read + error.start + 1:,}.",
                "Name its encoding: --encoding utf-8, cp1252 (Windows, Western Europe), cp1250, ...",
            ) from error
        self._read += len(piece)
        return text.encode(UTF_8, "surrogatepass")
