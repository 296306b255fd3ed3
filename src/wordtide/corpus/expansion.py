"""How much longer compressed input may become: a few kilobytes must not turn into all the memory and days of work.

Text shrinks to a third or a tenth when it is compressed, and hardly ever to less than a fiftieth. What becomes longer than
`MAX_EXPANSION` times its compressed bytes, and than `ALWAYS_ALLOWED`, is refused; who knows the file raises the limit.
"""

import io
from collections.abc import Callable
from typing import IO, Final

from wordtide.errors import InputError, SettingsError

MAX_EXPANSION: Final = 200
#: Bytes that any input may have, however well it was compressed: they do no harm.
ALWAYS_ALLOWED: Final = 64 << 20
_PIECE: Final = 8 << 20


def check_max_expansion(limit: int) -> None:
    """SettingsError for a limit that is none."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 1 << 40:
        raise SettingsError(
            f"--max-expansion {limit} is out of range.", f"Give a whole number from 1 to {1 << 40}."
        )


def check_expansion(shown: str, compressed: int, length: int, limit: int) -> None:
    """InputError for what has become too long: `length` bytes of `compressed` ones."""
    if length > max(ALWAYS_ALLOWED, limit * compressed):
        raise InputError(
            f"{shown} expands to more than {limit} times its compressed size ({length >> 20:,} MB so far).",
            f"Is it damaged, or made to fill a disk? If it is what you expect, count it with --max-expansion {10 * limit}.",
        )


class Inflated(io.RawIOBase):
    """A decompressed stream that is checked as it is read. `compressed` tells how many bytes it was made of so far."""

    def __init__(self, stream: IO[bytes], compressed: Callable[[], int], limit: int, shown: str) -> None:
        self._stream = stream
        self._compressed = compressed
        self._limit = limit
        self._shown = shown
        self._length = 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes, all of them if no number is given. Memory grows with what is allowed only."""
        pieces = []
        while size != 0:
            piece = self._stream.read(min(size, _PIECE) if size > 0 else _PIECE)
            if not piece:
                break
            pieces.append(piece)
            self._length += len(piece)
            size -= len(piece) if size > 0 else 0
            check_expansion(self._shown, self._compressed(), self._length, self._limit)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)
