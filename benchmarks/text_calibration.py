"""Do the intervals and probabilities that users see hold? On worlds that resemble text.

    python benchmarks/text_calibration.py                           # all worlds, about five minutes
    python benchmarks/text_calibration.py --seeds 7 --random 0-9    # another seed, and ten random worlds

prints Markdown tables, for each world, method and kind of contexts: how many 90 % intervals hold the truth, of
the cosine of random pairs of words and of listed neighbors, and of the cosine distance of a word between the
first and the last slice (also of words whose change is significant); and the stated probability of being among
the ten nearest, with how often that is true. The last table sums them up, with the root mean square errors of
the estimates and of the cosines of posterior means, also for random worlds, whose sizes, drift, clusters and
counts are drawn.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small matrices: threads would only wait for each other

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np
from results import Table
from simulation.text_worlds import TextKind, TextWorld, draw_text_world, fit_text_world

from wordtide.api import DynamicEmbeddings
from wordtide.questions.change import MIN_OCCURRENCES, are_known, word_spans
from wordtide.questions.movement import change_of, movement
from wordtide.questions.neighbors import neighbors
from wordtide.questions.similarity import scaled, similarities
from wordtide.questions.vectors import lengths_of, vectors_of
from wordtide.types import Flags, Floats

#: Rules were chosen on these worlds, with the seeds 1 and 2, and on the random worlds 0 to 59.
KINDS = (
    TextKind("d = 30, equal axes", decay=0.0),
    TextKind("d = 30, equal axes, Poisson", decay=0.0, poisson=True),
    TextKind("d = 30, Poisson", poisson=True),
    TextKind("d = 30, clusters, Poisson", poisson=True, cluster=15),
    TextKind("d = 60", dim=60),
    TextKind("d = 60, Poisson", dim=60, poisson=True),
    TextKind("d = 100, Poisson", words=2000, dim=100, pairs=500_000, decay=0.7, poisson=True),
    TextKind("d = 40, few counts", words=2500, dim=40, pairs=60_000),
    TextKind("d = 40, few counts, Poisson", words=2500, dim=40, pairs=60_000, poisson=True),
    TextKind("d = 30, 20 slices", words=1000, slices=20, pairs=60_000, years=3.0),
    TextKind("d = 20, 3000 words, Poisson", words=3000, dim=20, pairs=400_000, poisson=True),
    TextKind("d = 80, 12 slices", words=1800, dim=80, slices=12, pairs=250_000, years=6.0),
    TextKind("d = 50, 2500 words, Poisson", words=2500, dim=50, pairs=250_000, poisson=True),
    TextKind("d = 25, 5 slices, clusters", words=1200, dim=25, slices=5, pairs=200_000, cluster=10),
    TextKind("d = 45, 16 slices, clusters", 1300, 16, 45, 150_000, 4.0, cluster=25),
    TextKind("d = 35, 7 slices, Poisson", 2200, 7, 35, 350_000, 8.0, poisson=True),
    TextKind("d = 70, 10 slices", 1600, 10, 70, 300_000, 5.0, decay=0.6),
    TextKind("d = 55, 9 slices, clusters, Poisson", 1700, 9, 55, 250_000, 6.0, poisson=True, cluster=20),
    TextKind("d = 28, 14 slices", words=900, slices=14, dim=28, pairs=100_000, years=4.0),
    TextKind("d = 90, 6 slices", words=1500, slices=6, dim=90, pairs=400_000, decay=0.3),
)
#: The random kinds: words, slices, dimensions, pairs of a slice, years of the whole world, and true drift.
RANGES, DRIFTS = ((800, 2200), (4, 26), (18, 100), (40_000, 400_000), (25, 100)), (0.0004, 0.006)
FITS = tuple(product(("smoothing", "filtering"), ("tied", "separate")))
CHANCES = ((0.0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 1.01))
PAIRS, TOP, EVERY = 10_000, 10, 5
#: What 90 % intervals should hold, in per cent.
RANGE = (87.0, 93.0)
HALF = 0.5


def random_kind(number: int) -> TextKind:
    """A kind of world with sizes and drift from the log-uniform distributions over `RANGES`."""
    rng = np.random.default_rng([78, number])
    words, slices, dim, pairs, years = (_log_uniform(rng, *limits) for limits in RANGES)
    slices = int(slices)
    return TextKind(
        f"random {number}",
        words=int(words),
        slices=slices,
        dim=int(dim),
        pairs=round(pairs * min(1.0, 12 / slices), -3),
        years=round(years / slices, 1),
        decay=round(rng.uniform(0.0, 0.7), 2),
        poisson=bool(rng.random() < 0.5),
        cluster=int(rng.integers(8, 30)) if rng.random() < 0.35 else 0,
        drift=_log_uniform(rng, *DRIFTS),
    )


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def true_vectors(world: TextWorld, t: int) -> Floats:
    """The true vectors that similarity compares, (L, d)."""
    return np.asarray(world.vectors[t] * (1.0 + world.signs))


def pairs_held(world: TextWorld, model: DynamicEmbeddings) -> Flags:
    """Of random pairs: does the interval hold the true cosine, (n,)."""
    vectors, rng, held = vectors_of(model), np.random.default_rng(0), []
    for t in (0, -1) if model.kind == "smoother" else (-1,):
        year, true = float(model.times[t]), true_vectors(world, t)
        moments = vectors.means_at(year), vectors.variances_at(year)
        x = scaled(*moments, vectors.noise_share, vectors.closeness)
        one, other = rng.integers(0, len(true), (2, PAIRS))
        found = similarities(x[one], x[other])
        cosine = np.einsum("nk,nk->n", true[one], true[other]) / (
            lengths_of(true[one]) * lengths_of(true[other])
        )
        low, high = found.interval()
        used = (one != other) & np.isfinite(found.mean)
        held.append(((low <= cosine) & (cosine <= high))[used])
    return np.concatenate(held)


def listed(world: TextWorld, model: DynamicEmbeddings) -> tuple[Flags, Floats, Flags, Floats, Floats]:
    """Of the neighbors of every fifth word: is the interval right, the probability, truly near, and the errors
    of the similarity and of the cosine of means, (n,).
    """
    true, year = true_vectors(world, -1), float(model.times[-1])
    units = true / lengths_of(true)[:, None]
    means = vectors_of(model).means_at(year)
    means = means / lengths_of(means)[:, None]
    found: list[tuple[np.ndarray, ...]] = []
    for word in range(0, len(model.words), EVERY):
        answer = neighbors(model, model.words[word], year, TOP).columns
        numbers = np.array([model.index[name] for name in answer["word"]], dtype=np.int64)
        cosine = units @ units[word]
        cosine[word] = -np.inf
        true_cosine = cosine[numbers]
        held = (answer["low"] <= true_cosine) & (true_cosine <= answer["high"])
        near = np.isin(numbers, np.argsort(-cosine)[:TOP])
        errors = answer["similarity"] - true_cosine, means[numbers] @ means[word] - true_cosine
        found.append((held, answer["probability"], near, *errors))
    held, stated, near, error, error_of_means = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return held, stated, near, error, error_of_means


def changes(world: TextWorld, model: DynamicEmbeddings) -> tuple[Floats, ...]:
    """Of words that may be listed: does the interval of change hold the cosine distance of the true vectors,
    are they significant, and the errors of the change and of the cosine distance of the means, (n,).
    """
    spans, first, last = word_spans(model, MIN_OCCURRENCES)[0], *model.times[[0, -1]].tolist()
    words = spans[are_known(vectors_of(model), spans)].words
    start, end = (true_vectors(world, t)[words] for t in (0, -1))
    change = 1.0 - np.einsum("nk,nk->n", start, end) / (lengths_of(start) * lengths_of(end))
    moved = movement(vectors_of(model), words, first, last)
    found = change_of(vectors_of(model), words, first, last, moved)
    held = (found.low <= change) & (change <= found.high)
    errors, placed = (found.expected - change, moved.distance - change), np.isfinite(moved.distance)
    return tuple(one[placed] for one in (held, moved.significant, *errors))


@dataclass(frozen=True)
class Measured:
    """What a method with a kind of contexts holds in worlds of one kind, in per cent, and its errors."""

    pairs: float
    listed: float
    change: float
    #: Of significant changes; NaN for fewer than 30.
    significant: float
    #: Stated and true probabilities of being among the nearest, for each range of the former.
    chances: list[str]
    #: Root mean squares, of similarities and of changes: of the estimate and of the cosine of means.
    errors: Floats
    #: The share of contexts that is unknown, on average.
    unknown: float


def measured(kind: TextKind, seeds: Sequence[int]) -> list[Measured]:
    """Draw worlds of a kind, and measure each method with each kind of contexts."""
    worlds = [draw_text_world(kind, seed) for seed in seeds]
    found = [measured_fit(worlds, *fit) for fit in FITS]
    print(kind.name, *(f"{one.pairs:.1f} {one.listed:.1f} {one.change:.1f}" for one in found), flush=True)
    return found


def measured_fit(worlds: Sequence[TextWorld], method: str, contexts: str) -> Measured:
    """Fit all worlds and ask them."""
    asked = [(world, fit_text_world(world, method, contexts)) for world in worlds]
    pairs = np.concatenate([pairs_held(*one) for one in asked])
    held, stated, near, *errors = map(np.concatenate, zip(*(listed(*one) for one in asked), strict=True))
    change, significant, *more = map(np.concatenate, zip(*(changes(*one) for one in asked), strict=True))
    ranges = [(stated >= low) & (stated < high) for low, high in CHANCES]
    moved = change[significant.astype(bool)]
    return Measured(
        pairs=100.0 * pairs.mean(),
        listed=100.0 * held.mean(),
        change=100.0 * change.mean(),
        significant=100.0 * moved.mean() if len(moved) >= 30 else np.nan,
        chances=[f"{stated[k].mean():.2f}: {near[k].mean():.2f}" if k.sum() >= 100 else "" for k in ranges],
        errors=np.array([np.sqrt(np.mean(error**2)) for error in (*errors, *more)]),
        unknown=float(np.mean([model.calibration.unknown for _, model in asked])),
    )


def summed_up(kinds: dict[str, Sequence[Measured]]) -> None:
    """Print how many models of each group of worlds hold what they should, and the range of the errors."""
    columns = (
        "worlds",
        "what",
        "models",
        "within 87 to 93",
        "lowest",
        "mean",
        "highest",
        "error",
        "error of means",
    )
    with Table("text_calibration.summary", columns) as table:
        for (group, found), (name, first) in product(
            kinds.items(), (("pairs", None), ("listed", 0), ("change", 2), ("significant", None))
        ):
            held = np.array([getattr(one, name) for one in found])
            held = held[np.isfinite(held)]
            if not len(held):
                continue
            errors = ["", ""]
            if first is not None:
                both = np.array([one.errors[first : first + 2] for one in found])
                errors = [
                    f"{low:.2f} to {high:.2f}" for low, high in zip(both.min(0), both.max(0), strict=True)
                ]
            within = int(((held >= RANGE[0]) & (held <= RANGE[1])).sum())
            spread = (f"{number:.1f}" for number in (held.min(), held.mean(), held.max()))
            table.row(group, name, len(held), within, *spread, *errors)


def main() -> None:
    parser = argparse.ArgumentParser(description="Do the intervals and probabilities that users see hold?")
    parser.add_argument("--seeds", default="31", help="seeds of the worlds, with commas")
    parser.add_argument("--random", default="", help="numbers of random worlds, such as 0-9")
    options = parser.parse_args()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    kinds = {kind.name: (kind, seeds) for kind in KINDS}
    first, _, last = options.random.partition("-")
    numbers = range(int(first), int(last) + 1) if last else ()
    kinds |= {f"random {number}": (random_kind(number), [number]) for number in numbers}
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        every = dict(zip(kinds, processes.map(measured, *zip(*kinds.values(), strict=True)), strict=True))
    found = {kind.name: every.pop(kind.name) for kind in KINDS}
    by_chance = [one for fits in every.values() for one in fits]
    columns = ("world", *(", ".join(fit) for fit in FITS))
    with Table(
        "text_calibration.similarity", columns, "Random pairs, and in brackets listed neighbors"
    ) as table:
        for name, fits in found.items():
            table.row(name, *(f"{one.pairs:.0f} ({one.listed:.0f})" for one in fits))
    with Table("text_calibration.change", columns, "Change, and in brackets significant changes") as table:
        for name, fits in found.items():
            few = [f" ({one.significant:.0f})" if np.isfinite(one.significant) else "" for one in fits]
            table.row(name, *(f"{one.change:.0f}{rest}" for one, rest in zip(fits, few, strict=True)))
    names = ("world", "method", "contexts", *(f"{low} on" for low, _ in CHANCES))
    with Table("text_calibration.chances", names, "Stated probability: how often it is true") as table:
        for name, fits in found.items():
            for fit, one in zip(FITS, fits, strict=True):
                table.row(name, *fit, *one.chances)
    groups = {"above": [one for fits in found.values() for one in fits]}
    if by_chance:
        groups["random"] = [one for one in by_chance if one.unknown <= HALF]
        groups["random, contexts mostly unknown"] = [one for one in by_chance if one.unknown > HALF]
    summed_up({group: models for group, models in groups.items() if models})


if __name__ == "__main__":
    main()
