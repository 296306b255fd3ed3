"""Letters and digits among eight characters at a time, as one 64-bit number with the first character lowest.

A sum sets the high bit of those characters that reach a bound. No sum carries over to the next character.
"""

from typing import Final

import numpy as np

from wordtide.compiled import integer, leaf, trailing_zeros

_HIGH_BITS: Final = np.uint64(0x80_80_80_80_80_80_80_80)
_LOWER_CASE: Final = np.uint64(0x20_20_20_20_20_20_20_20)
_FROM_A: Final = np.uint64(0x1F_1F_1F_1F_1F_1F_1F_1F)  # 0x80 - "a"
_AFTER_Z: Final = np.uint64(0x05_05_05_05_05_05_05_05)  # 0x7F - "z"
_ZEROS: Final = np.uint64(0x30_30_30_30_30_30_30_30)  # "0"
_FROM_TEN: Final = np.uint64(0x76_76_76_76_76_76_76_76)  # 0x80 - 10


@leaf
def letters_ahead(characters: np.uint64) -> int:
    """How many characters are ASCII letters, up to the first that is not."""
    folded = (characters | _LOWER_CASE) & ~_HIGH_BITS
    letters = (folded + _FROM_A) & ~(folded + _AFTER_Z) & ~characters
    return integer(trailing_zeros(~letters & _HIGH_BITS) >> np.uint64(3))


@leaf
def lowered(characters: np.uint64, length: int) -> np.uint64:
    """The first one to eight characters, ASCII letters, in lower case; the others become zero."""
    others = np.uint64(64 - 8 * length)
    return (characters | _LOWER_CASE) << others >> others


@leaf
def digits_ahead(characters: np.uint64) -> int:
    """How many characters are digits, up to the first that is not."""
    values = characters ^ _ZEROS
    others = ((values & ~_HIGH_BITS) + _FROM_TEN) | values
    return integer(trailing_zeros(others & _HIGH_BITS) >> np.uint64(3))


@leaf
def number_ahead(characters: np.uint64, length: int) -> int:
    """The number in the first one to eight characters, digits: joined to pairs, to fours, and to eight."""
    digits = (characters ^ _ZEROS) << np.uint64(64 - 8 * length)
    digits = (digits * np.uint64(10) + (digits >> np.uint64(8))) & np.uint64(0x00FF_00FF_00FF_00FF)
    digits = (digits * np.uint64(100) + (digits >> np.uint64(16))) & np.uint64(0x0000_FFFF_0000_FFFF)
    return integer((digits * np.uint64(10_000) + (digits >> np.uint64(32))) & np.uint64(0xFFFF_FFFF))
