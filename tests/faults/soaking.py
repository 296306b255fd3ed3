"""`make soak`: kill all writing commands for minutes or hours, beside a busy watch; then load the server.

Kills come in two ways, by turns: at random moments, and before an operation on files, no operation twice
before all had theirs. Prints and keeps the tables of docs/evidence.md, and ends with 1 if anything was not
as it should be.
"""

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from faults.forking import Death, Forker
from faults.killing import Killer, TrialResult
from faults.loading import ServerLoad, WatchLoad, server_under_load, watch_under_load
from faults.worlds import WRITING_COMMANDS, WritingCommand, warm_up_adam
from results import Table

_MOST_KILLS = 6  # in one trial
_CLIENTS, _REQUESTS = 8, 500
_MEGABYTE = 1 << 20
_COLUMNS = (
    "command",
    "operations",
    "killed before one",
    "killed at a moment",
    "kills",
    "runs",
    "readings",
    "problems",
)


def main() -> int:
    """Soak for the given minutes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder, Forker() as forker:
        problems = _soak(Path(folder), forker, options.minutes, random.Random(options.seed))
    print(f"{len(problems)} problems")
    return 1 if problems else 0


def _soak(folder: Path, forker: Forker, minutes: float, chance: random.Random) -> list[str]:
    killer = Killer(folder, forker)
    warm_up_adam(killer.world, killer.must_succeed)
    seconds = 60 * minutes
    watched = folder / "watched"
    watched.mkdir()
    shutil.copytree(killer.world / "filtering", watched / "model")
    loads: list[WatchLoad] = []
    watching = threading.Thread(
        target=lambda: loads.append(watch_under_load(watched / "model", 1000, seconds)), daemon=True
    )
    watching.start()
    with Table("soak", _COLUMNS) as table:
        rows = [_Row(killer, writing, chance) for writing in WRITING_COMMANDS]
        until = time.monotonic() + seconds
        problems: list[str] = []
        while time.monotonic() < until:
            for row in chance.sample(rows, len(rows)):
                if time.monotonic() < until:
                    problems += _printed(row.run_trials())
        _write_rows(table, rows)
    watching.join()
    served = server_under_load(killer.world / "smoothing", _CLIENTS, _REQUESTS)
    with Table("soak.load", ("what", "measured")) as table:
        for what, measured in _load_cells(loads[0], served):
            table.row(what, measured)
    return problems + _printed(_watch_problems(loads[0]) + served.problems)


def _printed(problems: list[str]) -> list[str]:
    """The problems, printed as soon as they are found."""
    for problem in problems:
        print(f"PROBLEM {problem}", file=sys.stderr, flush=True)
    return problems


class _Row:
    """The trials of one command."""

    def __init__(self, killer: Killer, writing: WritingCommand, chance: random.Random) -> None:
        self.killer, self.writing, self.chance = killer, writing, chance
        self.operations = killer.undisturbed(writing).operations
        self.at_moments, self.at_operations = TrialResult(), TrialResult()
        self._left: list[int] = []

    def run_trials(self) -> list[str]:
        """Run trials at random moments, and about as long at operations on files that are left.

        Returns what was not as it should be.
        """
        moments = self.killer.moments(self.writing, self.chance.randint(1, _MOST_KILLS), self.chance)
        trials = [self.killer.trial(self.writing, moments)]
        self.at_moments.add(trials[0])
        for _ in moments:
            if not self._left:
                self._left = self.chance.sample(range(1, len(self.operations) + 1), len(self.operations))
            trials.append(self.killer.trial(self.writing, [Death(operation=self._left.pop())]))
            self.at_operations.add(trials[-1])
        return [problem for trial in trials for problem in trial.problems]

    def numbers(self) -> list[int]:
        """The columns of the table after the first."""
        both = (self.at_operations, self.at_moments)
        sums = [sum(getattr(result, name) for result in both) for name in ("runs", "readings")]
        return [
            len(self.operations),
            *(result.kills for result in both),
            sum(result.kills for result in both),
            *sums,
            sum(len(result.problems) for result in both),
        ]


def _write_rows(table: Table, rows: list[_Row]) -> None:
    numbers = {f"`{row.writing.name}`": row.numbers() for row in rows}
    for name, values in [*numbers.items(), ("all", map(sum, zip(*numbers.values(), strict=True)))]:
        table.row(name, *(f"{value:,}" for value in values))


def _load_cells(watched: WatchLoad, served: ServerLoad) -> Iterator[tuple[str, str]]:
    memory = [number // _MEGABYTE for number in watched.memory if number]
    yield "rows given to `watch`", f"{watched.rows:,}"
    yield "rows that it reported", f"{watched.reported_rows:,}"
    yield "slices", f"{watched.slices:,}"
    for place, number in (("start", 0), ("middle", len(memory) // 2), ("end", -1)):
        yield f"memory at the {place}, MiB", f"{memory[number]:,}" if memory else ""
    yield "memory at most, MiB", f"{max(memory, default=0):,}"
    yield "clients of the server", str(_CLIENTS)
    yield "answers", f"{len(served.seconds):,}"
    yield "wrong answers", str(len(served.problems))
    for name, share in (("half", 0.5), ("99%", 0.99)):
        yield f"{name} within, ms", f"{1000 * served.quantile(share):.1f}"


def _watch_problems(load: WatchLoad) -> list[str]:
    problems = [] if load.code == 0 else [f"watch ended with {load.code}: {''.join(load.talk)}"]
    if load.rows != load.reported_rows:
        problems.append(f"watch was given {load.rows} rows and told of {load.reported_rows}")
    return problems


if __name__ == "__main__":
    sys.exit(main())
