"""The paper's largest corpus in size: 209 years of generated 5-grams, 100,000 words, d = 200, on one machine.

    python experiments/scale.py [-o build/experiments/scale] [--small]

makes a table of 5-grams, counts it, filters all of it and smooths it on disk (`--offload`) for at most
`--minutes`. Each command is a process of its own, on one thread. Prints a Markdown table with the time and
memory of each command, and writes them to scale.json. Finished steps are not repeated. Needs Linux.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

import wordtide

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
import generated

YEARS = range(1800, 2009)
_POLL_SECONDS = 1.0
_STOP_SECONDS = 600.0


@dataclass(frozen=True)
class Size:
    """The size of a run: vocabulary, dimension, and the words and 5-grams that the table is drawn from."""

    vocabulary: int = 100_000
    dim: int = 200
    words: int = 150_000
    grams: int = 800_000
    years: range = YEARS


SMALL = Size(vocabulary=1_000, dim=8, words=2_000, grams=10_000, years=range(1990, 2009))


@dataclass(frozen=True)
class Stage:
    """What a command took.

    Attributes:
        seconds, cpu_seconds: Wall and CPU time of the process.
        memory: Its largest resident set, in bytes; pages of mapped files included.
        written: The bytes of what it leaves behind.
        scratch: The most bytes that it held in the folder of `--offload`.
        steps: Steps of the fit; those of all slices together for filtering.
    """

    name: str
    command: str
    seconds: float
    cpu_seconds: float
    memory: int
    written: int
    scratch: int = 0
    steps: int = 0
    elbo: float | None = None


def run(folder: Path, size: Size, minutes: float, threads: int) -> list[Stage]:
    """Run all stages that have not been run and return what they took."""
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "five-grams.gz"
    if not table.exists():
        _say("making the table")
        words = generated.make_words(number=size.words)
        made = generated.make_ngrams_of_years(words, size.grams, size.years, seed=1)
        generated.write_v3(folder / "new.gz", made)
        (folder / "table.json").write_text(json.dumps({"grams": len(made.grams), "entries": len(made.years)}))
        (folder / "new.gz").rename(table)
    count = f"count five-grams.gz -o counts --format ngrams --vocabulary-by share --vocabulary-size {size.vocabulary}"
    fit = f"--dim {size.dim} --threads {threads} --checkpoint-every 1000"
    commands = {
        "count": f"{count} --workers {threads}",
        "filter": f"fit counts -o filtered --method filtering {fit}",
        "smooth": f"fit counts -o smoothed --offload scratch {fit}",
    }
    return [_stage(folder, name, command.split(), minutes) for name, command in commands.items()]


def _stage(folder: Path, name: str, command: Sequence[str], minutes: float) -> Stage:
    target = folder / command[command.index("-o") + 1]
    record = folder / f"{name}.json"
    if record.exists():
        return Stage(**json.loads(record.read_text()))
    _say(" ".join(command))
    shutil.rmtree(target, ignore_errors=True)
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    with open(folder / f"{name}.log", "w", encoding="utf-8") as log:
        started, most, steps, stopped = time.monotonic(), 0, 0, False
        process = subprocess.Popen(
            [sys.executable, "-m", "wordtide", *command], cwd=folder, stdout=log, stderr=log
        )
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            elapsed = time.monotonic() - started
            if pid:
                break
            most, steps = max(most, _bytes_in(scratch)), max(steps, _steps_in(scratch))
            if elapsed > 60.0 * minutes + (_STOP_SECONDS if stopped else 0.0):
                process.send_signal(signal.SIGKILL if stopped else signal.SIGINT)
                stopped = True
            time.sleep(_POLL_SECONDS)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status and not stopped:
        raise SystemExit(f"{name} failed: {folder / name}.log")
    elbo = None
    if name != "count" and not status:
        model = wordtide.load(target)
        steps, elbo = len(model.curve), float(model.elbo)
    stage = Stage(
        name=name,
        command="wordtide " + " ".join(command),
        seconds=elapsed,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        memory=usage.ru_maxrss << 10,
        written=_bytes_in(target) if target.exists() else 0,
        scratch=most,
        steps=steps,
        elbo=elbo,
    )
    record.write_text(json.dumps(asdict(stage)))
    return stage


def _bytes_in(folder: Path) -> int:
    """The bytes on disk below a folder whose files may come and go."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_size
            except FileNotFoundError:
                continue
    return total


def _steps_in(scratch: Path) -> int:
    """The steps that a fit on disk has completed: files end in the number of the step that wrote them."""
    return max((int(path.name.rpartition("-")[2]) for path in scratch.glob("*/block-*-*[0-9]")), default=0)


def report(folder: Path, size: Size, stages: Sequence[Stage]) -> str:
    """Write scale.json and return the Markdown table."""
    counts = wordtide.Counts.load(folder / "counts")
    knots = wordtide.load(folder / "filtered").fitted.posterior.knots
    table = json.loads((folder / "table.json").read_text())
    facts = {
        "date": date.today().isoformat(),
        "slices": len(counts),
        "words": len(counts.words),
        "dim": size.dim,
        "grams": table["grams"],
        "entries": table["entries"],
        "table_bytes": (folder / "five-grams.gz").stat().st_size,
        "knots": len(knots),
        "pairs": int(counts.stored_pairs().sum()),
        "state_bytes": 8 * len(knots) * size.dim,
        "stages": [asdict(stage) for stage in stages],
    }
    (folder / "scale.json").write_text(json.dumps(facts, indent=1) + "\n")
    lines = [
        f"L = {facts['words']:,}, T = {facts['slices']}, d = {size.dim}; {facts['entries']:,} entries of "
        f"{facts['grams']:,} 5-grams, {facts['knots']:,} knots, {facts['pairs']:,} stored pairs",
        "",
        "| command | time | CPU | peak memory | result on disk | scratch | steps |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {stage.name} | {stage.seconds / 60:.1f} min | {stage.cpu_seconds / 60:.1f} min "
        f"| {stage.memory / 1e9:.2f} GB | {stage.written / 1e9:.2f} GB | {stage.scratch / 1e9:.1f} GB "
        f"| {stage.steps or ''} |"
        for stage in stages
    ]
    return "\n".join(lines)


def _say(message: str) -> None:
    print(f"scale: {message}", file=sys.stderr, flush=True)


def main() -> None:
    """Run the experiment."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, help="the folder to put everything into")
    parser.add_argument("--small", action="store_true", help="a version of seconds, to see that it works")
    parser.add_argument("--minutes", type=float, default=60.0, help="the longest time of a command")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    size = SMALL if given.small else Size()
    folder = given.output or Path("build") / "experiments" / ("scale-small" if given.small else "scale")
    print(report(folder, size, run(folder.resolve(), size, given.minutes, given.threads)))


if __name__ == "__main__":
    main()
