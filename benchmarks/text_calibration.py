"""Do the intervals that users see hold the truth? On worlds that resemble text.

    python benchmarks/text_calibration.py            # two seeds, about five minutes
    python benchmarks/text_calibration.py --seeds 7  # another seed, half as long

prints a Markdown table: how many 90 % intervals of similarity hold the truth, by frequency of the rarer
word and with the variances of the posterior itself (before), how many of listed neighbors, and how often
neighbors are truly among the ten nearest, by stated probability.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small matrices: threads would only wait for each other

from dataclasses import replace
from itertools import product

import numpy as np
from results import Table
from simulation.text_worlds import TextKind, TextWorld, draw_text_world, fit_text_world

from wordtide.api import DynamicEmbeddings
from wordtide.questions.neighbors import neighbors
from wordtide.questions.similarity import SIDES, scaled, similarity_and_spread
from wordtide.questions.vectors import lengths_of, vectors_of
from wordtide.types import Floats

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
BANDS = ((1, 100), (100, 1000), (1000, np.inf))
CHANCES = ((0.0, 0.2), (0.2, 0.5), (0.5, 1.01))
PAIRS, TOP, EVERY = 10_000, 10, 10


def true_vectors(world: TextWorld, t: int) -> Floats:
    """The true vectors that similarity compares, (L, d)."""
    return np.asarray(world.vectors[t] * (1.0 + world.signs))


def deviations(world: TextWorld, model: DynamicEmbeddings) -> tuple[Floats, Floats]:
    """Errors of similarities in units of their standard deviations, and the pairs of the rarer word, (n,)."""
    vectors, rng = vectors_of(model), np.random.default_rng(0)
    found, often = [], []
    for t in (0, -1) if model.kind == "smoother" else (-1,):
        year = float(model.times[t])
        means = vectors.means_at(year)
        x, true = (
            scaled(means, vectors.variances_at(year)),
            true_vectors(world, t) / lengths_of(means)[:, None],
        )
        one, other = rng.integers(0, len(true), (2, PAIRS))
        mean, spread = similarity_and_spread(x[one], x[other])
        used = (one != other) & np.isfinite(mean)
        found.append(((np.einsum("nk,nk->n", true[one], true[other]) - mean) / spread)[used])
        total = world.counts.sum(axis=0)
        often.append(np.minimum(total[one], total[other])[used])
    return np.concatenate(found), np.concatenate(often)


def listed(world: TextWorld, model: DynamicEmbeddings) -> tuple[Floats, Floats, Floats]:
    """Of the neighbors of every tenth word: is the interval right, the probability, and truly near, (n,)."""
    true, year = true_vectors(world, -1), float(model.times[-1])
    units, lengths = true / lengths_of(true)[:, None], lengths_of(vectors_of(model).means_at(year))
    held, stated, near = [], [], []
    for word in range(0, len(model.words), EVERY):
        answer = neighbors(model, model.words[word], year, TOP).columns
        numbers = np.array([model.index[name] for name in answer["word"]], dtype=np.int64)
        inner = np.clip(true[numbers] @ true[word] / (lengths[numbers] * lengths[word]), -1.0, 1.0)
        cosine = units @ units[word]
        cosine[word] = -np.inf
        held.append((answer["low"] <= inner) & (inner <= answer["high"]))
        stated.append(answer["probability"])
        near.append(np.isin(numbers, np.argsort(-cosine)[:TOP]))
    return np.concatenate(held), np.concatenate(stated), np.concatenate(near)


def share(values: np.ndarray) -> str:
    return f"{100 * values.mean():.0f}" if len(values) >= 200 else ""


def row(world: TextWorld, model: DynamicEmbeddings) -> list[str]:
    """The cells of one model."""
    before = deviations(world, DynamicEmbeddings(replace(model.fitted, calibration=None)))[0]
    errors, often = deviations(world, model)
    within = np.abs(errors) <= SIDES
    held, stated, near = listed(world, model)
    chances = ((stated >= low) & (stated < high) for low, high in CHANCES)
    return [
        share(np.abs(before) <= SIDES),
        f"{100 * within.mean():.1f}",
        *(share(within[(often >= low) & (often < high)]) for low, high in BANDS),
        share(held),
        *(f"{stated[k].mean():.2f}: {near[k].mean():.2f}" if k.sum() >= 100 else "" for k in chances),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Do the intervals that users see hold the truth?")
    parser.add_argument("--seeds", default="11,12", help="seeds of the worlds, with commas")
    options = parser.parse_args()
    start = time.perf_counter()
    columns = ["world", "seed", "method", "contexts", "before", "similarity", "below 100", "to 1000", "above"]
    columns += ["listed", "p < .2", "p to .5", "p above"]
    with Table("text_calibration", columns) as table:
        for kind, seed in product(KINDS, map(int, options.seeds.split(","))):
            world = draw_text_world(kind, seed)
            for method, contexts in product(("smoothing", "filtering"), ("tied", "separate")):
                table.row(
                    kind.name, seed, method, contexts, *row(world, fit_text_world(world, method, contexts))
                )
        table.note(f"The run took {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    main()
