"""The description of a job that every worker gets, its tasks, and its pieces in the work folder.

Tasks carry the names of pieces, never arrays: they exchange data through the work folder. Large data are in
column files: parts with the same named columns (arrays and lists of strings) lie in one .npy file per column,
memory-mapped when it is read, and `parts.json` holds the ends of the parts. A shard with a hundred segments
takes twenty files instead of two thousand.
"""

import json
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.corpus.byte_streams import SourceFile
from wordtide.corpus.sources import Corpus
from wordtide.corpus.tokens.lexicon import Lexicon
from wordtide.corpus.tokens.tokenizers import Tokenizer
from wordtide.counts.settings import CountSettings
from wordtide.counts.warm_up import warm_up
from wordtide.counts.workers import CountInput, PairRule, Resources
from wordtide.dask_client import Task
from wordtide.errors import OutputError
from wordtide.progress import Observer
from wordtide.storage.arrays import GrowingArray, GrowingArrays, load_array, save_array
from wordtide.storage.work_folder import WorkFolder, fingerprint
from wordtide.types import Array, Bytes, Integers

#: The columns of one part.
Part = Mapping[str, "Array | Sequence[str]"]

#: The files of a lexicon, and their dtypes.
_LEXICON = {"lexicon_letters": "u1", "lexicon_lengths": "i8", "lexicon_totals": "i8"}
_warming = threading.Lock()
_warmed: set[bool] = set()
_INDEX = "parts.json"
_LENGTHS = "_lengths"  # beside the bytes of a column of strings


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
        return read_word_list(self.work.folder(self.vocabulary)) if self.vocabulary else None

    def task(self, corpus: Corpus, resources: Resources) -> CountInput:
        """The input of a task that reads a shard."""
        words = self.fixed_words()
        return CountInput(corpus, self.settings, self.dates, words, self.tokenizer, resources)

    @contextmanager
    def room(self, folder: Path) -> Iterator[Resources]:
        """The resources of one task; its temporary files, in the folder of its piece, go with the block."""
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
class Piece:
    """A piece to make: `make(job, name, *arguments)` makes it."""

    name: str
    make: Callable[..., None]
    arguments: tuple[Any, ...]

    def task(self, job: Job) -> Task:
        """The task that makes this piece of a job."""
        return Task(self.name, make_piece, (job, self))


def make_piece(job: Job, piece: Piece) -> None:
    """Make a piece on a worker, unless another worker has made it."""
    if not job.work.path.is_dir():
        raise OutputError(
            f"A worker does not see the work folder {job.folder}.",
            "Choose one on a disk that all workers share: --work DIR.",
        )
    if not job.work.has(piece.name):
        job.warm_up()
        piece.make(job, piece.name, *piece.arguments)


#: Makes the pieces of a stage on the cluster.
Run = Callable[[str, Sequence[Piece]], None]


def on_shards(
    run: Run, stage: str, kind: str, make: Callable[..., None], plan: str, scans: Sequence[str], *more: Any
) -> list[str]:
    """Make a piece of each shard by `make(job, name, plan, shard, scan, *more)`; returns their names."""
    tasks = [
        Piece(f"{kind}-{fingerprint(plan, scan, *more)}", make, (plan, number, scan, *more))
        for number, scan in enumerate(scans)
    ]
    run(stage, tasks)
    return [task.name for task in tasks]


@dataclass(frozen=True)
class CountPlan:
    """How to count a shard: the vocabulary, the window, and the slices of its entries."""

    words: list[str]
    phrases: list[str]
    window: int
    slices: int
    share: dict[str, Any]  # the shard's own part

    def pair_rule(self, numbering: npt.NDArray[np.int32], settings: CountSettings) -> PairRule:
        """The pairs to count in a shard whose words have this numbering."""
        return PairRule([numbering], len(self.words), self.window, settings)


