"""The time of answers in Python and from the shell, on the State of the Union (d = 100, a slice per address).

Every figure is the best of a few runs, beside the limit it should stay under and the time that plain NumPy
needs for the cosines of one word to all others at one slice, measured in the same run. Exits with 1 if a
limit is not met.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from results import Table

import wordtide
from wordtide.exports.export import export
from wordtide.questions.change import changed
from wordtide.questions.neighbors import analogy, neighbors
from wordtide.questions.neighbors_over_time import neighbors_over_time
from wordtide.questions.similarity import axis, similarity
from wordtide.questions.story import story
from wordtide.questions.surprise import surprises

PYTHON_LIMIT, SHELL_LIMIT, ALL_SLICES_LIMIT, EXPORT_LIMIT = 0.3, 1.0, 2.0, 20.0
RUNS = 5


def best(work: Callable[[], object], runs: int = RUNS) -> float:
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def python_rows(model: wordtide.DynamicEmbeddings) -> list[tuple[str, float, float]]:
    questions: dict[str, tuple[float, Callable[[], object]]] = {
        "load": (PYTHON_LIMIT, lambda: wordtide.load(model.path)),
        "neighbors": (PYTHON_LIMIT, lambda: neighbors(model, "energy", 1850)),
        "neighbors by low": (PYTHON_LIMIT, lambda: neighbors(model, "energy", 2015, by="low")),
        "similarity to two words, all slices": (
            PYTHON_LIMIT,
            lambda: similarity(model, "energy", "oil", "conservation"),
        ),
        "changed": (PYTHON_LIMIT, lambda: changed(model, 1850, 2000)),
        "story": (PYTHON_LIMIT, lambda: story(model, "energy")),
        "surprises": (PYTHON_LIMIT, lambda: surprises(model, 2002)),
        "axis, all slices": (
            PYTHON_LIMIT,
            lambda: axis(model, ["nurse", "engineer"], ["he", "man"], ["she", "woman"]),
        ),
        "analogy": (PYTHON_LIMIT, lambda: analogy(model, "reagan", 1985, 2015)),
    }
    return [(name, best(work), limit) for name, (limit, work) in questions.items()]


def shell_rows(folder: Path) -> list[tuple[str, float, float]]:
    lines = {
        "neighbors": "energy --at 1850",
        "similarity": "energy oil conservation",
        "changed": "--since 1850 --until 2000",
        "story": "energy",
        "surprises": "--at 2002",
        "axis": "--from he,man --to she,woman nurse engineer",
        "analogy": "reagan --at 1985 --then 2015",
    }
    rows, keeps_bytecode = [], {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # as after an installation
    for command, options in lines.items():
        line = [sys.executable, "-m", "wordtide", command, str(folder), *options.split()]
        run = partial(subprocess.run, line, env=keeps_bytecode)
        rows.append((f"wordtide {command}", best(partial(run, check=True, capture_output=True)), SHELL_LIMIT))
    return rows


def all_slices_rows(models: dict[str, wordtide.DynamicEmbeddings]) -> list[tuple[str, float, float]]:
    """What reads all slices of all words: of both kinds of model."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for method, model in models.items():
            seconds = best(partial(neighbors_over_time, model, "energy"), 2)
            rows.append((f"all neighbors over all slices, {method}", seconds, ALL_SLICES_LIMIT))
            for to in ("dwe", "parquet"):
                work = partial(export, model, Path(folder) / "out", to, overwrite=True)
                rows.append((f"export to {to}, {method}", best(work, 1), EXPORT_LIMIT))
    return rows


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folders = {method: Path(temporary) / method for method in ("smoothing", "filtering")}
        if len(sys.argv) > 1:
            folders = dict(zip(folders, map(Path, sys.argv[1:3]), strict=True))
        else:
            counts = wordtide.count("sotu", every="document", merge_within="7d")
            for method, folder in folders.items():
                wordtide.fit(counts, output=folder, method=method)
        models = {method: wordtide.load(folder) for method, folder in folders.items()}
        model, folder = models["smoothing"], folders["smoothing"]
        means = model.means_at(1850)
        lengths = np.linalg.norm(means, axis=1)
        number = model.index["energy"]
        plain = best(lambda: means @ means[number] / (lengths * lengths[number]), 50)
        start = best(lambda: subprocess.run([sys.executable, "-c", "import numpy"], check=True))
        rows = [*python_rows(model), *shell_rows(folder), *all_slices_rows(models)]
    with Table("questions", ("question", "seconds", "limit", "times plain cosines", "")) as table:
        for name, seconds, limit in rows:
            verdict = "MISSED" if seconds > limit else "ok"
            table.row(name, f"{seconds:.3f}", f"{limit:.1f}", f"{seconds / plain:,.0f}", verdict)
        table.note(f"Plain cosines: {plain * 1e3:.2f} ms; starting Python with NumPy: {start:.2f} s.")
    sys.exit(any(seconds > limit for _, seconds, limit in rows))


if __name__ == "__main__":
    main()
