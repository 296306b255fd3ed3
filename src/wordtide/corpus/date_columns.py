"""A whole column of dates at once: each distinct value is parsed once."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wordtide.dates import Stamp, parse_date


def parse_column(
    column: pa.Array, date_format: str | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], dict[int, str]]:
    """Stamps and spans of a column, and for each row that has no good date the reason."""
    stamps = np.zeros(len(column), dtype=np.int64)
    spans = np.ones(len(column), dtype=np.int64)
    wrong: dict[int, str] = {}
    if pa.types.is_timestamp(column.type) and date_format is None:
        seconds = column.cast(pa.timestamp("s", tz=column.type.tz), safe=False).cast(pa.int64())
        stamps[:] = pc.fill_null(seconds, 0).to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)):
            wrong[int(row)] = "the date is missing"
        return stamps, spans, wrong
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    parsed: list[Stamp | str] = []
    for value in encoded.dictionary.to_pylist():
        try:
            parsed.append(parse_date(value, date_format))
        except (ValueError, OverflowError) as error:
            parsed.append(str(error))
    parsed.append("the date is missing")
    indices = pc.fill_null(encoded.indices, len(parsed) - 1).to_numpy(zero_copy_only=False)
    good = [entry if isinstance(entry, tuple) else (0, 0) for entry in parsed]
    stamps[:] = np.array([stamp for stamp, _ in good], dtype=np.int64)[indices]
    spans[:] = np.array([span for _, span in good], dtype=np.int64)[indices]
    for row in np.flatnonzero(spans == 0):
        wrong[int(row)] = str(parsed[indices[row]])
    return stamps, spans, wrong
