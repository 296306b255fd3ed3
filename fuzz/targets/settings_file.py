"""The TOML file of `wordtide fit --config`."""

import contextlib
import tempfile
from pathlib import Path

from wordtide.errors import WordtideError
from wordtide.inference.settings import resolve

SEEDS = [
    b'preset = "paper-sotu"\ndim = 20\nmax-steps = 10\n',
    b'method = "filtering"\ndiffusion = "auto"\nseed = 1\nwords = ["a"]\n',
    b"dim = 1e400\nrate = nan\ntolerance = -0.0\nthreads = true\nnegative_ratio = 1979-05-27\n",
]
_PLACE = tempfile.TemporaryDirectory(prefix="wordtide-fuzz-")


def try_input(data: bytes) -> None:
    """Resolve settings from a file with these bytes."""
    path = Path(_PLACE.name) / "settings.toml"
    path.write_bytes(data)
    with contextlib.suppress(WordtideError):
        resolve({}, config=path)
