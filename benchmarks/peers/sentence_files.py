"""Sentences on disk, for processes that train a peer and load little else: a line each, an empty line after
every slice.
"""

from collections.abc import Sequence
from pathlib import Path

Sentences = list[list[str]]


def write_sentences(path: Path, slices: Sequence[Sentences]) -> None:
    """Write the sentences of all slices."""
    lines = [line for sentences in slices for line in (*(" ".join(sentence) for sentence in sentences), "")]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_sentences(path: Path) -> list[Sentences]:
    """What `write_sentences` wrote; each word is one object, however often it occurs."""
    slices: list[Sentences] = [[]]
    known: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        if line:
            slices[-1].append([known.setdefault(word, word) for word in line.split(" ")])
        else:
            slices.append([])
    return slices[:-1]
