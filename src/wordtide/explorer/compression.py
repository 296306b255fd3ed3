"""JSON and arrays as the page reads them: without NaN, compressed with gzip, the same bytes for the same
content.
"""

import json
import math
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

_LEVEL = 6  # 9 takes three times as long and saves 1 %
_GZIP = 31  # zlib's code for a gzip frame; it carries no date
_DECIMALS = 6  # of numbers in JSON: years to half a minute, cosines far below the quantization of vectors
_SMALL, _DIGITS = 1e-3, 4  # smaller numbers, such as settings, keep this many significant digits


def gzipped(parts: Iterable[bytes]) -> bytes:
    """Concatenate parts and compress them into one gzip frame."""
    press = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return b"".join([*(press.compress(part) for part in parts), press.flush()])


def packed_json(content: object) -> bytes:
    """Encode content as compressed JSON in UTF-8; NaN and infinities become null."""
    text = json.dumps(plain(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return gzipped([text.encode("utf-8", "surrogatepass")])


def plain(value: Any) -> Any:
    """Convert content to Python's own types, with rounded floats and None for what is not finite."""
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return _rounded(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def _rounded(value: float) -> float:
    return round(value, _DECIMALS) if abs(value) >= _SMALL else float(f"{value:.{_DIGITS}g}")


def whole_or_float(number: Any) -> int | float:
    """A count as an integer if it is whole; counts of n-grams may not be."""
    return int(number) if float(number).is_integer() else float(number)
