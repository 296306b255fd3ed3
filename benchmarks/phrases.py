"""What `--phrases auto` changes: the share of the text in phrases, the likelihood of held-out slices, and
neighbors.

    python benchmarks/phrases.py SOURCE [--every quarter] [--vocabulary-size N] [--ask WORD ...]

counts a corpus without and with phrases, fits both without a tenth of the slices, and lets both predict the
same pairs of the held-out slices: those of words that are in no phrase, counted without phrases.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from results import Table

import wordtide
from wordtide.counts.phrases.phrase_table import words_of
from wordtide.counts.vocabulary import renumber
from wordtide.evaluation.scores import held_out_slices, score_slices, without_slices
from wordtide.inference.methods import pair_settings
from wordtide.inference.problem import problem_of
from wordtide.inference.settings import resolve
from wordtide.progress import Observer

WAYS = ("none", "auto")
COLUMNS = (
    *("corpus", "phrases in the vocabulary", "words in phrases", "log-likelihood without"),
    *("gain with phrases", "slices with a gain"),
)


def likelihoods(
    counts: Mapping[str, wordtide.Counts],
    models: Mapping[str, wordtide.DynamicEmbeddings],
    words: Sequence[str],
    held_out: Sequence[int],
    dim: int,
) -> dict[str, np.ndarray]:
    """The log-likelihood per pair of these words in each held-out slice, for each way of counting, and the
    number of pairs.
    """
    settings = pair_settings(resolve({"dim": dim}))
    pairs = renumber(counts["none"], words)
    found = {}
    for way in WAYS:
        problem = problem_of(renumber(pairs, counts[way].words), settings)
        scores = score_slices("smoothing", models[way], problem, held_out, Observer())
        found[way] = np.array([score.log_likelihood for score in scores])
        found["pairs"] = np.array([score.pairs for score in scores])
    return found


def main() -> None:
    """Count, fit, predict, and print a row of the table."""
    parser = argparse.ArgumentParser(description="The effect of --phrases auto on a corpus.")
    parser.add_argument("source")
    parser.add_argument("--every", default="year")
    parser.add_argument("--vocabulary-size", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--ask", nargs="*", default=[], help="words whose neighbors are printed")
    given = parser.parse_args()
    counts = {
        way: wordtide.count(
            given.source, every=given.every, vocabulary_size=given.vocabulary_size, phrases=way
        )
        for way in WAYS
    }
    summary, phrases = counts["auto"].summary, counts["auto"].settings.joined_phrases
    parts = set(words_of(phrases))
    words = [word for word in counts["none"].words if word in counts["auto"].index and word not in parts]
    held_out = held_out_slices(len(counts["none"]), 0.1, 0)
    models = {way: wordtide.fit(without_slices(counts[way], held_out), dim=given.dim) for way in WAYS}
    found = likelihoods(counts, models, words, held_out, given.dim)
    gain = found["auto"] - found["none"]
    name = Path(given.source).name.partition(".")[0]
    with Table(f"phrases.{name}", COLUMNS) as table:
        table.row(
            name,
            f"{len(phrases):,} of {len(counts['auto'].words):,}",
            f"{summary.words_in_phrases / summary.tokens:.1%}",
            f"{np.average(found['none'], weights=found['pairs']):.5f}",
            f"{gain.mean():+.5f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.5f}",
            f"{np.count_nonzero(gain > 0)} of {len(gain)}",
        )
        for word in given.ask:
            for way in WAYS:
                if word in models[way].index or way == "auto":
                    table.note(f"{way}: {word}: {', '.join(models[way].neighbors(word, top=8)['word'])}")


if __name__ == "__main__":
    main()
