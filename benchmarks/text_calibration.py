"""Do the intervals and probabilities that users see hold? On worlds that resemble text.

    python benchmarks/text_calibration.py               # all worlds, about ten minutes
    python benchmarks/text_calibration.py --seeds 7     # another seed

prints two Markdown tables, both for each world, method and kind of contexts. The first says how many 90 %
intervals hold the truth: of the cosine of random pairs of words (also by occurrences of the rarer word), of
listed neighbors, and of the cosine distance of a word between the first and the last slice (also of words whose
change is significant); and the root mean square errors of the estimates, and of the cosines of posterior
means. The second compares the stated
probability of being among the ten nearest with how often that is true.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small matrices: threads would only wait for each other

from collections.abc import Sequence
from itertools import product

import numpy as np
from simulation.text_worlds import TextKind, TextWorld, draw_text_world, fit_text_world

from wordtide.api import DynamicEmbeddings
from wordtide.questions.change import MIN_OCCURRENCES, are_known, word_spans
from wordtide.questions.movement import change_of, movement
from wordtide.questions.neighbors import neighbors
from wordtide.questions.similarity import scaled, similarities
from wordtide.questions.vectors import lengths_of, vectors_of
from wordtide.types import Flags, Floats

#: Rules were chosen on these worlds, with the seeds 1 and 2.
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
)
#: These had no part in that.
NEW_KINDS = (
    TextKind("new: d = 80, 12 slices", words=1800, dim=80, slices=12, pairs=250_000, years=6.0),
    TextKind("new: d = 50, 2500 words, Poisson", words=2500, dim=50, pairs=250_000, poisson=True),
    TextKind("new: d = 25, 5 slices, clusters", words=1200, dim=25, slices=5, pairs=200_000, cluster=10),
)
FITS = tuple(product(("smoothing", "filtering"), ("tied", "separate")))
BANDS = ((1, 300), (300, 1000), (1000, 3000), (3000, np.inf))
CHANCES = ((0.0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 1.01))
PAIRS, TOP, EVERY = 10_000, 10, 25


def true_vectors(world: TextWorld, t: int) -> Floats:
    """The true vectors that similarity compares, (L, d)."""
    return np.asarray(world.vectors[t] * (1.0 + world.signs))


def pairs_held(world: TextWorld, model: DynamicEmbeddings) -> tuple[Flags, Floats]:
    """Of random pairs: does the interval hold the true cosine, and the occurrences of the rarer word, (n,)."""
    vectors, rng, total = vectors_of(model), np.random.default_rng(0), world.counts.sum(axis=0)
    held, often = [], []
    for t in (0, -1) if model.kind == "smoother" else (-1,):
        year, true = float(model.times[t]), true_vectors(world, t)
        x = scaled(vectors.means_at(year), vectors.variances_at(year), vectors.noise_share)
        one, other = rng.integers(0, len(true), (2, PAIRS))
        found = similarities(x[one], x[other])
        cosine = np.einsum("nk,nk->n", true[one], true[other]) / (
            lengths_of(true[one]) * lengths_of(true[other])
        )
        low, high = found.interval()
        used = (one != other) & np.isfinite(found.mean)
        held.append(((low <= cosine) & (cosine <= high))[used])
        often.append(np.minimum(total[one], total[other])[used])
    return np.concatenate(held), np.concatenate(often)


def listed(world: TextWorld, model: DynamicEmbeddings) -> tuple[Flags, Floats, Flags, Floats, Floats]:
    """Of the neighbors of every 25th word: is the interval right, the probability, truly near, and the errors
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


def share(values: np.ndarray, least: int = 200) -> str:
    return f"{100 * values.mean():.1f}" if len(values) >= least else ""


def rows(kind: TextKind, seeds: Sequence[int]) -> list[tuple[list[str], list[str]]]:
    """The cells of both tables for one world."""
    worlds = [draw_text_world(kind, seed) for seed in seeds]
    found = []
    for method, contexts in FITS:
        asked = [(world, fit_text_world(world, method, contexts)) for world in worlds]
        held, often = (
            np.concatenate(parts) for parts in zip(*(pairs_held(*one) for one in asked), strict=True)
        )
        near = [np.concatenate(parts) for parts in zip(*(listed(*one) for one in asked), strict=True)]
        moved = [np.concatenate(parts) for parts in zip(*(changes(*one) for one in asked), strict=True)]
        significant = moved[1].astype(bool)
        bands = (share(held[(often >= low) & (often < high)]) for low, high in BANDS)
        chances = ((near[1] >= low) & (near[1] < high) for low, high in CHANCES)
        stated = (
            f"{near[1][k].mean():.2f}: {near[2][k].mean():.2f}" if k.sum() >= 100 else "" for k in chances
        )
        name = [kind.name, method, contexts]
        errors = [f"{np.sqrt(np.mean(error**2)):.2f}" for error in (*near[3:], *moved[2:])]
        held_cells = [share(held), *bands, share(near[0]), *errors[:2]]
        held_cells += [share(moved[0]), share(moved[0][significant], 30), *errors[2:]]
        found.append(([*name, *held_cells], [*name, *stated]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Do the intervals and probabilities that users see hold?")
    parser.add_argument("--seeds", default="31", help="seeds of the worlds, with commas")
    options = parser.parse_args()
    start, names = time.perf_counter(), ["world", "method", "contexts"]
    bands = ["below 300", "to 1000", "to 3000", "above"]
    first = [*names, "pairs", *bands, "listed", "error", "of means"]
    first += ["change", "significant", "error", "of means"]
    columns = first, [*names, *(f"{low} on" for low, _ in CHANCES)]
    later: list[list[str]] = []
    print(f"| {' | '.join(columns[0])} |\n|{'---|' * len(columns[0])}")
    for kind in (*KINDS, *NEW_KINDS):
        for coverage, reliability in rows(kind, [int(seed) for seed in options.seeds.split(",")]):
            print(f"| {' | '.join(coverage)} |", flush=True)
            later.append(reliability)
    print(f"\n| {' | '.join(columns[1])} |\n|{'---|' * len(columns[1])}")
    for reliability in later:
        print(f"| {' | '.join(reliability)} |")
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
