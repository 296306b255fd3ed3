"""The speed of counting, measured against other tools on generated data, in one run on one machine.

    python benchmarks/counting.py [--tokens N]

prints one Markdown table. Times are wall-clock times, the best of three, ours and theirs in alternation, on
one core unless the row says two. If another tool does the same job, its result must equal ours exactly, or
the run fails. Times exclude compilation. The exit code is 1 if a required ratio is missed.
"""

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import generated
import numpy as np
import rivals
from results import Table

import wordtide

ROUNDS = 3
SIZES = (1, 4, 16)
SEVERAL = 4  # files, of texts or n-grams, that two workers count together
SMALL_MEMORY = 1 << 28
TWIN_REQUIRED, ANALYSER_REQUIRED, DUCKDB_REQUIRED, WORKERS_REQUIRED = 20.0, 8.0, 8.0, 1.7
GENSIM_REQUIRED, PLAIN_REQUIRED = 5.0, 1 / 1.6  # with phrases at most 1.6 times as long as without
GROUPS_REQUIRED = {2: 0.67, 10: 0.4}  # at most 1.5 and 2.5 times the time of a plain count

# A process of its own, so that the peak is its own: Linux hands the parent's ru_maxrss on to a child, but not
# its VmHWM.
_COUNT_ALONE = """
import sys, time, wordtide
wordtide.count([("1850", "Steam power. Steam engines.")], workers=1)
start = time.perf_counter()
wordtide.count(sys.argv[3:], output=sys.argv[1], workers=1, memory=int(sys.argv[2]))
seconds = time.perf_counter() - start
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(seconds, peak)
"""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Row:
    """One line of the table. The ratio says how many times longer theirs took."""

    what: str
    ours: float
    theirs: float | None = None
    required: float | None = None
    peak: float | None = None  # MiB

    @property
    def missed(self) -> bool:
        return (
            self.required is not None and self.theirs is not None and self.theirs / self.ours < self.required
        )

    def cells(self) -> tuple[str, ...]:
        theirs, ratio, required, verdict = "", "", "", ""
        if self.theirs is not None:
            theirs = f"{self.theirs:.3f}"
            ratio = f"{self.theirs / self.ours:.{1 if self.theirs > self.ours else 2}f}"
        if self.required is not None:
            required, verdict = f"{self.required:g}", "MISSED" if self.missed else "ok"
        peak = "" if self.peak is None else f"{self.peak:,.0f}"
        return self.what, f"{self.ours:.3f}", theirs, ratio, required, verdict, peak


class Corpora(NamedTuple):
    """The generated files: a small text, a large one of `tokens` words, and n-gram tables."""

    small: Path
    texts: list[Path]
    compressed: Path
    phrases: Path
    ngrams: dict[int, list[Path]]  # by version


def make_corpora(folder: Path, tokens: int) -> Corpora:
    """Write all files.

    Each text and table has words of its own seed, so that a larger corpus holds more distinct pairs.
    """
    words = generated.make_words()
    small = folder / "small.jsonl"
    generated.write_texts(small, words, 1000, seed=99)
    texts = [folder / f"text-{number:02}.jsonl" for number in range(max(SIZES))]
    for number, path in enumerate(texts):
        generated.write_texts(path, words, tokens, seed=100 + number)
    compressed = folder / "text.jsonl.gz"
    with texts[0].open("rb") as plain, gzip.open(compressed, "wb", compresslevel=6) as file:
        shutil.copyfileobj(plain, file)
    phrases = folder / "phrases.jsonl"
    generated.write_phrases(phrases, texts[0], words)
    ngrams = {
        version: [folder / f"5gram-v{version}-{number}.gz" for number in range(SEVERAL)] for version in (2, 3)
    }
    for number in range(SEVERAL):
        table = generated.make_ngrams(words, tokens, seed=200 + number)
        generated.write_v2(ngrams[2][number], table)
        generated.write_v3(ngrams[3][number], table)
    return Corpora(small, texts, compressed, phrases, ngrams)


