"""Kill a command at random moments and repeat it until it ends: the result must be the same."""

import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from faults.forking import Death, Forker, operations
from faults.reading_along import Reader
from faults.worlds import Content, WritingCommand, content, make_world


@dataclass
class TrialResult:
    """What happened to a command: how often it was killed and run, and all problems."""

    trials: int = 0
    kills: int = 0
    runs: int = 0
    readings: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, other: "TrialResult") -> None:
        """Add the result of another trial."""
        for name in ("trials", "kills", "runs", "readings"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.problems += other.problems


@dataclass
class UndisturbedRun:
    """An undisturbed run of a command: its output, seconds, operations on files, and the visible states."""

    content: Content
    seconds: float
    operations: list[str]
    states: set[object]


class Killer:
    """Runs trials in a folder. The world and the undisturbed run of each command are made once."""

    def __init__(self, folder: Path, forker: Forker) -> None:
        self.folder, self.forker = folder, forker
        self.world = folder / "world"
        self.world.mkdir()
        make_world(self.world, self.must_succeed)
        self._undisturbed: dict[str, UndisturbedRun] = {}

    def must_succeed(self, line: list[str]) -> None:
        """Run a command that must succeed in the forking process itself."""
        code = self.forker.warm_up(line, self.folder / "talk")
        assert code == 0, f"{line}: {self.talk()}"

    def talk(self) -> str:
        """The output of the last command."""
        return (self.folder / "talk").read_text()

    def undisturbed(self, writing: WritingCommand) -> UndisturbedRun:
        """The undisturbed run of a command, made once."""
        if writing.name not in self._undisturbed:
            place = self.prepare(writing, self.folder / "place")
            with Reader(place / writing.target, writing.kind) as reader:
                code, seconds = self.run(writing, place)
                assert code == 0, self.talk()
            states = {state for state in reader.seen if state is not None}
            assert not reader.problems, reader.problems
            states.add(reader.state())
            made = operations(self.folder / "talk")
            self._undisturbed[writing.name] = UndisturbedRun(content(place), seconds, made, states)
        return self._undisturbed[writing.name]

    def moments(self, writing: WritingCommand, kills: int, chance: random.Random) -> list[Death]:
        """Moments drawn over the length of an undisturbed run."""
        return [Death(seconds=chance.uniform(0, self.undisturbed(writing).seconds)) for _ in range(kills)]

    def trial(self, writing: WritingCommand, deaths: Sequence[Death]) -> TrialResult:
        """Kill a command some times, repeating it each time, and finally let it end."""
        undisturbed = self.undisturbed(writing)
        place, result = self.prepare(writing, self.folder / "place"), TrialResult(trials=1)
        with Reader(place / writing.target, writing.kind) as reader:
            for death in deaths:
                code, took = self.run(writing, place, death)
                result.runs += 1
                if code == -9:
                    result.kills += 1
                    if _visible(content(place)) == undisturbed.content:
                        break  # all was done, but for tidying up
                elif code == 0:
                    undisturbed.seconds = min(undisturbed.seconds, took)  # the machine is less busy now
                    break
                else:
                    result.problems.append(f"{writing.name}, {death}: {self.talk()}")
                    return result
            else:
                code, _ = self.run(writing, place)
                result.runs += 1
                if code != 0:
                    result.problems.append(f"{writing.name} after {deaths}: {self.talk()}")
        found = content(place)
        if code == -9:
            found = _visible(found)
        if found != undisturbed.content:
            result.problems.append(
                f"{writing.name} after {deaths}: {_difference(found, undisturbed.content)}"
            )
        result.readings = sum(reader.seen.values())
        result.problems += [f"{writing.name} at {deaths}, read: {problem}" for problem in reader.problems]
        strange = {state for state in reader.seen if state is not None} - undisturbed.states
        result.problems += [f"{writing.name} at {deaths}: a reader saw {state}" for state in strange]
        return result

    def run(self, writing: WritingCommand, place: Path, death: Death | None = None) -> tuple[int, float]:
        """Run a command, and kill it if a death is given; returns exit code and seconds."""
        stdin = None if writing.stdin is None else self.world / writing.stdin
        return self.forker.run(writing.typed(self.world, place), self.folder / "talk", stdin, death)

    def prepare(self, writing: WritingCommand, place: Path) -> Path:
        """An empty folder with the files that the command reads there."""
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        if writing.before is not None:
            writing.before(self.world, place)
        return place


def _visible(found: Content) -> Content:
    """The visible files: a process killed while it removed leftovers leaves them to the next one."""
    return {
        path: data
        for path, data in found.items()
        if not any(part.startswith(".") for part in Path(path).parts)
    }


def _difference(found: Content, expected: Content) -> str:
    more, less = sorted(found.keys() - expected.keys()), sorted(expected.keys() - found.keys())
    other = sorted(path for path in found.keys() & expected.keys() if found[path] != expected[path])
    return f"too much: {more}, missing: {less}, different: {other}"
