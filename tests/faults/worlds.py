"""A small corpus, its counts and models, and every command that writes, as a user would type it."""

import csv
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

TOPICS = [
    [f"{stem}{ending}" for ending in ("", "er", "ing", "ly", "s")]
    for stem in ("river", "mill", "road", "king")
]
EARLY, LATE = range(1, 5), range(5, 8)
FIT = ("--dim", "4", "--threads", "1", "--prior-variance", "2", "--diffusion", "100")
STEPS = ("--tolerance", "0", "--max-steps", "9", "--negative-contexts", "6")
WAYS = {
    "smoothing": STEPS,
    "filtering": STEPS,
    "independent": STEPS,
    "warm-start": STEPS,
    "static": STEPS,
    "smoothing by adam": (
        "--adam-minibatch-steps",
        "12",
        "--adam-full-steps",
        "8",
        "--adam-minibatch-words",
        "8",
    ),
    "filtering by adam": ("--adam-steps", "8"),
}
Content = dict[str, object]


@dataclass(frozen=True)
class WritingCommand:
    """A command that writes. `world` is what it reads, `place` is where it writes.

    `line`: what is typed, every time. `before`: puts into the place what is there already. `target`: what
    readers look at, and
    `kind`: how. `stdin`: a file of the world that is piped in.
    """

    name: str
    line: Callable[[Path, Path], list[object]]
    target: str
    kind: str
    before: Callable[[Path, Path], object] | None = None
    stdin: str | None = None

    def typed(self, world: Path, place: Path) -> list[str]:
        """The arguments of the command."""
        return [str(part) for part in self.line(world, place)]


def posts(days: range) -> str:
    """JSON Lines: on each day some posts, each about a topic."""
    lines = []
    for day in days:
        generator = np.random.default_rng(day)
        for n in range(40):
            words = generator.choice(TOPICS[generator.integers(len(TOPICS))], 8)
            lines.append(
                json.dumps(
                    {
                        "date": f"2020-01-{day:02}T{n * 36 // 60:02}:{n * 36 % 60:02}:00",
                        "text": " ".join(words),
                    }
                )
            )
    return "\n".join(lines) + "\n"


def make_world(world: Path, run: Callable[[list[str]], None]) -> Path:
    """Posts, counts and models that the commands read; `run` runs a command line."""
    (world / "words.txt").write_text("".join(f"{word}\n" for topic in TOPICS for word in topic))
    for name, days in (("early", EARLY), ("late", LATE), ("all", range(1, 8))):
        (world / f"{name}.jsonl").write_text(posts(days))
        run(_count(world, world / f"{name}.counts", name))
    for method in ("filtering", "smoothing"):
        run(
            [
                str(part)
                for part in (
                    "fit",
                    world / "early.counts",
                    "-o",
                    world / method,
                    "--method",
                    method,
                    *FIT,
                    *STEPS,
                )
            ]
        )
    run(
        [
            str(part)
            for part in (
                "explore",
                world / "smoothing",
                "--html",
                world / "old.html",
                "--title",
                "old",
                *_PAGE,
            )
        ]
    )
    return world


def warm_up_adam(world: Path, run: Callable[[list[str]], None]) -> None:
    """Fits by adam with the fewest steps, which load what adam needs into the forking process."""
    for method in ("filtering", "smoothing"):
        steps = ("--adam-steps", 1, "--adam-minibatch-steps", 1, "--adam-full-steps", 1)
        line = (
            "fit",
            world / "early.counts",
            "-o",
            world / f"{method}.adam",
            "--method",
            method,
            "--solver",
            "adam",
            *FIT,
            *steps,
        )
        run([str(part) for part in line])


def _count(world: Path, target: Path, name: str, *options: str) -> list[str]:
    vocabulary = ("--vocabulary", world / "words.txt")
    workers = () if "--scheduler" in options else ("--workers", "1")
    line = ("count", world / f"{name}.jsonl", "-o", target, "--every", "day", *vocabulary, *workers, *options)
    return [str(part) for part in line]


def _copied(source: str, target: str) -> Callable[[Path, Path], object]:
    return lambda world, place: shutil.copytree(world / source, place / target)


def _fit(way: str, *options: str) -> Callable[[Path, Path], list[object]]:
    method, _, solver = way.partition(" by ")
    how = (
        "--method",
        method,
        "--solver",
        solver or "natural",
        *FIT,
        *WAYS[way],
        "--checkpoint-every",
        "0",
        "--resume",
    )
    return lambda world, place: ["fit", world / "all.counts", "-o", place / "model", *how, *options]


_ONE = ("--threads", "1")
_PAGE = ("--map-words", "10", "--threads", "1")
_WATCH = (
    "--alerts",
    "alerts.jsonl",
    "--threshold",
    "0.5",
    "--min-occurrences",
    "2",
    "--threads",
    "1",
    "--close-at-end",
)


