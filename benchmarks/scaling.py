"""What disks and workers cost a fit, and the rates from which larger fits are extrapolated.

    python benchmarks/scaling.py [--only places,rates] [--words 10000] [--dim 100] [--steps 4] [--every year]

prints Markdown tables. `places`: smoothing in memory, on disk and on 1 and 2 Dask workers, and filtering in
memory and on 1 and 2 workers, one thread per process; all models of a method must have the same bytes, or the
run fails. `rates`: CPU time of the parts of a fit on one core, and what Google Books needs by these rates.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from results import Table
from separate_fit import FitReport, fit_alone

import wordtide
from wordtide.inference.compute import Compute, compute
from wordtide.inference.methods import natural_options
from wordtide.inference.natural.eigen_start import signs_by_rule
from wordtide.inference.natural.prepared_slice import PreparedSlice, row_parts
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.natural.smoothing import static_start
from wordtide.inference.problem import PairSettings, Problem, pooled, problem_of
from wordtide.inference.scale.word_blocks import WordBlock
from wordtide.inference.settings import FitSettings
from wordtide.inference.training import Solver

PLACES: dict[str, list[tuple[str, dict[str, str]]]] = {
    "smoothing": [
        ("1 process, in memory", {}),
        ("1 process, on disk", {"offload": "."}),
        ("1 worker", {"scheduler": "local:1"}),
        ("2 workers", {"scheduler": "local:2"}),
    ],
    "filtering": [
        ("1 process", {}),
        ("1 worker", {"scheduler": "local:1"}),
        ("2 workers", {"scheduler": "local:2"}),
    ],
}


def places(counts: wordtide.Counts, options: argparse.Namespace) -> None:
    """The same fits in all places."""
    columns = ["method", "place", "s per step", "ratio", "CPU s of the fit", "peak memory, client", "worker"]
    with (
        tempfile.TemporaryDirectory() as name,
        Table("scaling.places", [*columns, "moved per step"], _sizes(counts, options)) as table,
    ):
        folder, source = Path(name), _source()
        counts.save(folder / "counts")
        for method, chosen in PLACES.items():
            settings = {"method": method, "dim": options.dim, "contexts": options.contexts, "threads": 1}
            if method == "smoothing":
                settings |= {"max_steps": options.steps, "tolerance": 0.0}
            base: FitReport | None = None
            for place, given in chosen:
                model = folder / ("first" if base is None else "other")
                if "offload" in given:
                    given = {"offload": name}
                report = fit_alone(folder / "counts", model, {**settings, **given})
                if _source() != source:
                    raise SystemExit(
                        "the source of wordtide changed during the run: its fits are not comparable"
                    )
                base = base or report
                _check_same_bytes(folder / "first", model, f"{method}, {place}")
                moved = report.note.partition(" read")[0]
                if method == "filtering" and "scheduler" in given:
                    moved = _moved_by_filter(counts, options, int(given["scheduler"][-1]))
                worker = f"{report.worker_peak / 1e9:.2f} GB" if "scheduler" in given else ""
                cpu, peak = report.cpu_seconds + report.worker_cpu_seconds, f"{report.peak / 1e9:.2f} GB"
                times = f"{report.step:.3f}", f"{report.step / base.step:.2f}", f"{cpu:.1f}"
                table.row(method, place, *times, peak, worker, moved)
        table.note(f"Load average after: {os.getloadavg()[0]:.1f}.")


def _sizes(counts: wordtide.Counts, options: argparse.Namespace) -> str:
    return f"T = {len(counts)}, L = {len(counts.words):,}, d = {options.dim}, {options.contexts} contexts"


def _source() -> list[tuple[str, int]]:
    """The files of the package and when they changed: each fit runs in a new process, which reads them."""
    files = Path(wordtide.__file__).parent.rglob("*.py")
    return sorted((str(path), path.stat().st_mtime_ns) for path in files)


def _check_same_bytes(first: Path, other: Path, name: str) -> None:
    """Compare all files but the two that hold the seconds of a fit."""
    names = [sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) for folder in (first, other)]
    same = names[0] == names[1]
    for each in names[0] if same else []:
        if each not in ("header.json", "curve.csv") and (first / each).is_file():
            same = same and (first / each).read_bytes() == (other / each).read_bytes()
    if not same:
        kept = Path(shutil.copytree(first.parent, Path("build") / "other-bytes", dirs_exist_ok=True))
        raise SystemExit(f"the model of {name} has other bytes than the first; both are kept in {kept}")


def _moved_by_filter(counts: wordtide.Counts, options: argparse.Namespace, workers: int) -> str:
    """Bytes of a step, computed: each worker reads all means and variances, written once, and g and h return."""
    parts = [part for part in problem_of(counts, _pairs(options)).slices if len(row_parts(part.indptr)) > 1]
    if not parts:
        return "0 MB: all slices are small"
    rows = sum(len(part) for part in parts) / len(parts)
    moved = (workers + 2) * 2 * _sides(options) * rows * options.dim * 4
    return f"{moved / 1e6:.1f} MB in {len(parts)} of {len(counts)} slices, 0 in small ones"


def _pairs(options: argparse.Namespace) -> PairSettings:
    return PairSettings(tied=options.contexts == "tied")


def _sides(options: argparse.Namespace) -> int:
    return 1 if options.contexts == "tied" else 2


@dataclass(frozen=True)
class Rates:
    """CPU nanoseconds on one core. Stored pairs are those of the symmetric matrix: both directions count."""

    preparing: float  # per stored pair: a slice from the counts, which tasks do in every step
    stored: float  # per stored pair, side and coordinate
    sampled: float  # per sampled pair, side and coordinate
    smoothing: float  # per knot, side and coordinate
    pooling: float  # per stored pair: all slices are added up for the static start
    start: float  # per pooled pair, side and coordinate: the static start
    start_bytes: float  # per pooled pair
    repeated: float  # stored pairs per pooled pair


def rates(counts: wordtide.Counts, options: argparse.Namespace) -> None:
    """CPU time of the parts of a step on one core, beside what the core can do at best."""
    with compute("float32", 1) as machine:
        problems: list[Problem] = []
        preparing = _least(lambda: problems.append(problem_of(counts, _pairs(options))), 2)
        problem = problems[-1]
        pairs, knots = sum(len(part.values) for part in problem.slices), len(problem.knots)
        block = _block(problem, options, machine)
        few, many = (_gradients(problem, block, options, machine, columns) for columns in (64, 256))
        sampled = (many[0] - few[0]) / (many[1] - few[1])
        stored = (few[0] - sampled * few[1]) / pairs
        moving = _least(lambda: block.move(0.5, 1.0), options.steps)
        pooling, pooled_pairs = _pooling(problem, options)
        start, start_bytes = _start(problem, options, machine)
        square, large = np.ones((2000, 2000), dtype=np.float32), np.zeros(1 << 26, dtype=np.float32)
        products = 2 * 2000**3 / _least(lambda: square @ square, 5) / 1e9
        copying = 2 * large.nbytes / _least(large.copy, 5) / 1e9
    each = _sides(options) * options.dim
    found = Rates(
        *(1e9 * value for value in (preparing / pairs, stored / each, sampled / each, moving / knots / each)),
        *(1e9 * value for value in (pooling / pairs, (start - pooling) / pooled_pairs / each)),
        start_bytes=start_bytes / pooled_pairs,
        repeated=pairs / pooled_pairs,
    )
    with Table("scaling.rates", ("rate of one core", ""), _sizes(counts, options)) as table:
        table.row("stored pairs, both directions", f"{pairs:,}")
        table.row("knots", f"{knots:,}")
        table.row("preparing a slice, per stored pair", f"{found.preparing:.0f} ns")
        table.row("gradients, per stored pair, side and coordinate", f"{found.stored:.2f} ns")
        table.row("gradients, per sampled pair, side and coordinate", f"{found.sampled:.2f} ns")
        table.row("smoother pass, per knot, side and coordinate", f"{found.smoothing:.2f} ns")
        table.row("distinct pairs in all slices, both directions", f"{pooled_pairs:,}")
        table.row("static start: adding up slices, per stored pair", f"{found.pooling:.0f} ns")
        table.row("static start: fit, per distinct pair, side and coordinate", f"{found.start:.2f} ns")
        table.row("static start: memory, per distinct pair", f"{found.start_bytes:.0f} bytes")
        table.row("the core's matrix products, float32", f"{products:.0f} GFLOP/s")
        table.row("its copying of memory, read and written", f"{copying:.1f} GB/s")
        table.row("states in memory, per knot", f"{16 * each:,} bytes")
    _google_books(found, _sides(options))


def _block(problem: Problem, options: argparse.Namespace, machine: Compute) -> WordBlock:
    diffusion = FitSettings(dim=options.dim).prior_on(problem.times, 1e-3)
    block = WordBlock(problem.knots, diffusion, _sides(options), options.dim, machine)
    shape = _sides(options), len(problem.words), options.dim
    block.begin(np.float32(0.3) * np.random.default_rng(0).standard_normal(shape, dtype=np.float32))
    return block


def _gradients(
    problem: Problem, block: WordBlock, options: argparse.Namespace, machine: Compute, columns: int
) -> tuple[float, int]:
    """CPU seconds of the gradients of all slices, and the sampled pairs of a side."""
    signs = signs_by_rule(options.dim) if options.contexts == "tied" else None
    slices = [PreparedSlice(part, machine, columns, signs, alone=True) for part in problem.slices]

    def observe() -> None:
        for t, part in enumerate(slices):
            block.observe(t, part.gradients(block.vectors(t), [0, t]), 0.5)

    return _least(observe, options.steps), sum(len(part) * min(columns, len(part)) for part in problem.slices)


def _pooling(problem: Problem, options: argparse.Namespace) -> tuple[float, int]:
    """CPU seconds of adding up all slices, and the stored pairs of the sum."""
    found: list[Problem] = []
    return _least(lambda: found.append(pooled(problem, _pairs(options))), 1), len(found[-1].slices[0].values)


def _start(problem: Problem, options: argparse.Namespace, machine: Compute) -> tuple[float, int]:
    """CPU seconds of the static start, which the client computes alone, and its memory in bytes."""
    settings = FitSettings(dim=options.dim, contexts=options.contexts)
    natural = natural_options(settings, Schedule(1, settings.rate, settings.final_rate, 0.0, measure_every=3))
    prior = settings.prior_on(problem.times, 1e-3)

    def train(solver: Solver) -> None:
        while solver.advance() is not None:
            pass

    begin = time.process_time()
    static_start(problem, _pairs(options), prior, natural, machine, train)
    seconds = time.process_time() - begin
    tracemalloc.start()
    static_start(problem, _pairs(options), prior, natural, machine, train)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, peak


def _least(work: Callable[[], object], times: int) -> float:
    """The least CPU seconds of this process, after a first call that loads code and data."""
    found = []
    for _ in range(times + 1):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return min(found[1:])


def _google_books(rate: Rates, sides: int, cores: int = 64, machines: int = 8) -> None:
    """The cost of a step at L = 100,000, T = 209, d = 200 if every word occurs in every slice."""
    words, slices, dim, partners, columns = 100_000, 209, 200, 200, 400
    knots = words * slices
    cpu = {
        "preparing slices": knots * partners * rate.preparing,
        "stored pairs": sides * dim * knots * partners * rate.stored,
        "sampled pairs": sides * dim * knots * columns * rate.sampled,
        "smoother pass": sides * dim * knots * rate.smoothing,
    }
    total, moved = sum(cpu.values()) / 1e9, 40 * sides * knots * dim
    memory = 120 * knots + 80 * words * partners + 16 * sides * words * dim
    distinct = knots * partners / rate.repeated
    start = (knots * partners * (rate.preparing + rate.pooling) + sides * dim * distinct * rate.start) / 1e9
    title = (
        f"Calculated: L = {words:,}, T = {slices}, d = {dim}, {knots / 1e6:.1f} million knots, {partners} partners "
        f"of a word per slice, {columns} sampled pairs, {machines} machines with {cores // machines} cores each"
    )
    with Table("scaling.google_books", ("part", "per step"), title) as table:
        for name, nanoseconds in cpu.items():
            table.row(name, f"{nanoseconds / 1e9:,.0f} CPU s")
        table.row("together", f"{total:,.0f} CPU s")
        table.row(f"on {cores} cores", f"{total / cores:.0f} s")
        table.row("read and written", f"{moved / 1e9:.0f} GB")
        table.row(f"at 1 GB/s per machine, {machines} machines", f"{moved / machines / 1e9:.0f} s")
        table.row("memory of a worker", f"{memory / 1e9:.1f} GB")
        table.row("before the first step: static start, on one core of the client", f"{start:,.0f} CPU s")
        table.row("its memory", f"{distinct * rate.start_bytes / 1e9:.0f} GB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="places,rates")
    parser.add_argument("--contexts", default=FitSettings().contexts, choices=["tied", "separate"])
    parser.add_argument("--words", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--every", default="year")
    parser.add_argument("--since")
    options = parser.parse_args()
    given: dict[str, Any] = {"every": options.every, "since": options.since, "until": "2016"}
    counts = wordtide.count("sotu", vocabulary_size=options.words, **given)
    for name, measure in (("places", places), ("rates", rates)):
        if name in options.only.split(","):
            measure(counts, options)


if __name__ == "__main__":
    sys.exit(main())
