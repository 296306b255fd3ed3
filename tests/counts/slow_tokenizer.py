"""A tokenizer for tests of clusters: it records who splits which text, and waits at one until released.

It works in the folder that the environment names, so that workers find it wherever they were started.
"""

import os
import time
from pathlib import Path


def split(text: str) -> list[str]:
    """The words of a text."""
    place = Path(os.environ["SLOW_PLACE"])
    words = text.split()
    with open(place / "log", "a", encoding="utf-8") as log:
        log.write(f"{os.getpid()} {words[0]}\n")
    if words[0] == "wait" and not (place / "go").exists():
        (place / "waiting.new").write_text(str(os.getpid()), encoding="utf-8")
        os.rename(place / "waiting.new", place / "waiting")
        while not (place / "go").exists():
            time.sleep(0.02)
    return words