def write_plan(
    work: WorkFolder,
    piece: str,
    words: Sequence[str],
    phrases: Sequence[str],
    window: int,
    slices: int,
    parts: Sequence[Part],
) -> None:
    """Store the plan of all shards; `parts` has one part for each shard, or one for all."""
    if not work.has(piece):
        with work.new_piece(piece) as (folder, facts):
            write_parts(folder, parts)
            facts.update(
                window=window, slices=slices, shares=len(parts), words=list(words), phrases=list(phrases)
            )


def read_plan(work: WorkFolder, piece: str, shard: int) -> CountPlan:
    """Read the plan of one shard."""
    facts = work.facts(piece)
    parts = read_parts(work.folder(piece))
    share = parts[shard if len(parts) > 1 else 0]
    return CountPlan(facts["words"], facts["phrases"], facts["window"], facts["slices"], share)


def write_word_list(folder: Path, words: Sequence[str]) -> None:
    """Store a list of words."""
    write_parts(folder, [{"words": words}])


def read_word_list(folder: Path) -> list[str]:
    """Read a list of words."""
    words: list[str] = read_parts(folder)[0]["words"]
    return words


def write_lexicon(folder: Path, lexicon: Lexicon) -> None:
    """Store a lexicon: words, numbers and totals."""
    arrays: tuple[Array, ...] = lexicon.word_bytes()
    for name, array in zip(_LEXICON, arrays, strict=True):
        save_array(folder, name, array)


def read_lexicon(folder: Path) -> Lexicon:
    """Read a lexicon."""
    return Lexicon.restored(*(load_array(folder, name, dtype, True) for name, dtype in _LEXICON.items()))


def write_parts(folder: Path, parts: Iterable[Part]) -> None:
    """Write parts, all with the same columns, to a folder."""
    columns: dict[str, dict[str, Any]] = {}
    ends: list[dict[str, int]] = []
    with GrowingArrays(folder, {}) as files:
        for part in parts:
            for name, values in part.items():
                columns.setdefault(name, _kind(values))
                for column, array in _arrays(name, values):
                    if column not in files:
                        files[column] = GrowingArray(folder, column, array.dtype)
                    if array.dtype.itemsize > files[column].dtype.itemsize:
                        files[column].widen(array.dtype)
                    files[column].append(array.ravel())
            ends.append({column: file.length for column, file in files.items()})
        files.close()
    (folder / _INDEX).write_text(
        json.dumps({"columns": columns, "ends": ends}), encoding="utf-8", newline="\n"
    )


def read_parts(folder: Path) -> list[dict[str, Any]]:
    """Read the parts of a folder; their arrays are memory-mapped."""
    index = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
    stored: dict[str, Array] = {}
    parts: list[dict[str, Any]] = []
    before: dict[str, int] = {}
    for ends in index["ends"]:
        part: dict[str, Any] = {}
        for column, stop in ends.items():
            if column not in stored:
                stored[column] = np.load(folder / f"{column}.npy", mmap_mode="c", allow_pickle=False).view(
                    np.ndarray
                )
            part[column] = stored[column][before.get(column, 0) : stop]
        for name, facts in index["columns"].items():
            if facts["strings"]:
                part[name] = _strings(part[name], part.pop(name + _LENGTHS))
            elif facts["width"]:
                part[name] = part[name].reshape(-1, facts["width"])
        before = ends
        parts.append(part)
    return parts


def _kind(values: object) -> dict[str, Any]:
    if isinstance(values, np.ndarray):
        return {"strings": False, "width": values.shape[1] if values.ndim == 2 else 0}
    return {"strings": True, "width": 0}


def _arrays(name: str, values: Any) -> list[tuple[str, Array]]:
    if isinstance(values, np.ndarray):
        return [(name, values)]
    coded = [text.encode("utf-8", "surrogatepass") for text in values]
    lengths = np.array([len(text) for text in coded], dtype=np.int64)
    return [(name, np.frombuffer(b"".join(coded), dtype=np.uint8)), (name + _LENGTHS, lengths)]


def _strings(letters: Bytes, lengths: Integers) -> list[str]:
    data = letters.tobytes()
    ends = np.cumsum(lengths)
    starts = ends - lengths
    return [
        data[start:stop].decode("utf-8", "surrogatepass")
        for start, stop in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
