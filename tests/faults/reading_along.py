"""A reader that repeatedly opens a target while it is written: it must find nothing or a complete state."""

import os
import threading
import time
from pathlib import Path

import wordtide
from wordtide.errors import FolderError
from wordtide.storage.header import HEADER, read_header

_LOADERS = {
    "counts": lambda path: (counts := wordtide.Counts.load(path, check=True)) and tuple(counts.labels),
    "model": lambda path: tuple(wordtide.load(path, check=True).labels),
    "explorer page": lambda path: (read_header(path, "explorer page", 1), "whole")[1],
    "evaluation": lambda path: (read_header(path, "evaluation", 1), "whole")[1],
    "tuning": lambda path: (read_header(path, "tuning", 1), "whole")[1],
}


class Reader(threading.Thread):
    """Opens a target repeatedly. `problems`: unexpected content; `seen`: how often each state was found."""

    def __init__(self, target: Path, kind: str) -> None:
        super().__init__(daemon=True)
        self.target, self.kind = target, kind
        self.problems: list[str] = []
        self.seen: dict[object, int] = {}
        self._over = threading.Event()

    def __enter__(self) -> "Reader":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join(timeout=60)
        assert not self.is_alive()

    def run(self) -> None:
        """Read until told to stop."""
        while not self._over.wait(0.003):
            try:
                state = self.state()
            except Exception as error:  # a thread has nobody to raise to
                self.problems.append(f"{type(error).__name__}: {error}")
            else:
                self.seen[state] = self.seen.get(state, 0) + 1

    def state(self) -> object:
        """The state of the target; None if there is none."""
        if self.kind == "file":
            try:
                return hash(self.target.read_bytes())
            except FileNotFoundError:
                return None
        try:
            return _LOADERS[self.kind](self.target)
        except FolderError:
            if self._is_absent():
                return None
            raise

    def _is_absent(self) -> bool:
        """Whether there is no target, or it came or went just now. One that stays without a header is incomplete."""
        try:
            opened = os.open(self.target, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return True
        try:
            if HEADER not in os.listdir(opened):
                time.sleep(0.01)
                return (
                    not os.path.exists(self.target) or os.stat(self.target).st_ino != os.fstat(opened).st_ino
                )
        finally:
            os.close(opened)
        return _loads(self.target, self.kind)


def _loads(target: Path, kind: str) -> bool:
    """It came after the reader had looked, so it must be complete now."""
    _LOADERS[kind](target)
    return True
