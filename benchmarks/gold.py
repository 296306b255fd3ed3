"""Do rankings by change agree with people? Usages with human judgments, in the layout of the DWUG data sets.

    PYTHONPATH=benchmarks/peers python benchmarks/gold.py FOLDER... [--background TEXTS] [--dim 100]
    make bench-gold GOLD=FOLDER         # without GOLD: planted changes in real text (planted_senses.py)

prints a Markdown table: Spearman's rank correlation with graded change, the area under the ROC curve of
binary change, and the rank correlation with how unrelated people found pairs of uses across time; in brackets
90 % intervals from resampled words. With several folders, means over these. All methods read the same
sentences: the usages, each target in its dictionary form, and those texts of --background that are as old as
the usages. Nothing here is tuned on a data set.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gensim_peers import PEERS, Training
from results import Table
from scipy.stats import rankdata
from slice_texts import sentences_by_slice
from usages import GoldData, Group, Truth, read_gold

import wordtide
from wordtide.corpus.columns import Fields
from wordtide.corpus.documents import BadRows
from wordtide.corpus.normalization import normalize_texts
from wordtide.corpus.sources import find_corpus
from wordtide.counts.counts import Counts
from wordtide.questions.change import changed
from wordtide.questions.movement import movement
from wordtide.questions.vectors import vectors_of
from wordtide.timeline import SliceLength

Documents = list[tuple[str, str]]
Scores = dict[str, np.ndarray]
#: gensim's settings were chosen among four on planted senses with seeds 101 and 102.
GENSIM = {
    "gensim, Procrustes": ("per-slice", {"epochs": 5, "sample": 1e-3}),
    "gensim, compass": ("compass", {"epochs": 5, "sample": 1e-3, "start": "pooled"}),
}
OURS = {
    "verdict": "wordtide: order of `changed`, then by evidence",
    "evidence": "wordtide: evidence (log Bayes factor)",
    "change": "wordtide: cosine distance of posterior means",
    "low": "wordtide: lower bound of change",
}
MEASURES = ("graded", "binary", "unrelated")
RESAMPLED = 2_000


@dataclass(frozen=True)
class Result:
    """What people found of some words, by measure, and what each method did, (n,) each."""

    truth: Scores
    found: Scores


def documents_of(data: GoldData, groups: Sequence[Group], background: Sequence[str]) -> Documents:
    """Usages and other texts of some groups, dated by the middle year of their group."""
    year = {group.name: f"{round(group.year):04d}" for group in groups}
    found = [(year[use.group], use.text) for use in data.uses if use.group in year]
    every, bad = SliceLength.parse("year"), BadRows(skip=True)
    for source in background:
        for block in find_corpus(source).blocks(Fields(), bad, lambda _: None):
            batch = normalize_texts(block(bad), bad)
            years = [int(every.label(ordinal)) for ordinal in every.ordinals(batch.stamps).tolist()]
            for number, dated in enumerate(years):
                for group in groups:
                    if group.first <= dated <= group.last:
                        found.append((year[group.name], batch.text(number).decode()))
    return found


def counted(documents: Documents, targets: Sequence[str]) -> Counts:
    """The counts, with all targets that occur in the vocabulary."""
    settings = {"close_gaps": True, "workers": 1}
    counts = wordtide.count(documents, **settings)
    missing = sorted(set(targets) - set(counts.words))
    if not missing:
        return counts
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.txt"
        kept = [word for word in counts.words if word not in missing][: len(counts.words) - len(missing)]
        path.write_text("\n".join([*kept, *missing]) + "\n", encoding="utf-8")
        return wordtide.count(documents, vocabulary=str(path), **settings)


def our_scores(counts: Counts, words: np.ndarray, dim: int) -> Scores:
    """How much words changed, in the orders that a user can ask for."""
    model = wordtide.fit(counts, dim=dim, threads=1)
    assert model.dynamics is not None
    evidence = np.nan_to_num(model.dynamics.log_bayes_factor[words], nan=-1e3, neginf=-1e3)
    listed = changed(model, top=len(model.words), min_occurrences=1)
    order = listed.columns["word"] if listed.facts["by"] == "effect" else []
    place = {word: number for number, word in enumerate(order)}
    rank = np.array([place.get(model.words[word], np.inf) for word in words])
    verdict = np.where(np.isfinite(rank), 1e6 - rank, evidence)
    moved = movement(vectors_of(model), words, *np.repeat(model.times[[0, -1], None], len(words), axis=1))
    scores = {"verdict": verdict, "evidence": evidence, "change": moved.distance, "low": moved.least}
    return {OURS[name]: values for name, values in scores.items()}


def peer_scores(counts: Counts, documents: Documents, words: np.ndarray, dim: int) -> Scores:
    """Cosine distances of gensim's vectors."""
    slices, found = sentences_by_slice(documents, counts), {}
    for name, (peer, settings) in GENSIM.items():
        vectors = []
        for part in PEERS[peer](slices, counts.words, Training(dim=dim, **settings)):
            place = np.full(len(counts.words), -1)
            place[part.words] = np.arange(len(part.words))
            vectors.append(part.u[place[words]] / np.linalg.norm(part.u[place[words]], axis=1, keepdims=True))
        found[name] = 1.0 - np.einsum("nk,nk->n", vectors[0], vectors[-1])
    return found


