"""The slices left out of training, and the counts without them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.errors import SettingsError
from wordtide.timeline import NUMBERS, Slices

_REMEDY = "Give a share like 0.1: a tenth of the slices."


def held_out_slices(slices: int, share: float, seed: int) -> list[int]:
    """Draw slices to leave out.

    The first and the last slice always stay, so that each slice left out lies between two others. No two
    adjacent slices are drawn as long as that is possible (up to half of the slices); all such draws are
    equally likely.

    Args:
        slices: The number of slices.
        share: The share to leave out, at least one slice.
        seed: Determines the draw.

    Returns:
        The numbers of the slices, ascending.

    Raises:
        SettingsError: The share is invalid, or there are too few slices.
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
            f"--holdout {share} would leave out {wanted} of {slices} slices, but the first and the last must stay.",
            f"Give a share up to {inner / slices:.2g}.",
        )
    generator = np.random.default_rng(seed)
    apart = inner - wanted + 1  # positions that remain if every drawn slice also occupies the next position
    if wanted <= apart:
        chosen = np.sort(generator.choice(apart, wanted, replace=False)) + np.arange(wanted)
    else:
        chosen = np.sort(generator.choice(inner, wanted, replace=False))
    return [int(place) + 1 for place in chosen]


@dataclass(frozen=True)
class _Remaining(Slices):
    """Slices that keep their mean dates, which slices within one day would otherwise divide up again."""

    stamps: Sequence[Fraction] = ()

    def mean_stamps(self) -> list[Fraction]:
        """The mean dates."""
        return list(self.stamps)


def without(counts: Counts, slices: Sequence[int]) -> Counts:
    """The same counts without some slices. Words, their numbers and dates stay the same."""
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
