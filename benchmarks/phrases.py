"""What `--phrases auto` changes: the share of phrases, the likelihood of held-out slices, and neighbors.

    python benchmarks/phrases.py sotu un.jsonl.gz eips.jsonl.gz:quarter:5000 [--ask WORD ...]

counts each corpus without and with phrases, fits both without a tenth of the slices, and lets both predict the
same pairs of the held-out slices: those of words that are in no phrase, counted without phrases. The length of
the slices and the size of the vocabulary follow a corpus (year and 10000).
"""

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from results import Table

import wordtide
from wordtide.counts.phrases.phrase_table import words_of
from wordtide.counts.settings import Summary
from wordtide.counts.vocabulary import renumber
from wordtide.evaluation.scores import held_out_slices, score_slices, without_slices
from wordtide.inference.methods import pair_settings
from wordtide.inference.problem import problem_of
from wordtide.inference.settings import resolve
from wordtide.progress import Observer

WAYS = ("none", "auto")
COLUMNS = (
    *("corpus", "phrases in the vocabulary", "words in phrases", "coverage without, with"),
    *("log-likelihood without", "gain with phrases", "slices with a gain"),
)
Counts = Mapping[str, wordtide.Counts]
Models = Mapping[str, wordtide.DynamicEmbeddings]


def counted(given: str) -> tuple[str, Counts]:
    """The name of a corpus and its counts, for each way: "posts.jsonl:quarter:5000"."""
    source, every, size = re.fullmatch(r"(.+?)(?::([\w-]+))?(?::(\d+))?", given).groups()
    settings = {"every": every or "year", "vocabulary_size": int(size or 10_000)}
    counts = {way: wordtide.count(source, phrases=way, **settings) for way in WAYS}
    return f"{Path(source).name.partition('.')[0]}, by {settings['every']}", counts


def likelihoods(
    counts: Counts, models: Models, words: Sequence[str], held_out: Sequence[int], dim: int
) -> dict[str, np.ndarray]:
    """The log-likelihood per pair in each held-out slice for each way of counting, and the pairs."""
    settings = pair_settings(resolve({"dim": dim}))
    pairs = renumber(counts["none"], words)
    found = {}
    for way in WAYS:
        problem = problem_of(renumber(pairs, counts[way].words), settings)
        scores = score_slices("smoothing", models[way], problem, held_out, Observer())
        found[way] = np.array([score.log_likelihood for score in scores])
        found["pairs"] = np.array([score.pairs for score in scores])
    return found


def covered(summary: Summary) -> float:
    """The share of the words that are in the vocabulary, by themselves or in phrases."""
    joined = summary.words_in_phrases - summary.phrase_occurrences
    return (summary.tokens_in_vocabulary + joined) / summary.tokens


def cells(counts: Counts, models: Models, held_out: Sequence[int], dim: int) -> list[str]:
    """The row of a corpus."""
    summaries, phrases = [counts[way].summary for way in WAYS], counts["auto"].settings.joined_phrases
    parts = set(words_of(phrases))
    words = [word for word in counts["none"].words if word in counts["auto"].index and word not in parts]
    found = likelihoods(counts, models, words, held_out, dim)
    gain = found["auto"] - found["none"]
    return [
        f"{len(phrases):,} of {len(counts['auto'].words):,}",
        f"{summaries[-1].words_in_phrases / summaries[-1].tokens:.1%}",
        ", ".join(f"{covered(summary):.1%}" for summary in summaries),
        f"{np.average(found['none'], weights=found['pairs']):.5f}",
        f"{gain.mean():+.5f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.5f}",
        f"{np.count_nonzero(gain > 0)} of {len(gain)}",
    ]


def neighbors(models: Models, asked: Sequence[str]) -> Iterator[str]:
    """The neighbors of words, for each way."""
    for word in asked:
        for way in WAYS:
            if word in models[way].index:
                yield f"{way}: {word}: {', '.join(models[way].neighbors(word, top=8)['word'])}"


def main() -> None:
    """Count, fit, predict, and print a row for each corpus."""
    parser = argparse.ArgumentParser(description="The effect of --phrases auto on corpora.")
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--ask", nargs="*", default=[], help="words whose neighbors are printed")
    given = parser.parse_args()
    with Table("phrases", COLUMNS) as table:
        for source in given.sources:
            name, counts = counted(source)
            held_out = held_out_slices(len(counts["none"]), 0.1, 0)
            models = {way: wordtide.fit(without_slices(counts[way], held_out), dim=given.dim) for way in WAYS}
            table.row(name, *cells(counts, models, held_out, given.dim))
            for text in neighbors(models, given.ask):
                table.note(text)


if __name__ == "__main__":
    main()
