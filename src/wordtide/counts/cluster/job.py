"""The description of a job that every worker gets, its shards, and its pieces in the work folder.

Tasks carry the names of pieces, never arrays: tasks exchange data through the work folder.
"""

import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.corpus.source_files import SourceFile
from wordtide.corpus.sources import Corpus
from wordtide.corpus.tokens.lexicon import Lexicon
from wordtide.corpus.tokens.tokenizers import Tokenizer
from wordtide.counts.cluster.column_files import Part, read_parts, write_parts
from wordtide.counts.settings import CountSettings
from wordtide.counts.warm_up import warm_up
from wordtide.counts.workers import Resources
from wordtide.progress import Observer
from wordtide.storage.arrays import load_array, save_array
from wordtide.storage.work_folder import WorkFolder

_LETTERS, _LENGTHS, _TOTALS = "lexicon_letters", "lexicon_lengths", "lexicon_totals"
_warming = threading.Lock()
_warmed: set[bool] = set()


@dataclass(frozen=True)
class Shard:
    """The input of one task: some files, a portion of one, or a sample (by its name)."""

    files: tuple[SourceFile, ...]
    sample: str | None
    scan: str  # the piece with its word numbers

    def corpus(self) -> Corpus:
        """The shard as a corpus."""
        return Corpus(self.files, in_memory=self.sample)


@dataclass(frozen=True)
class Job:
    """What all tasks of a job have in common."""

    folder: str
    settings: CountSettings
    dates: tuple[int, int]
    memory: int
    ngrams: bool
    tokenizer: Tokenizer | None = None
    vocabulary: str | None = None  # the piece with the fixed vocabulary

    @property
    def work(self) -> WorkFolder:
        """The folder with the pieces."""
        return WorkFolder(Path(self.folder))

    def fixed_words(self) -> list[str] | None:
        """The fixed vocabulary, if there is one."""
        return read_words(self.work.folder(self.vocabulary)) if self.vocabulary else None

    @contextmanager
    def room(self, folder: Path) -> Iterator[Resources]:
        """The resources of one task, with temporary files in the folder of the piece it makes, removed with
        the block.
        """
        spill = folder / "spill"
        spill.mkdir()
        yield Resources(1, self.memory, spill, Observer())
        shutil.rmtree(spill)

    def warm_up(self) -> None:
        """Compile the kernels in this process, once. Thread-safe."""
        with _warming:
            if self.ngrams not in _warmed:
                warm_up(self.ngrams, say=False)  # workers print nothing
                _warmed.add(self.ngrams)


@dataclass(frozen=True)
class CountPlan:
    """How to count a shard: the vocabulary, the window, and the slices of its entries."""

    words: list[str]
    window: int
    slices: int
    share: dict[str, Any]  # the shard's own part


def write_plan(
    work: WorkFolder, piece: str, words: Sequence[str], window: int, slices: int, parts: Sequence[Part]
) -> None:
    """Store the plan of all shards; `parts` has one part for each shard, or one for all."""
    if not work.has(piece):
        with work.new_piece(piece) as (folder, facts):
            write_parts(folder, parts)
            facts.update(window=window, slices=slices, shares=len(parts), words=list(words))


def read_plan(work: WorkFolder, piece: str, shard: int) -> CountPlan:
    """Read the plan of one shard."""
    facts = work.facts(piece)
    parts = read_parts(work.folder(piece))
    return CountPlan(facts["words"], facts["window"], facts["slices"], parts[shard if len(parts) > 1 else 0])


def write_words(folder: Path, words: Sequence[str]) -> None:
    """Store a list of words."""
    write_parts(folder, [{"words": words}])


def read_words(folder: Path) -> list[str]:
    """Read a list of words."""
    words: list[str] = read_parts(folder)[0]["words"]
    return words


def write_lexicon(folder: Path, lexicon: Lexicon) -> None:
    """Store a lexicon: words, numbers and totals."""
    letters, lengths, totals = lexicon.spelled_out()
    save_array(folder, _LETTERS, letters)
    save_array(folder, _LENGTHS, lengths)
    save_array(folder, _TOTALS, totals)


def read_lexicon(folder: Path) -> Lexicon:
    """Read a lexicon."""
    letters, lengths, totals = (
        np.array(load_array(folder, name, dtype))
        for name, dtype in ((_LETTERS, "u1"), (_LENGTHS, "i8"), (_TOTALS, "i8"))
    )
    return Lexicon.restored(letters, lengths, totals)
