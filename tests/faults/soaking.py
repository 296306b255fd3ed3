"""`make soak`: kills for minutes or hours in all commands that write, beside a watch that is fed all the time; then the server.

Prints a table for docs/reliability.md, and ends with 1 if anything was not as it should be.
"""

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from faults.forking import Forker
from faults.killing import Killer, Tally
from faults.loading import WatchLoad, server_under_load, watch_under_load
from faults.worlds import WRITINGS, warm_up_adam

_MOST_KILLS = 6  # in one trial
_CLIENTS, _REQUESTS = 8, 500
_MEGABYTE = 1 << 20


def main() -> int:
    """Soak for so many minutes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder, Forker() as forker:
        problems = _soak(Path(folder), forker, options.minutes, random.Random(options.seed))
    for problem in problems:
        print(f"PROBLEM {problem}")
    print(f"{len(problems)} problems")
    return 1 if problems else 0


def _soak(folder: Path, forker: Forker, minutes: float, moments: random.Random) -> list[str]:
    killer = Killer(folder, forker)
    warm_up_adam(killer.world, killer.sure)
    seconds = 60 * minutes
    watched = folder / "watched"
    watched.mkdir()
    shutil.copytree(killer.world / "filtering", watched / "model")
    loads: list[WatchLoad] = []
    watching = threading.Thread(target=lambda: loads.append(watch_under_load(watched / "model", 1000, seconds)), daemon=True)
    watching.start()
    tallies = {writing.name: Tally() for writing in WRITINGS}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for writing in moments.sample(WRITINGS, len(WRITINGS)):
            if time.monotonic() > until:
                break
            tallies[writing.name].add(killer.trial(writing, moments.randint(1, _MOST_KILLS), moments))
    print("| command | trials | runs | killed | readings | problems |\n|---|---|---|---|---|---|")
    total = Tally()
    for name, tally in tallies.items():
        total.add(tally)
        print(_row(f"`{name}`", tally))
    print(_row("all", total), flush=True)
    watching.join()
    problems = total.problems + _watch_problems(loads[0])
    served = server_under_load(killer.world / "smoothing", _CLIENTS, _REQUESTS)
    print(
        f"server: {len(served.seconds)} answers to {_CLIENTS} clients, median {1000 * served.quantile(0.5):.1f} ms, "
        f"99 % within {1000 * served.quantile(0.99):.1f} ms, {len(served.problems)} problems"
    )
    return problems + served.problems


def _row(name: str, tally: Tally) -> str:
    return f"| {name} | {tally.trials} | {tally.runs} | {tally.kills} | {tally.readings:,} | {len(tally.problems)} |"


def _watch_problems(load: WatchLoad) -> list[str]:
    memory = [number for number in load.memory if number]
    places = {"start": 0, "middle": len(memory) // 2, "end": len(memory) - 1}
    shown = ", ".join(f"{memory[place] // _MEGABYTE} MB at the {name}" for name, place in places.items()) if memory else "none"
    print(
        f"watch: {load.rows:,} rows in {load.slices} slices, memory {shown}, at most {max(memory, default=0) // _MEGABYTE} MB"
    )
    problems = [] if load.code == 0 else [f"watch ended with {load.code}: {''.join(load.talk)}"]
    if load.rows != load.reported_rows:
        problems.append(f"watch was given {load.rows} rows and told of {load.reported_rows}")
    return problems


if __name__ == "__main__":
    sys.exit(main())
