"""Which slices are left out of training, and the counts that remain."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.errors import SettingsError
from wordtide.timeline import NUMBERS, Slices

_REMEDY = "Give a share like 0.1: a tenth of the slices."


def held_out_slices(slices: int, share: float, seed: int) -> list[int]:
    """The numbers of a random share of the slices, at least one of them, ascending.

    Never the first or the last, so that each has a neighbour on either side that stays. No two follow each other, if so many
    can be found (up to half of the slices); all such choices are equally likely.
    """
    if not isinstance(share, int | float) or not 0.0 < share < 1.0:
        raise SettingsError(f"--holdout {share} is not a share of the slices.", _REMEDY)
    inner = slices - 2
    if inner < 1:
        raise SettingsError(
            f"There {'is' if slices == 1 else 'are'} {slices} slice{'s' * (slices != 1)}, and an evaluation needs at least 3.",
            "Count again with shorter slices (--every).",
        )
    wanted = max(1, round(share * slices))
    if wanted > inner:
        raise SettingsError(
            f"--holdout {share} would leave out {wanted} of {slices} slices, and the first and the last must stay.",
            f"Give a share up to {inner / slices:.2g}.",
        )
    generator = np.random.default_rng(seed)
    apart = inner - wanted + 1  # places that are left if every choice also takes the place after it
    if wanted <= apart:
        chosen = np.sort(generator.choice(apart, wanted, replace=False)) + np.arange(wanted)
    else:
        chosen = np.sort(generator.choice(inner, wanted, replace=False))
    return [int(place) + 1 for place in chosen]


@dataclass(frozen=True)
class _Remaining(Slices):
    """Slices with the mean dates they had among all: those of one day would share it out anew among the ones that remain."""

    stamps: Sequence[Fraction] = ()

    def mean_stamps(self) -> list[Fraction]:
        """The mean dates."""
        return list(self.stamps)


def without(counts: Counts, slices: Sequence[int]) -> Counts:
    """The same counts without some slices; words, numbers of words and dates stay as they are."""
    arrays, left_out = counts.arrays, set(slices)
    kept = [t for t in range(len(counts)) if t not in left_out]
    row_starts = np.concatenate([[0], arrays.row_ends])
    rows = [slice(int(arrays.slice_rows[t]), int(arrays.slice_rows[t + 1])) for t in kept]
    entries = [slice(int(row_starts[part.start]), int(row_starts[part.stop])) for part in rows]
    unigrams = [slice(int(arrays.slice_unigrams[t]), int(arrays.slice_unigrams[t + 1])) for t in kept]
    remaining = replace(
        arrays,
        columns=np.concatenate([arrays.columns[part] for part in entries]),
        values=np.concatenate([arrays.values[part] for part in entries]),
        rows=np.concatenate([arrays.rows[part] for part in rows]),
        row_ends=np.cumsum(
            np.concatenate([np.diff(row_starts[part.start : part.stop + 1]) for part in rows])
        ),
        slice_rows=_ends(rows),
        unigram_words=np.concatenate([arrays.unigram_words[part] for part in unigrams]),
        unigram_values=np.concatenate([arrays.unigram_values[part] for part in unigrams]),
        slice_unigrams=_ends(unigrams),
    )
    numbers = {name: getattr(counts.slices, name)[kept] for name in NUMBERS}
    stamps = counts.slices.mean_stamps()
    timeline = _Remaining(
        **numbers, labels=[counts.labels[t] for t in kept], stamps=[stamps[t] for t in kept]
    )
    return Counts(
        counts.words, timeline, remaining, counts.settings, counts.window, counts.places, counts.summary
    )


def _ends(parts: Sequence[slice]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.concatenate([[0], np.cumsum([part.stop - part.start for part in parts])]).astype(np.int64)
