"""`make fuzz`: runs targets one after the other, and prints and keeps the table of docs/evidence.md.

    python fuzz/every_target.py [TARGET ...] [--seconds N]

A finding ends its target, and the exit code is 1. A run of some targets keeps its table in build/fuzz.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))

from results import Table  # noqa: E402

_INPUTS = re.compile(r"^stat::number_of_executed_units:\s*(\d+)", re.MULTILINE)
_REACHED = re.compile(r"\bcov: (\d+)")
_FINDING = re.compile(r"Uncaught Python exception|ERROR: libFuzzer")


def main() -> None:
    """Run the targets, and exit with 1 if one of them found something."""
    parser = argparse.ArgumentParser()
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=60, help="of each target")
    chosen = parser.parse_args()
    if chosen.targets:
        os.environ.setdefault("WORDTIDE_RESULTS", str(ROOT / "build" / "fuzz"))
    with Table("fuzz", ("target", "inputs", "branches reached", "findings")) as table:
        rows = []
        for target in chosen.targets or all_targets():
            rows.append(fuzzed(target, chosen.seconds))
            table.row(target, *(f"{number:,}" for number in rows[-1]))
        table.row("all", *(f"{sum(numbers):,}" for numbers in zip(*rows, strict=True)))
    sys.exit(1 if any(findings for *_, findings in rows) else 0)


def all_targets() -> Iterator[str]:
    """The modules of `targets` that have seeds; the others help them."""
    for path in sorted((ROOT / "fuzz" / "targets").glob("*.py")):
        if re.search(r"^SEEDS =", path.read_text(encoding="utf-8"), re.MULTILINE):
            yield path.stem


def fuzzed(target: str, seconds: int) -> tuple[int, int, int]:
    """Inputs tried, branches of the code they reached, and findings (0 or 1) of a target."""
    command = [sys.executable, "-W", "ignore", ROOT / "fuzz" / "running.py", target, f"--seconds={seconds}"]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    said = run.stdout.decode(errors="replace")
    inputs, reached = _INPUTS.search(said), _REACHED.findall(said)
    found = _FINDING.search(said) is not None
    if found or inputs is None:
        print(said[-5000:], file=sys.stderr)
    if not found and (run.returncode != 0 or inputs is None):
        sys.exit(f"{target} did not run.")
    return int(inputs[1]) if inputs else 0, int(reached[-1]) if reached else 0, int(found)


if __name__ == "__main__":
    main()
