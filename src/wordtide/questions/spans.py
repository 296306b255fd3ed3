"""From when to when the change of a word is measured: the same two times for `changed`, `story` and the explorer."""

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.embeddings.when import Time
from wordtide.questions.asking import Occasions, two_occasions
from wordtide.types import Floats, Integers

#: A word's time begins with the slice of this occurrence, and ends likewise: a few stray uses far from the others do not count.
STRAY = 5


def spans(
    model: Embeddings, words: Integers, since: Time | None, until: Time | None
) -> tuple[Floats, Floats, list[str]]:
    """Start and end of each word in float years, (n,) each, and notes.

    A time that is given holds for all words. Otherwise a word begins with the slice of its fifth occurrence and ends with that
    of its fifth to last. If these are not in order, or not with the time that is given, the first and the last slice are taken.
    """
    if since is not None and until is not None:
        start, end, notes = two_occasions(model, since, until)
        return np.full(len(words), start), np.full(len(words), end), notes
    first, last = _lifetimes(model, words)
    starts = first if since is None else np.full(len(words), model.year(since))
    ends = last if until is None else np.full(len(words), model.year(until))
    backward = starts >= ends
    if since is None:
        starts = np.where(backward, model.times[0], starts)
    if until is None:
        ends = np.where(backward, model.times[-1], ends)
    given = [time for time in (since, until) if time is not None]
    notes = list(Occasions.of(model, given).notes) if given else []
    if (starts >= ends).any():
        two_occasions(
            model, "first" if since is None else since, "last" if until is None else until
        )  # says what is wrong
    return starts, ends, notes


def _lifetimes(model: Embeddings, words: Integers) -> tuple[Floats, Floats]:
    """The times of the slices between which the occurrences of each word lie, but for a few stray ones, (n,) each."""
    places, values = model.fitted.occurrences.places, model.fitted.occurrences.values
    total = np.concatenate([np.zeros(1), np.cumsum(values, dtype=np.float64)])
    begin, end = places.starts[words], places.starts[words + 1]
    occurrences = total[end] - total[begin]
    few = occurrences < 2 * STRAY
    wanted = np.where(few, np.minimum(1.0, occurrences), STRAY)
    last_row = max(len(values) - 1, 0)
    first = np.clip(np.searchsorted(total, total[begin] + wanted, side="left") - 1, 0, last_row)
    last = np.clip(np.searchsorted(total, total[end] - wanted, side="right") - 1, 0, last_row)
    if not len(values):
        return np.full(len(words), model.times[0]), np.full(len(words), model.times[-1])
    seen = occurrences > 0
    slices = np.asarray(places.slices)
    return (
        np.where(seen, model.times[slices[first]], model.times[0]),
        np.where(seen, model.times[slices[last]], model.times[-1]),
    )