def results_of(data: GoldData, background: Sequence[str], dim: int) -> list[Result]:
    """One result for each pair of groups between which people saw changes."""
    found = []
    for pair in dict.fromkeys(truth.groups for truth in data.truths):
        groups = [group for group in data.groups if group.name in pair]
        documents = documents_of(data, groups, background)
        known = [truth for truth in data.truths if truth.groups == pair]
        counts = counted(documents, [truth.word for truth in known])
        both = [truth for truth in known if _is_in_both(counts, truth)]
        words = np.array([counts.words.index(truth.word) for truth in both])
        size = sum(int(counts.unigrams(t).sum()) for t in range(len(counts.labels)))
        print(f"{' to '.join(pair)}: {len(both)} words, {size:,} tokens", file=sys.stderr)
        truth = {name: np.array([getattr(one, name) for one in both]) for name in MEASURES}
        scores = our_scores(counts, words, dim) | peer_scores(counts, documents, words, dim)
        found.append(Result(truth, scores))
    return found


def _is_in_both(counts: Counts, truth: Truth) -> bool:
    number = counts.words.index(truth.word)
    return all(counts.unigrams(t)[number] > 0 for t in range(len(counts.labels)))


def correlation(truth: np.ndarray, found: np.ndarray) -> float:
    """Spearman's rank correlation; 0 if one of both is constant."""
    if np.ptp(found) == 0.0 or np.ptp(truth) == 0.0:
        return 0.0
    return float(np.corrcoef(rankdata(truth), rankdata(found))[0, 1])


def area(truth: np.ndarray, found: np.ndarray) -> float:
    """The probability that a changed word ranks before one that did not change; 0.5 without either."""
    changed = truth > 0.5
    positive, negative = int(changed.sum()), int((~changed).sum())
    if not positive or not negative:
        return 0.5
    return float((rankdata(found)[changed].sum() - positive * (positive + 1) / 2) / (positive * negative))


def cell(results: Sequence[Result], name: str, measure: str, seed: int = 0) -> str:
    """The mean agreement of a method over data sets, with its interval."""
    agree: Callable[[np.ndarray, np.ndarray], float] = area if measure == "binary" else correlation
    pairs = []
    for result in results:
        kept = ~np.isnan(result.truth[measure])
        pairs += [(result.truth[measure][kept], result.found[name][kept])] if kept.sum() > 2 else []
    if not pairs:
        return ""
    random = np.random.default_rng(seed)
    drawn = []
    for _ in range(RESAMPLED):
        rows = [random.integers(len(truth), size=len(truth)) for truth, _ in pairs]
        drawn.append(
            np.mean([agree(*(part[row] for part in pair)) for pair, row in zip(pairs, rows, strict=True)])
        )
    low, high = np.quantile(drawn, (0.05, 0.95))
    return f"{np.mean([agree(*pair) for pair in pairs]):.2f} [{low:.2f}, {high:.2f}]"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Do rankings by change agree with people?")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument(
        "--background", action="append", default=[], help="dated texts, as `wordtide count` reads"
    )
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--name", default="planted", help="name of the table in results/gold.json")
    options = parser.parse_args()
    results = []
    for folder in options.folders:
        data = read_gold(folder)
        if data.skipped:
            print(f"{folder}: {data.skipped} uses do not say where their word is", file=sys.stderr)
        results += results_of(data, options.background, options.dim)
    columns = "method", "graded change (Spearman)", "binary change (AUC)", "unrelated pairs (Spearman)"
    with Table(f"gold.{options.name}", columns) as table:
        for name in results[0].found:
            table.row(name, *(cell(results, name, measure) for measure in MEASURES))


if __name__ == "__main__":
    main()
