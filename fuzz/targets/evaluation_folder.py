"""The folders of evaluations and tunings: header, times of fits, and records of fits."""

import contextlib
import json
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path

from wordtide.errors import WordtideError
from wordtide.evaluation.folder import EVALUATION, TUNING, load_record, seconds_of_fits
from wordtide.evaluation.scores import SliceScore

_HEADER = {"kind": "evaluation", "version": 1, "counts": "these", "files": {}}
_RECORD = {"scores": [asdict(SliceScore("smoothing", 0, 1900.5, -0.5, 100.0))], "seconds": 1.5}
SEEDS = [
    b"\x00" + json.dumps(_HEADER).encode(),
    b"\x00" + json.dumps({**_HEADER, "kind": "tuning", "files": {"../x": {"bytes": 1}}}).encode(),
    b'\x01{"smoothing": 1.5, "static": null}',
    b"\x02" + json.dumps(_RECORD).encode(),
    b'\x02{"scores": [{"method": "a", "slice": 0}], "seconds": "x"}',
]
_PLACE = tempfile.TemporaryDirectory(prefix="wordtide-fuzz-")


def try_input(data: bytes) -> None:
    """The first byte names the file that has the rest for content."""
    folder = Path(_PLACE.name) / "folder"
    shutil.rmtree(folder, ignore_errors=True)
    names = ("header.json", "models/seconds.json", "fits/a.json")
    path = folder / names[(data[0] if data else 0) % len(names)]
    path.parent.mkdir(parents=True)
    path.write_bytes(data[1:])
    for work in (EVALUATION, TUNING):
        with contextlib.suppress(WordtideError):
            work.check(folder, {"counts": "these"}, overwrite=False, resume=True)
    with contextlib.suppress(WordtideError):
        seconds_of_fits(folder)
    with contextlib.suppress(WordtideError):
        load_record(folder, "a", [0])
