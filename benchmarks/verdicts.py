"""Are jumps and gradual changes distinguished, dated, and not seen where nothing changed?

    PYTHONPATH=benchmarks python benchmarks/verdicts.py [--worlds medium,thin,few] [--seeds 91,92,...,99]
    [--method smoothing] [--contexts tied] [--dim 50] [--shuffled] [--models FOLDER]

prints a Markdown table of worlds of text (docs/evidence.md). Seeds 11 to 36, 71 to 82 and 101 to 112 were used
for development, others were not. Errors are medians in years; "others" are all words that do not move, decoys
included. "By means" is the error of the half-way dates of the same drifts without verdicts. "Labeled" is the
error of dates by a reader who knows of every use whether it is old or new: how well the uses of a drifting
word date it at all. With --shuffled the documents exchange their dates first, so that every verdict is a
false discovery. With --models fitted models are kept in a folder, and those found there are judged again.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from results import Table
from simulation import PlantedCorpus, PlantedWord, template_world

import wordtide
from wordtide.api import DynamicEmbeddings
from wordtide.model.verdicts import VERDICTS
from wordtide.questions.effect import judge
from wordtide.questions.movement import halfway
from wordtide.questions.vectors import vectors_of

WORLDS = {"medium": {"slices": 30}, "thin": {"slices": 120}, "few": {"slices": 8}}
SEEDS = "91,92,93,94,95,96,97,98,99"
COLUMNS = (
    *("world", "jumps: jump, gradual, unsure", "date error", "interval holds the date", "width"),
    *("drifts: jump, gradual, unsure", "half-way error", "by means", "labeled", "others: jump, gradual, of"),
)


def shuffled(world: PlantedCorpus, seed: int) -> list[tuple[str, str]]:
    """The documents with their dates exchanged."""
    order = np.random.default_rng(seed).permutation(len(world.documents))
    dates = [date for date, _ in world.documents]
    return [(dates[place], text) for place, (_, text) in zip(order, world.documents, strict=True)]


def labeled_halfway(world: PlantedCorpus, drift: PlantedWord) -> float:
    """When a drifting word was half-way, by a ramp fitted to uses that are known to be old or new."""
    sides, dates, new = (set(drift.from_words), set(drift.to_words)), [], []
    for date, text in world.documents:
        words = text.lower().replace(".", "").split()
        old, later = (sum(word in side for word in words) for side in sides)
        if drift.word in words and old != later:
            dates.append(float(np.datetime64(date, "D").astype(int)) / 365.2425 + 1970.0)
            new.append(later > old)
    years, is_new = np.array(dates), np.array(new)
    edges = np.linspace(years.min(), years.max(), 60)
    ramps = [(first, last) for n, first in enumerate(edges) for last in edges[n + 1 :]]
    logs = np.empty(len(ramps))
    for n, (first, last) in enumerate(ramps):
        share = np.clip((years - first) / (last - first), 0.02, 0.98)
        logs[n] = np.log(np.where(is_new, share, 1.0 - share)).sum()
    return float(np.average(np.mean(ramps, axis=1), weights=np.exp(logs - logs.max())))


def halfway_by_means(model: DynamicEmbeddings, words: Sequence[int]) -> list[float]:
    """When words were half-way on trajectories that follow no verdict."""
    plain = DynamicEmbeddings(replace(model.fitted, dynamics=None))
    ends = (np.full(len(words), plain.times[place]) for place in (0, -1))
    return [found.date for found in halfway(plain, vectors_of(plain), np.array(words), *ends)]


class Tally:
    """What was found in the worlds of one kind."""

    def __init__(self) -> None:
        self.verdicts: dict[str, list[str]] = {"jump": [], "drift": [], "others": []}
        self.errors: dict[str, list[float]] = {"jump": [], "drift": [], "means": [], "labeled": []}
        self.held: list[bool] = []
        self.widths: list[float] = []

    def add(self, world: PlantedCorpus, model: DynamicEmbeddings) -> None:
        """Compare the verdicts on all words of a world with its plan."""
        dynamics, parts, drifts = model.dynamics, {word.word: word for word in world.moving}, []
        found = dynamics.verdicts(np.arange(len(model.words)))
        for number, (word, verdict) in enumerate(zip(model.words, found, strict=True)):
            part = parts.get(word)
            self.verdicts[part.kind if part else "others"].append(verdict)
            if part is None or verdict == VERDICTS[2]:
                continue
            if part.kind == "jump" and verdict == VERDICTS[0]:
                low, high = dynamics.date_low[number], dynamics.date_high[number]
                self.held.append(bool(low <= part.halfway <= high))
                self.widths.append(float(high - low))
            if part.kind == "drift" or verdict == VERDICTS[0]:
                self.errors[part.kind].append(abs(float(dynamics.date[number]) - part.halfway))
            if part.kind == "drift":
                self.errors["labeled"].append(abs(labeled_halfway(world, part) - part.halfway))
                drifts.append((number, part.halfway))
        if drifts:
            numbers, truth = zip(*drifts, strict=True)
            by_means = np.abs(np.array(halfway_by_means(model, numbers)) - truth)
            self.errors["means"] += by_means[np.isfinite(by_means)].tolist()

    def row(self, name: str) -> list[str]:
        """The cells of the table."""
        counts = {
            kind: [found.count(verdict) for verdict in VERDICTS] for kind, found in self.verdicts.items()
        }
        jump, *drift = (_median(errors) for errors in self.errors.values())
        held = f"{np.mean(self.held):.2f}" if self.held else ""
        others = f"{counts['others'][0]}, {counts['others'][1]}, {sum(counts['others']):,}"
        listed = {kind: ", ".join(map(str, counts[kind])) for kind in ("jump", "drift")}
        found = (name, listed["jump"], jump, held, _median(self.widths))
        return [*found, listed["drift"], *drift, others]


def _median(values: list[float]) -> str:
    return f"{np.median(values):.2f}" if values else ""


def model_of(
    path: Path | None, texts: Sequence[tuple[str, str]], settings: dict[str, Any]
) -> DynamicEmbeddings:
    """The model of some texts: from its folder with the verdicts of today, or fitted now."""
    if path is not None and path.exists():
        fitted = wordtide.load(path).fitted
        return DynamicEmbeddings(replace(fitted, dynamics=judge(replace(fitted, dynamics=None), threads=1)))
    model = wordtide.fit(wordtide.count(texts, workers=1), **settings)
    if path is not None:
        model.save(path)
    return model


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How good are verdicts on words?")
    parser.add_argument("--worlds", default="medium,thin,few")
    parser.add_argument("--seeds", default=SEEDS)
    parser.add_argument("--method", default="smoothing")
    parser.add_argument("--contexts", default="tied")
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--shuffled", action="store_true", help="exchange the dates of documents")
    parser.add_argument("--models", type=Path, help="keep fitted models here")
    options = parser.parse_args()
    settings = {"method": options.method, "contexts": options.contexts, "dim": options.dim, "threads": 1}
    kind = f"{options.method}-shuffled" if options.shuffled else options.method
    with Table(f"verdicts.{kind}", COLUMNS) as table:
        for name in options.worlds.split(","):
            tally = Tally()
            for seed in map(int, options.seeds.split(",")):
                world = template_world(seed, **WORLDS[name])
                texts = shuffled(world, seed) if options.shuffled else world.documents
                place = options.models and options.models / f"{kind}-{name}-{seed}"
                model = model_of(place, texts, settings)
                if model.dynamics is None:
                    sys.exit(f"A model fitted by {options.method} has no verdicts.")
                tally.add(world, model)
                print(f"{name}, seed {seed}: done", file=sys.stderr)
            table.row(*tally.row(name))


if __name__ == "__main__":
    main()
