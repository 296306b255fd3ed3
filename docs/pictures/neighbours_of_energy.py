"""Draw the README's picture: what stands beside "energy" in the State of the Union, straight from the counts.

Run it with: python docs/pictures/neighbours_of_energy.py (it needs matplotlib and the sample corpus).
"""

from pathlib import Path

import matplotlib
import numpy as np

import wordtide

matplotlib.use("Agg")
import matplotlib.pyplot as plt

#: The word; the length of a slice; words shown; the least weight of a pair, and its least ratio to chance.
WORD, YEARS, NEIGHBOURS, LEAST, LIFT = "energy", 25, 5, 1.0, 6.0


def strongest_neighbours(counts: wordtide.Counts, t: int) -> dict[str, float]:
    """Words beside the word far more often than by chance: LIFT times the expected weight, and at least LEAST."""
    row = counts[t][[counts.index[WORD]], :].toarray().ravel()
    expected = row.sum() * counts.word_probability(t)
    lift = np.where(row >= LEAST, row / np.maximum(expected, 1e-12), 0)
    best = [i for i in np.argsort(-lift * np.log1p(row)) if lift[i] >= LIFT and counts.words[i] != WORD][:NEIGHBOURS]
    return {counts.words[i]: row[i] for i in best}


def main() -> None:
    """Count, choose, draw."""
    counts = wordtide.count("sotu", every=f"{YEARS}-years", until="2024")
    frequency = [1e4 * counts.unigrams(t)[counts.index[WORD]] / counts.tokens[t] for t in range(len(counts))]
    figure, axes = plt.subplots(figsize=(9.6, 4.2), layout="constrained")
    axes.bar(range(len(counts)), frequency, color="#0072B2", width=0.55)
    axes.set_xticks(range(len(counts)), [label.replace("-", "–") for label in counts.labels])  # noqa: RUF001
    axes.set_ylabel(f"occurrences of “{WORD}” per 10,000 words")
    axes.set_ylim(0, max(frequency) * 1.45)
    for t, height in enumerate(frequency):
        words = "\n".join(strongest_neighbours(counts, t))
        axes.annotate(words, (t, height), (0, 4), textcoords="offset points", ha="center", va="bottom", fontsize=8.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"What stands beside “{WORD}” in the State of the Union, by quarter century", loc="left", fontsize=12)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
