"""The CSV of scores that `wordtide plot likelihood` reads."""

import contextlib
import tempfile
from pathlib import Path

from wordtide.errors import WordtideError
from wordtide.figures.method_figures import read_scores

SEEDS = [
    b"method,time,log_likelihood,pairs\nsmoothing,1862.5,-0.6,100\nfiltering,1862.5,-0.7,100\n",
    b'\xef\xbb\xbfpairs,method,log_likelihood,time\n1e400,"a\nb",nan,soon\n',
]
_PLACE = tempfile.TemporaryDirectory(prefix="wordtide-fuzz-")


def try_input(data: bytes) -> None:
    """Read a table of scores."""
    path = Path(_PLACE.name) / "scores.csv"
    path.write_bytes(data)
    with contextlib.suppress(WordtideError):
        read_scores(path)
