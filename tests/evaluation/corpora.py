"""A tiny corpus whose words change their neighbors, for evaluations that take a second."""

import wordtide

STEAM = "Steam power drives the mill by the river. The old mill grinds corn by steam and by the river. "
LAW = "The king made a law for the mill. The law of the river is old and the king drives a hard bargain. "
SETTINGS = {"dim": 3, "threads": 1, "max_steps": 4}


def tiny_counts(slices=6, more=""):
    """Counts of some slices, ten years apart; `more` stands in each of them."""
    return wordtide.count(
        [(str(1900 + 10 * k), STEAM * (slices - k) + LAW * (k + 1) + more) for k in range(slices)]
    )
