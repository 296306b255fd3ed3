"""Where words stand between two poles: their mean similarity to the words of one pole minus that to the words of the other.

That is the projection of a word's vector, in units of its length, on the difference of the poles' mean directions; its variance
adds what is not known of the word, and of each pole word.
"""

from collections.abc import Sequence

import numpy as np

from wordtide.embeddings.states import Embeddings, Times
from wordtide.errors import SettingsError
from wordtide.questions.answers import Answer, empty_intervals
from wordtide.questions.asking import Occasions, occurrences_at, words_numbers
from wordtide.questions.similarity import SIDES, scaled_words
from wordtide.questions.vectors import vectors_of
from wordtide.types import Floats


def axis(
    model: Embeddings,
    words: Sequence[str],
    from_words: Sequence[str],
    to_words: Sequence[str],
    times: Times = None,
    vectors: str | None = None,
) -> Answer:
    """Words between two poles over time: positive is nearer to the pole `to_words`.

    Columns: time, word, position, low, high, occurrences.
    """
    words, from_words, to_words = (
        [names] if isinstance(names, str) else names for names in (words, from_words, to_words)
    )
    if not words or not from_words or not to_words:
        raise SettingsError(
            "A pole, or the list of words between them, is empty.", "Give at least one word for each."
        )
    occasions = Occasions.of(model, times)
    chosen = vectors_of(model, vectors)
    poles = dict.fromkeys(words_numbers(model, [*from_words, *to_words]), 0.0)
    if set(words_numbers(model, from_words)) & set(words_numbers(model, to_words)):
        raise SettingsError("A word stands at both poles of the axis.", "Leave it out on one side.")
    for sign, names in ((-1.0, from_words), (1.0, to_words)):
        for number in words_numbers(model, names):
            poles[number] += sign / len(names)
    columns: dict[str, list[object]] = {
        name: [] for name in ("time", "word", "position", "low", "high", "occurrences")
    }
    numbers = words_numbers(model, words)
    for number in numbers:
        if number in poles:
            raise SettingsError(
                f"{model.words[number]!r} is a pole of the axis.", "Leave it out on one side."
            )
    ends = dict(zip(poles, scaled_words(chosen, list(poles), occasions.years), strict=True))
    for number, one in zip(numbers, scaled_words(chosen, numbers, occasions.years), strict=True):
        direction: Floats = np.sum([weight * ends[pole].mean for pole, weight in poles.items()], axis=0)
        position = np.einsum("nk,nk->n", one.mean, direction)
        variance = np.einsum("nk,nk->n", direction**2, one.variance)
        for pole, weight in poles.items():
            variance += weight**2 * np.einsum("nk,nk->n", one.mean**2 + one.variance, ends[pole].variance)
        reach = SIDES * np.sqrt(variance) if chosen.uncertain else empty_intervals(len(position))
        columns["time"] += occasions.years.tolist()
        columns["word"] += [model.words[number]] * len(position)
        columns["position"] += position.tolist()
        columns["low"] += np.maximum(position - reach, -2.0).tolist()
        columns["high"] += np.minimum(position + reach, 2.0).tolist()
        columns["occurrences"] += occurrences_at(model, number, occasions).tolist()
    return Answer(columns, occasions.notes)
