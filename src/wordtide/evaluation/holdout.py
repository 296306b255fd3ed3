"""The slices left out of training, and the counts without them."""

from collections.abc import Sequence

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.counts.vocabulary import select_slices
from wordtide.errors import SettingsError
from wordtide.spelling import counted
from wordtide.timeline import DatedSlices

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
            f"There {'is' if slices == 1 else 'are'} {counted(slices, 'slice')}, "
            "and an evaluation needs at least 3.",
            "Count again with shorter slices (--every).",
        )
    wanted = max(1, round(share * slices))
    if wanted > inner:
        raise SettingsError(
            f"--holdout {share} would leave out {wanted} of {slices} slices, "
            "but the first and the last must stay.",
            f"Give a share up to {inner / slices:.2g}.",
        )
    generator = np.random.default_rng(seed)
    apart = inner - wanted + 1  # positions that remain if every drawn slice also occupies the next position
    if wanted <= apart:
        chosen = np.sort(generator.choice(apart, wanted, replace=False)) + np.arange(wanted)
    else:
        chosen = np.sort(generator.choice(inner, wanted, replace=False))
    return [int(place) + 1 for place in chosen]


def without(counts: Counts, slices: Sequence[int]) -> Counts:
    """The same counts without some slices. Words, their numbers and dates stay the same."""
    kept = [t for t in range(len(counts)) if t not in set(slices)]
    part, stamps = select_slices(counts, kept), counts.slices.mean_stamps()
    remaining = DatedSlices(**{**vars(part.slices), "stamps": [stamps[t] for t in kept]})
    return part.replaced(remaining, part.arrays, part.summary, part.groups)
