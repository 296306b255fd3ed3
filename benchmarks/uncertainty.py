"""Does the stated uncertainty of answers hold, in worlds of known truth and on your texts?

    python benchmarks/uncertainty.py              # worlds drawn from the prior, about four minutes
    python benchmarks/uncertainty.py --seeds 1    # a quick look
    python benchmarks/uncertainty.py --corpus speeches.jsonl.gz --every 5-years

prints Markdown tables. Intervals should hold the truth in 0.90 of all cases. With --corpus, dated texts are
halved at random and fitted twice, once more with shuffled dates, and once more with pairs of words exchanged
(real_text.py).
"""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from held_truth import (
    Measures,
    Trial,
    change,
    jumps_and_decoys,
    listed_neighbors,
    scores,
    similarity_of_pairs,
)
from real_text import from_texts
from results import Table
from worlds import DEFAULT, Kind, drawn, fitted

QUIET = [
    Kind("weak", 0.02),
    Kind("medium", 0.2),
    Kind("strong", 1.0),
    Kind("medium, default settings", 0.2, effort=DEFAULT),
    Kind("medium, slow drift", 0.2, drift="slow"),
    Kind("medium, clusters of 11", 0.2, cluster=11),
    Kind("medium, Poisson counts", 0.2, poisson=True),
    Kind("medium, d = 50", 0.2, size=250, dim=50, slices=12),
]
PLANTED = [
    Kind("planted, weak, slow drift", 0.1, drift="slow", planted=12),
    Kind("planted, strong, slow drift", 0.5, drift="slow", planted=12),
    Kind("planted, weak", 0.1, planted=12),
    Kind("planted, strong", 0.5, planted=12),
    Kind("planted, strong, Poisson counts", 0.5, planted=12, poisson=True),
    Kind("planted, strong, slow drift, d = 50", 0.5, drift="slow", size=250, dim=50, slices=12, planted=12),
]
METHODS = ("smoothing", "filtering")
VECTORS = ("sum", "word")
#: What is measured on worlds without planted words, and on those with them.
QUIET_MEASURES = {"pairs": similarity_of_pairs, "lists": listed_neighbors, "change": change}
PLANTED_MEASURES = {"jumps": jumps_and_decoys}
#: Names of the tables about dated texts.
TEXT_TABLES = ("neighbors", "change", "called", "exchanged")
Pooled = dict[tuple[str, ...], Measures]


def pooled(kinds: Iterable[Kind], seeds: int, measures: dict[str, Callable[[Trial], Measures]]) -> Pooled:
    """Measures of several worlds of each kind together, by measure, kind, method and vectors."""
    found: dict[tuple[str, ...], dict[str, list[np.ndarray]]] = defaultdict(lambda: defaultdict(list))
    for kind in kinds:
        for seed in range(seeds):
            world = drawn(kind, seed)
            for method in METHODS:
                model = fitted(world, method, kind.effort)
                for vectors in VECTORS:
                    trial = Trial.of(world, model, vectors)
                    chosen = measures | ({"scores": scores} if vectors == "word" else {})
                    for name, measure in chosen.items():
                        for what, values in measure(trial).items():
                            found[name, kind.name, method, vectors][what].append(values)
            print(f"{kind.name}, seed {seed}", file=sys.stderr)
    return {key: {what: np.concatenate(parts) for what, parts in one.items()} for key, one in found.items()}


def table(name: str, title: str, columns: list[str], rows: Iterable[tuple[str, list[str]]]) -> None:
    """Print a table whose first cells say where a row is from."""
    with Table(f"uncertainty.{name}", columns, title) as printed:
        for key, cells in rows:
            padding = [""] * (len(columns) - len(cells) - key.count(" | ") - 1)
            printed.row(*key.split(" | "), *cells, *padding)


def share(values: np.ndarray, digits: int = 2) -> str:
    """A mean, empty if there are too few values to take it of."""
    return f"{values.mean():.{digits}f}" if len(values) >= 10 else ""


def rows_of(found: Pooled, measure: str) -> Iterable[tuple[tuple[str, ...], Measures]]:
    return ((key[1:], measures) for key, measures in found.items() if key[0] == measure)


