"""Are jumps and gradual changes distinguished, dated, and not seen where nothing changed?

    PYTHONPATH=benchmarks python benchmarks/verdicts.py [--worlds medium,thin,few] [--seeds 51,52,53,54,55,56]
    [--method smoothing] [--contexts tied] [--dim 50] [--shuffled]

prints a Markdown table of worlds of text (docs/evidence.md). Seeds 11 to 36 and 101 to 112 were used for
development, others were not. Errors are medians in years; "others" are all words that do not move, decoys
included. "Labeled" is the error of dates by a reader who knows of every use whether it is old or new: how
well the uses of a drifting word date it at all. With --shuffled the documents exchange their dates first, so
that every verdict is a false discovery.
"""

import argparse
import sys

import numpy as np
from results import Table
from simulation import PlantedCorpus, PlantedWord, template_world

import wordtide
from wordtide.model.verdicts import VERDICTS, Dynamics

WORLDS = {"medium": {"slices": 30}, "thin": {"slices": 120}, "few": {"slices": 8}}
COLUMNS = (
    *("world", "jumps: jump, gradual, unsure", "date error", "interval holds the date", "width"),
    *("drifts: jump, gradual, unsure", "half-way error", "labeled", "others: jump, gradual, of"),
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


class Tally:
    """What was found in the worlds of one kind."""

    def __init__(self) -> None:
        self.verdicts: dict[str, list[str]] = {"jump": [], "drift": [], "others": []}
        self.errors: dict[str, list[float]] = {"jump": [], "drift": [], "labeled": []}
        self.held: list[bool] = []
        self.widths: list[float] = []

    def add(self, world: PlantedCorpus, words: list[str], dynamics: Dynamics) -> None:
        """Compare the verdicts on all words of a world with its plan."""
        parts = {word.word: word for word in world.moving}
        found = dynamics.verdicts(np.arange(len(words)))
        for number, (word, verdict) in enumerate(zip(words, found, strict=True)):
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

    def row(self, name: str) -> list[str]:
        """The cells of the table."""
        counts = {
            kind: [found.count(verdict) for verdict in VERDICTS] for kind, found in self.verdicts.items()
        }
        jump, drift, labeled = (_median(errors) for errors in self.errors.values())
        held = f"{np.mean(self.held):.2f}" if self.held else ""
        others = f"{counts['others'][0]}, {counts['others'][1]}, {sum(counts['others']):,}"
        listed = {kind: ", ".join(map(str, counts[kind])) for kind in ("jump", "drift")}
        found = (name, listed["jump"], jump, held, _median(self.widths))
        return [*found, listed["drift"], drift, labeled, others]


def _median(values: list[float]) -> str:
    return f"{np.median(values):.2f}" if values else ""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How good are verdicts on words?")
    parser.add_argument("--worlds", default="medium,thin,few")
    parser.add_argument("--seeds", default="51,52,53,54,55,56")
    parser.add_argument("--method", default="smoothing")
    parser.add_argument("--contexts", default="tied")
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--shuffled", action="store_true", help="exchange the dates of documents")
    options = parser.parse_args()
    settings = {"method": options.method, "contexts": options.contexts, "dim": options.dim, "threads": 1}
    kind = f"{options.method}-shuffled" if options.shuffled else options.method
    with Table(f"verdicts.{kind}", COLUMNS) as table:
        for name in options.worlds.split(","):
            tally = Tally()
            for seed in map(int, options.seeds.split(",")):
                world = template_world(seed, **WORLDS[name])
                texts = shuffled(world, seed) if options.shuffled else world.documents
                model = wordtide.fit(wordtide.count(texts, workers=1), **settings)
                if model.dynamics is None:
                    sys.exit(f"A model fitted by {options.method} has no verdicts.")
                tally.add(world, model.words, model.dynamics)
                print(f"{name}, seed {seed}: done", file=sys.stderr)
            table.row(*tally.row(name))


if __name__ == "__main__":
    main()
