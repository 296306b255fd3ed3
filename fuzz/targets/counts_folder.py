"""The counts folder: loaded, and everything asked of it that later code asks."""

from pathlib import Path

import wordtide
from targets.damaging import Damaged
from wordtide.counts.examples.concordance import find_examples
from wordtide.errors import WordtideError

_TEXTS = [
    ("1900", "Steam power drives the mill. The mill grinds."),
    ("1950", "Atomic power. Power plants drive ships."),
]


def _make(folder: Path) -> None:
    wordtide.count(_TEXTS, output=folder, workers=1, examples=2)


def _use(folder: Path, check: bool) -> None:
    counts = wordtide.Counts.load(folder, check)
    (
        repr(counts),
        counts.times,
        counts.dates,
        counts.shown_dates(),
        counts.stored_pairs(),
        counts.tokens_in_vocabulary(),
    )
    for t in range(min(len(counts), 4)):
        try:
            counts[t], counts.unigrams(t), counts.context_probability(t)
        except WordtideError:
            continue
    for word in counts.words[:3]:
        find_examples(counts, word, range(len(counts)))


_FOLDER = Damaged(_make, _use)
SEEDS = _FOLDER.seeds()
try_input = _FOLDER.try_input
