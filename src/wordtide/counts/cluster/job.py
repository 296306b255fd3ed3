"""A job on a cluster: what every worker must know of it, its shards, and its pieces on shared storage.

Tasks carry names of pieces, never arrays: what one task makes for another lies in the work folder.
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
from wordtide.corpus.tokens.custom import Tokenizer
from wordtide.corpus.tokens.lexicon import Lexicon
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
    """What one worker reads at a time: some files, a portion of one, or a sample (by its name)."""

    files: tuple[SourceFile, ...]
    sample: str | None
    scan: str  # the piece that reading it makes

    def corpus(self) -> Corpus:
        """The same as a corpus of its own."""
        return Corpus(self.files, in_memory=self.sample)


@dataclass(frozen=True)
class Job:
    """What all tasks of a job share."""

    folder: str
    settings: CountSettings
    dates: tuple[int, int]
    memory: int
    ngrams: bool
    tokenizer: Tokenizer | None = None
    vocabulary: str | None = None  # the piece with the fixed vocabulary

    @property
    def work(self) -> WorkFolder:
        """Where the pieces are."""
        return WorkFolder(Path(self.folder))

    def fixed_words(self) -> list[str] | None:
        """The fixed vocabulary, if there is one."""
        return read_words(self.work.folder(self.vocabulary)) if self.vocabulary else None

    @contextmanager
    def room(self, folder: Path) -> Iterator[Resources]:
        """What one task may use; its temporary files lie in the folder of the piece it makes, and go with the block."""
        spill = folder / "spill"
        spill.mkdir()
        yield Resources(1, self.memory, spill, Observer())
        shutil.rmtree(spill)

    def warm_up(self) -> None:
        """Have the compiled code ready in this process; several threads may ask at once."""
        with _warming:
            if self.ngrams not in _warmed:
                warm_up(self.ngrams, say=False)  # a worker's words would mix with the client's
                _warmed.add(self.ngrams)


@dataclass(frozen=True)
class Plan:
    """How a shard is counted: the words, in order, and which slices its entries belong to."""

    words: list[str]
    window: int
    slices: int
    share: dict[str, Any]  # the shard's own part


def write_plan(
    work: WorkFolder, piece: str, words: Sequence[str], window: int, slices: int, parts: Sequence[Part]
) -> None:
    """Keep a plan for all shards; `parts` has one for each, or one for all."""
    if not work.has(piece):
        with work.new_piece(piece) as (folder, facts):
            write_parts(folder, parts)
            facts.update(window=window, slices=slices, shares=len(parts), words=list(words))


def read_plan(work: WorkFolder, piece: str, shard: int) -> Plan:
    """The plan for one shard."""
    facts = work.facts(piece)
    parts = read_parts(work.folder(piece))
    return Plan(facts["words"], facts["window"], facts["slices"], parts[shard if len(parts) > 1 else 0])


def write_words(folder: Path, words: Sequence[str]) -> None:
    """Keep a list of words."""
    write_parts(folder, [{"words": words}])


def read_words(folder: Path) -> list[str]:
    """Read it again."""
    words: list[str] = read_parts(folder)[0]["words"]
    return words


def write_lexicon(folder: Path, lexicon: Lexicon) -> None:
    """Keep a lexicon: words, numbers and totals."""
    letters, lengths, totals = lexicon.spelled_out()
    save_array(folder, _LETTERS, letters)
    save_array(folder, _LENGTHS, lengths)
    save_array(folder, _TOTALS, totals)


def read_lexicon(folder: Path) -> Lexicon:
    """Read it again."""
    letters, lengths, totals = (
        np.array(load_array(folder, name, dtype))
        for name, dtype in ((_LETTERS, "u1"), (_LENGTHS, "i8"), (_TOTALS, "i8"))
    )
    return Lexicon.restored(letters, lengths, totals)