def about_similarity(found: Pooled) -> None:
    rows = []
    for key, pairs in rows_of(found, "pairs"):
        lists = found["lists", *key]
        factor = np.sqrt(pairs["squared"].mean() / pairs["variance"].mean())
        cells = [share(pairs["covered"]), f"{factor:.2f}", share(lists["covered"]), share(lists["excess"])]
        rows.append((" | ".join(key), [*cells, share(lists["stated"]), share(lists["hits"])]))
    table(
        "similarity",
        "Similarity: all pairs at three slices, and the ten neighbors of every tenth word",
        [
            "world",
            "method",
            "vectors",
            "pairs covered",
            "error / stated spread",
            "listed covered",
            "above true cosine",
        ]
        + ["stated probability", "truly among ten"],
        rows,
    )


def about_change(found: Pooled) -> None:
    rows = []
    for key, m in rows_of(found, "change"):
        covered = ~(m["below"] | m["above"])
        cells = [
            share(covered),
            share(m["below"], 3),
            share(m["above"], 3),
            share(m["called"]),
        ]
        cells += [share(m["halfway"]), share(m["width"], 1), share(m["shown"]), share(m["shown width"], 1)]
        rows.append(
            (" | ".join(key), [*cells, *(share(m[name]) for name in ("stated", "hits along", "hits"))])
        )
    table(
        "change",
        "Change from a fifth of the way to the last slice: cosine distance of the true vectors",
        [
            "world",
            "method",
            "vectors",
            "covered",
            "truth below",
            "truth above",
            "called changed",
        ]
        + ["half-way covered", "width in slices", "of those called changed", "width"]
        + ["stated probability", "truly among ten along it", "by cosine"],
        rows,
    )


def about_jumps(found: Pooled) -> None:
    names = (
        "jumps called",
        "decoys called",
        "drifting called",
        "against decoys",
        "against drifting",
        "dated",
    )
    table(
        "jumps",
        "Jumps, and decoys that stand still while their frequency changes tenfold",
        [
            "world",
            "method",
            "vectors",
            "jumps called",
            "decoys called",
            "drifting called",
            "ranked before decoys",
        ]
        + ["before drifting words", "jump inside half-way interval", "its width in slices"],
        (
            (" | ".join(key), [*(share(m[name]) for name in names), share(m["width"], 1)])
            for key, m in rows_of(found, "jumps")
        ),
    )


def about_surprise(found: Pooled) -> None:
    rows = []
    for (kind, method, _), m in rows_of(found, "scores"):
        cells = [
            f"{m['raw'].mean():.2f}, {m['raw'].std():.2f}",
            f"{m['score'].mean():.2f}, {m['score'].std():.2f}",
        ]
        cells += [share(m["score"] > 1.645, 3), share(m["score"] > 2.33, 3)]
        rows.append(
            (f"{kind} | {method}", cells + [share(m[name]) for name in ("above others", "first", "called")])
        )
    table(
        "surprises",
        "Surprises: drifting words at all slices but the first, and jumps at their slice",
        [
            "world",
            "method",
            "exact posterior's score: mean, sd",
            "score: mean, sd",
            "above 1.645",
            "above 2.33",
        ]
        + ["jumps: before drifting words", "first", "above 2.33"],
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Is the uncertainty that questions tell of right?")
    parser.add_argument("--seeds", type=int, default=2, help="worlds of each kind")
    parser.add_argument(
        "--corpus", help="JSON Lines of dated texts (date or year, text), or sotu: checked instead of worlds"
    )
    parser.add_argument("--every", default="5-years", help="slices of the corpus")
    parser.add_argument("--share", type=float, default=1.0, help="take this part of the texts")
    parser.add_argument("--dim", type=int, default=50, help="dimensions for the corpus")
    options = parser.parse_args()
    start = time.perf_counter()
    if options.corpus:
        corpus = Path(options.corpus).name.partition(".")[0]
        corpus += "" if options.share == 1.0 else f"-{options.share:g}"
        found = from_texts(options.corpus, options.every, options.share, options.dim)
        for name, (title, columns, rows) in zip(TEXT_TABLES, found, strict=True):
            table(f"{corpus}-{name}", title, columns, rows)
    else:
        quiet = pooled(QUIET, options.seeds, QUIET_MEASURES)
        both = quiet | pooled(PLANTED, options.seeds, PLANTED_MEASURES)
        for about in (about_similarity, about_change, about_jumps, about_surprise):
            about(both)
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