def _watch(world: Path, place: Path, source: object, *options: str) -> list[object]:
    return [
        "watch",
        place / "model",
        source,
        *(place / part if part == "alerts.jsonl" else part for part in _WATCH),
        *options,
    ]


WRITING_COMMANDS = [
    WritingCommand(
        "count",
        lambda world, place: list(_count(world, place / "counts", "all", "--examples", "5")),
        "counts",
        "counts",
    ),
    WritingCommand(
        "count --overwrite",
        lambda world, place: list(_count(world, place / "counts", "all", "--overwrite")),
        "counts",
        "counts",
        _copied("early.counts", "counts"),
    ),
    WritingCommand(
        "count --scheduler",
        lambda world, place: list(
            _count(world, place / "counts", "all", "--scheduler", "local:1", "--overwrite")
        ),
        "counts",
        "counts",
        _copied("early.counts", "counts"),
    ),
    WritingCommand(
        "merge",
        lambda world, place: ["merge", world / "early.counts", world / "late.counts", "-o", place / "counts"],
        "counts",
        "counts",
    ),
    *(WritingCommand(f"fit, {way}", _fit(way), "model", "model") for way in WAYS),
    WritingCommand(
        "fit --overwrite", _fit("smoothing", "--overwrite"), "model", "model", _copied("smoothing", "model")
    ),
    WritingCommand(
        "fit --offload",
        lambda world, place: [*_fit("smoothing")(world, place), "--offload", place / "offload"],
        "model",
        "model",
        lambda world, place: (place / "offload").mkdir(),
    ),
    WritingCommand(
        "update from counts",
        lambda world, place: ["update", place / "model", world / "late.counts", "--threads", "1"],
        "model",
        "model",
        _copied("filtering", "model"),
    ),
    WritingCommand(
        "update from texts",
        lambda world, place: ["update", place / "model", world / "late.jsonl", "--threads", "1"],
        "model",
        "model",
        _copied("filtering", "model"),
    ),
    WritingCommand(
        "watch a file",
        lambda world, place: _watch(world, place, world / "late.jsonl"),
        "model",
        "model",
        _copied("filtering", "model"),
    ),
    WritingCommand(
        "watch a pipe",
        lambda world, place: _watch(world, place, "-", "--replayed"),
        "model",
        "model",
        _copied("filtering", "model"),
        stdin="late.jsonl",
    ),
    WritingCommand(
        "explore --html",
        lambda world, place: [
            "explore",
            world / "filtering",
            "--html",
            place / "page.html",
            *_PAGE,
            "--overwrite",
        ],
        "page.html",
        "file",
        lambda world, place: shutil.copyfile(world / "old.html", place / "page.html"),
    ),
    WritingCommand(
        "explore --folder",
        lambda world, place: ["explore", world / "smoothing", "--folder", place / "page", *_PAGE],
        "page",
        "explorer page",
    ),
    WritingCommand(
        "export",
        lambda world, place: [
            "export",
            world / "smoothing",
            "--to",
            "dwe",
            "-o",
            place / "vectors.npz",
            "--overwrite",
        ],
        "vectors.npz",
        "file",
    ),
    WritingCommand(
        "plot",
        lambda world, place: [
            "plot",
            "similarity",
            world / "smoothing",
            "river",
            "mill",
            "-o",
            place / "figure.svg",
        ],
        "figure.svg",
        "file",
    ),
    WritingCommand(
        "evaluate",
        lambda world, place: [
            "evaluate",
            world / "all.counts",
            "-o",
            place / "report",
            "--methods",
            "smoothing,static",
            *FIT,
        ],
        "report",
        "evaluation",
    ),
    WritingCommand(
        "tune",
        lambda world, place: [
            "tune",
            world / "all.counts",
            "-o",
            place / "tuning",
            "--dim",
            "2,4",
            "--splits",
            "1",
            *_ONE,
        ],
        "tuning",
        "tuning",
    ),
]


#: What the tests kill every time; the rest is for `make soak`.
SELECTED = [
    writing
    for writing in WRITING_COMMANDS
    if writing.name in ("count", "count --overwrite", "update from counts", "watch a file", "explore --html")
    or (writing.name.startswith("fit, ") and "adam" not in writing.name)
]


def content(place: Path) -> Content:
    """Every byte in a folder, by path, without the seconds in curves, tables and records.

    Left out whole: the page of an evaluation, which shows these seconds.
    """
    return {
        str(path.relative_to(place)): _without_seconds(path)
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.name not in ("report.html", "seconds.json")
    }


def _without_seconds(path: Path) -> object:
    data = path.read_bytes()
    if path.suffix == ".csv":
        return [
            {name: cell for name, cell in row.items() if name != "seconds"}
            for row in csv.DictReader(io.StringIO(data.decode()))
        ]
    if path.suffix == ".json":
        try:
            found = json.loads(data)
        except ValueError:  # hidden, and cut short by a kill
            return data
        found.pop("seconds", None)
        if isinstance(found.get("files"), dict):
            found["files"].pop("curve.csv", None)  # its size and checksum
        return found
    return data
