"""A command is killed at random moments and typed again, until it ends: then all must be as if nothing had happened."""

import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from faults.forking import Forker
from faults.reading_along import Reader
from faults.worlds import Content, Writing, content, make_world


@dataclass
class Tally:
    """What became of a command: how often it was killed and run, and all that was not as it should be."""

    trials: int = 0
    kills: int = 0
    runs: int = 0
    readings: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Take in what another trial gave."""
        for name in ("trials", "kills", "runs", "readings"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.problems += other.problems


class Killer:
    """Makes trials in a folder. The world and the undisturbed run of each command are made once."""

    def __init__(self, folder: Path, forker: Forker) -> None:
        self.folder, self.forker = folder, forker
        self.world = folder / "world"
        self.world.mkdir()
        make_world(self.world, self.sure)
        self._undisturbed: dict[str, tuple[Content, float, set[object]]] = {}

    def sure(self, line: list[str]) -> None:
        """Run a command, in the forking process itself, that must end well."""
        code = self.forker.warm_up(line, self.folder / "talk")
        assert code == 0, f"{line}: {self.talk()}"

    def talk(self) -> str:
        """What the last command said."""
        return (self.folder / "talk").read_text()

    def undisturbed(self, writing: Writing) -> tuple[Content, float, set[object]]:
        """What a command leaves when nothing happens, how long it takes, and the states that a reader may see."""
        if writing.name not in self._undisturbed:
            place = self.prepare(writing, self.folder / "place")
            with Reader(place / writing.target, writing.kind) as reader:
                code, seconds = self.run(writing, place)
                assert code == 0, self.talk()
            states = {state for state in reader.seen if state is not None}
            assert not reader.problems, reader.problems
            states.add(reader.state())
            self._undisturbed[writing.name] = content(place), seconds, states
        return self._undisturbed[writing.name]

    def trial(self, writing: Writing, kills: int, moments: random.Random) -> Tally:
        """Kill a command some times at random moments, each time typing it again; at the end let it finish."""
        expected, seconds, states = self.undisturbed(writing)
        place, tally = self.prepare(writing, self.folder / "place"), Tally(trials=1)
        with Reader(place / writing.target, writing.kind) as reader:
            for _ in range(kills):
                code, took = self.run(writing, place, moments.uniform(0, seconds))
                tally.runs += 1
                if code == -9:
                    tally.kills += 1
                    if _visible(content(place)) == expected:
                        break  # all was done, but for tidying up
                elif code == 0:
                    self._undisturbed[writing.name] = expected, min(seconds, took), states  # the machine is less busy now
                    break
                else:
                    tally.problems.append(f"{writing.name}: {self.talk()}")
                    return tally
            else:
                code, _ = self.run(writing, place)
                tally.runs += 1
                if code != 0:
                    tally.problems.append(f"{writing.name} at the end: {self.talk()}")
        found = content(place)
        if code == -9:
            found = _visible(found)
        if found != expected:
            tally.problems.append(f"{writing.name}: {_difference(found, expected)}")
        tally.readings = sum(reader.seen.values())
        tally.problems += [f"{writing.name}, read: {problem}" for problem in reader.problems]
        strange = {state for state in reader.seen if state is not None} - states
        tally.problems += [f"{writing.name}: a reader saw {state}" for state in strange]
        return tally

    def run(self, writing: Writing, place: Path, kill_after: float | None = None) -> tuple[int, float]:
        """Type a command, and kill it after some seconds if they are given; exit code and seconds."""
        stdin = None if writing.stdin is None else self.world / writing.stdin
        return self.forker.run(writing.typed(self.world, place), self.folder / "talk", stdin, kill_after)

    def prepare(self, writing: Writing, place: Path) -> Path:
        """An empty folder with what the command finds there."""
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        if writing.before is not None:
            writing.before(self.world, place)
        return place


def _visible(found: Content) -> Content:
    """What is not hidden: a process that was killed while it tidied up leaves the rest to the next one."""
    return {path: data for path, data in found.items() if not any(part.startswith(".") for part in Path(path).parts)}


def _difference(found: Content, expected: Content) -> str:
    more, less = sorted(found.keys() - expected.keys()), sorted(expected.keys() - found.keys())
    other = sorted(path for path in found.keys() & expected.keys() if found[path] != expected[path])
    return f"too much: {more}, missing: {less}, different: {other}"
