"""Five texts, each a shard, and a tokenizer that waits at one of them, so that tests can kill processes."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wordtide

TEXTS = ["one", "two", "wait", "four", "five"]
TOKENIZER = "counts.slow_tokenizer:split"


def prepare(place: Path) -> None:
    """Write the texts, and their counts as one machine makes them."""
    (place / "texts").mkdir()
    for number, name in enumerate(TEXTS):
        (place / "texts" / f"190{number}.txt").write_text(
            f"{name} steam power drives the mill", encoding="utf-8"
        )
    (place / "go").touch()
    wordtide.count(place / "texts", output=place / "here", tokenizer=TOKENIZER, workers=1)
    for name in ("go", "log"):
        (place / name).unlink()


def wait_for(condition: Callable[[], Any], process: Any = None) -> None:
    """Wait until a condition holds, as long as a process lives."""
    until = time.monotonic() + 100
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)


def readers_of(place: Path) -> dict[str, list[int]]:
    """For each text the processes that split it, in order."""
    found: dict[str, list[int]] = {name: [] for name in TEXTS}
    for line in (place / "log").read_text(encoding="utf-8").splitlines():
        process, name = line.split()
        found[name].append(int(process))
    return found


def finished_scans(place: Path) -> list[Path]:
    """The headers of the shards that are read."""
    return list(place.glob("there.work/job-*/scan-*/header.json"))