def use_cores(cores: Sequence[int]) -> None:
    """Bind all threads of this process, and processes it starts, to these cores."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), cores)


def busy_seconds() -> tuple[float, float]:
    """Processor seconds used so far by the whole machine, and by this process and its children."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, *interrupts = map(int, file.readline().split()[1:9])
    times = os.times()
    ours = times.user + times.system + times.children_user + times.children_system
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK"), ours


def timed(job: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds a job took, and its result."""
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


def race(
    what: str,
    ours: Callable[[], object],
    theirs: Callable[[], Result],
    required: float | None = None,
    check: Callable[[Result], None] = lambda _: None,
) -> Row:
    """Run both jobs in alternation and keep the best time of each; `check` gets their first result."""
    report(what)
    our_times, their_times = [], []
    for turn in range(ROUNDS):
        our_times.append(timed(ours)[0])
        seconds, result = timed(theirs)
        their_times.append(seconds)
        if turn == 0:
            check(result)
        del result  # before the next turn: memory in use slows both
    return Row(what, min(our_times), min(their_times), required)


def report(progress: str) -> None:
    """Print progress to standard error."""
    print(f"  {progress}", file=sys.stderr, flush=True)


def count_text(
    path: Path, workers: int = 1, tokenizer: str | None = None, phrases: str = "none"
) -> wordtide.Counts:
    """Count one file of texts with default settings."""
    return wordtide.count(path, workers=workers, tokenizer=tokenizer, phrases=phrases)


def count_ngrams(paths: Path | list[Path], workers: int = 1) -> wordtide.Counts:
    """Count n-gram tables."""
    return wordtide.count(paths, format="ngrams", workers=workers)


def entries_of(counts: wordtide.Counts) -> tuple[np.ndarray, ...]:
    """All stored entries as columns year, low, high and weight, sorted."""
    columns: list[list[np.ndarray]] = [[], [], [], []]
    for t, label in enumerate(counts.labels):
        half = counts.upper(t).tocoo()
        for column, part in zip(
            columns, (np.full(half.nnz, int(label)), *half.coords, half.data), strict=True
        ):
            column.append(part.astype(np.int64))
    return tuple(np.concatenate(column) for column in columns)


def twin_entries(twin: rivals.TextCounts) -> tuple[np.ndarray, ...]:
    """The twin's entries in the form of `entries_of`."""
    tables = []
    for year, counter in sorted(twin.pairs.items()):
        pairs = np.array(list(counter), dtype=np.int64).reshape(-1, 2)
        weights = np.fromiter(counter.values(), dtype=np.int64, count=len(counter))
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        tables.append(np.column_stack([np.full(len(order), year), pairs[order], weights[order]]))
    return tuple(np.concatenate(tables).T)


def require_equal(
    counts: wordtide.Counts, words: Sequence[str], entries: tuple[np.ndarray, ...], whose: str
) -> None:
    """Fail unless vocabulary and all entries are the same."""
    if counts.words != list(words):
        raise AssertionError(f"{whose} vocabulary differs from ours")
    ours = entries_of(counts)
    if not all(np.array_equal(one, other) for one, other in zip(ours, entries, strict=True)):
        raise AssertionError(
            f"{whose} counts differ from ours: {len(entries[0]):,} entries and {len(ours[0]):,}"
        )


def text_rows(corpora: Corpora) -> Iterator[Row]:
    """Text end to end against a Python twin, scikit-learn, `wc` and bare inflation."""
    path = corpora.texts[0]
    counts = count_text(path)
    with path.open(encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]

    def check(twin: rivals.TextCounts) -> None:
        require_equal(counts, twin.words, twin_entries(twin), "the twin's")

    ours = partial(count_text, path)
    twin = partial(rivals.count_texts_in_python, path)
    analyser = partial(rivals.analyse_with_sklearn, texts)
    yield race(
        "text, JSON Lines: plain Python twin (`re.findall`, `Counter`)", ours, twin, TWIN_REQUIRED, check
    )
    yield race("text: scikit-learn, analyser alone", ours, analyser, ANALYSER_REQUIRED)
    yield race(
        "text: scikit-learn, words counted (no pairs)", ours, partial(rivals.count_words_with_sklearn, texts)
    )
    yield race("text: `wc -w`", ours, partial(rivals.count_words_with_wc, path))
    yield from inflation_rows("text, .jsonl.gz", partial(count_text, corpora.compressed), corpora.compressed)


def phrase_rows(corpora: Corpora) -> Iterator[Row]:
    """Phrases found and counted against plain counting, and against gensim, which is given the tokens."""
    ours = partial(count_text, corpora.phrases, phrases="auto")
    plain = partial(count_text, corpora.phrases)
    planted = generated.PHRASE_RANKS[1] - generated.PHRASE_RANKS[0]
    found = len(ours().settings.phrases)
    if found < 0.9 * planted:
        raise AssertionError(f"{found} of {planted} phrases were found")
    yield race("text, `--phrases auto`: the same without phrases", ours, plain, PLAIN_REQUIRED)
    with corpora.phrases.open(encoding="utf-8") as file:
        tokens = [words for line in file for words in rivals.sentences(json.loads(line)["text"])]
    what = "text, `--phrases auto`: gensim `Phrases`, two rounds, from tokens (no reading, no pairs)"
    report(what)
    seconds = min(timed(ours)[0] for _ in range(ROUNDS))
    yield Row(what, seconds, timed(partial(rivals.find_phrases_with_gensim, tokens))[0], GENSIM_REQUIRED)


def ngram_rows(corpora: Corpora) -> Iterator[Row]:
    """N-gram tables against DuckDB and bare inflation."""
    for version, (path, *_) in corpora.ngrams.items():
        what = f"5-grams, version {version}"
        counts = count_ngrams(path)

        def check(result: rivals.NgramResult, counts: wordtide.Counts = counts) -> None:
            require_equal(counts, result.words(), result.entries(), "DuckDB's")

        ours = partial(count_ngrams, path)
        theirs = partial(rivals.count_ngrams_with_duckdb, path, version)
        yield race(f"{what}: DuckDB", ours, theirs, DUCKDB_REQUIRED, check)
        yield from inflation_rows(what, ours, path)


def inflation_rows(what: str, ours: Callable[[], object], path: Path) -> Iterator[Row]:
    """Our whole job against bare decompression of the same file."""
    yield race(f"{what}: inflation alone, zlib", ours, partial(rivals.inflate_with_zlib, path))
    yield race(f"{what}: inflation alone, isal", ours, partial(rivals.inflate_with_isal, path))


def general_rows(corpora: Corpora) -> Iterator[Row]:
    """The cost of a tokenizer written in Python."""
    path = corpora.texts[0]
    counts = count_text(path)

    def check(general: wordtide.Counts) -> None:
        require_equal(counts, general.words, entries_of(general), "the general path's")

    general = partial(count_text, path, tokenizer="rivals:sentences")
    what = "text: our general path, a tokenizer in Python (`re.findall`)"
    yield race(what, partial(count_text, path), general, check=check)


def group_rows(corpora: Corpora) -> Iterator[Row]:
    """The cost of counting groups of documents beside all of them; theirs is the same count without groups."""
    path = corpora.texts[0].with_name("grouped.jsonl")
    with corpora.texts[0].open(encoding="utf-8") as plain, path.open("w", encoding="utf-8") as file:
        for number, line in enumerate(plain):
            row = json.loads(line) | {str(groups): f"group {number % groups}" for groups in GROUPS_REQUIRED}
            file.write(json.dumps(row) + "\n")
    counts = count_text(path)

    def check(whole: wordtide.Counts) -> None:
        require_equal(counts, whole.words, entries_of(whole), "the groups'")

    for groups, required in GROUPS_REQUIRED.items():
        ours = partial(wordtide.count, path, workers=1, group_field=str(groups))
        check(ours())
        yield race(
            f"text: {groups} groups; theirs is without groups", ours, partial(count_text, path), required
        )


def worker_rows(corpora: Corpora, tokens: int) -> Iterator[Row]:
    """Two workers on two cores (ours) against one worker (theirs), which has the same two cores.

    What takes half a second gains less: what is done once per count takes a tenth of that.
    """
    size = f"{SEVERAL * tokens / 1e6:g} M"
    several = partial(wordtide.count, corpora.texts[:SEVERAL])
    jobs = [
        (f"text, {size} words in {SEVERAL} files", several, WORKERS_REQUIRED),
        ("text", partial(count_text, corpora.texts[0]), None),
    ]
    for version, paths in corpora.ngrams.items():
        what = f"5-grams, version {version}"
        several = partial(count_ngrams, paths)
        jobs += [
            (f"{what}, {size} n-gram-years in {SEVERAL} files", several, WORKERS_REQUIRED),
            (what, partial(count_ngrams, paths[0]), None),
        ]
    for what, job, required in jobs:
        yield race(
            f"{what}: two workers; theirs is one worker",
            partial(job, workers=2),
            partial(job, workers=1),
            required,
        )


def size_rows(corpora: Corpora, folder: Path, tokens: int) -> Iterator[Row]:
    """Time and peak memory of a fresh process as the corpus grows, output to a folder, little memory allowed."""
    for size in (0, *SIZES):
        paths = corpora.texts[:size] or [corpora.small]
        words = f"{size * tokens / 1e6:g} M" if size else "one thousand"
        what = f"text, {words} words, memory={SMALL_MEMORY >> 20} MiB"
        report(what)
        runs = [count_alone(paths, folder / f"counts-{size}-{turn}") for turn in range(ROUNDS)]
        peak = max(kibibytes for _, kibibytes in runs) / 1024
        yield Row(what, min(seconds for seconds, _ in runs), peak=peak)


def count_alone(paths: Sequence[Path], output: Path) -> tuple[float, int]:
    """Seconds and peak memory (KiB) of one count in a process of its own."""
    command = [sys.executable, "-c", _COUNT_ALONE, str(output), str(SMALL_MEMORY), *map(str, paths)]
    seconds, kibibytes = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    shutil.rmtree(output)
    return float(seconds), int(kibibytes)


def warm_up(corpora: Corpora) -> None:
    """Compile everything that the timed calls use."""
    for workers in (1, 2):
        count_text(corpora.small, workers)
        count_text(corpora.texts[0], workers)
        count_text(corpora.phrases, workers, phrases="auto")
        count_ngrams(corpora.ngrams[3][0], workers)


def measure(corpora: Corpora, folder: Path, tokens: int, cores: Sequence[int]) -> Iterator[Row]:
    """Yield each row as soon as it is measured."""
    use_cores(cores[-1:])
    yield from text_rows(corpora)
    yield from phrase_rows(corpora)
    yield from ngram_rows(corpora)
    yield from general_rows(corpora)
    yield from group_rows(corpora)
    yield from size_rows(corpora, folder, tokens)
    if len(cores) > 1:
        use_cores(cores[-2:])
        yield from worker_rows(corpora, tokens)


def main() -> int:
    """Measure and print the table; returns 1 if a required ratio was missed."""
    parser = argparse.ArgumentParser(
        description="Speed of wordtide.count against other tools, on generated data."
    )
    parser.add_argument(
        "--tokens", type=int, default=4_000_000, help="words of the text corpus at 1x (default: 4 million)"
    )
    tokens = parser.parse_args().tokens
    cores = sorted(os.sched_getaffinity(0))
    start, (machine, own) = time.perf_counter(), busy_seconds()
    missed, columns = False, ("what", "ours (s)", "theirs (s)", "ratio", "required", "", "peak MiB")
    with tempfile.TemporaryDirectory(prefix="wordtide-benchmark-") as name:
        report("generating data")
        corpora = make_corpora(Path(name), tokens)
        warm_up(corpora)
        with Table("counting", columns) as table:
            for row in measure(corpora, Path(name), tokens, cores):
                table.row(*row.cells())
                missed = missed or row.missed
            seconds, (machine_now, own_now) = time.perf_counter() - start, busy_seconds()
            others = (machine_now - machine - (own_now - own)) / seconds
            busy = f"other processes kept {others:.2f} of {len(cores)} cores busy"
            table.note(f"The run took {seconds:.0f} s; {busy}.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
