"""The map: places of frequent words at some slices in one plane, by dynamic t-SNE."""

from collections.abc import Callable
from typing import Any

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.explorer.page_cache import Kept, thinned_slices, tokens_of_slices
from wordtide.questions.shown_dates import shown_year
from wordtide.questions.vectors import Vectors

#: Words on the map if nothing else is said, and frames at most.
MAP_WORDS, FRAMES = 3000, 12
#: Words that occur less often have no place worth showing; a map needs a few words (figures.dynamic_tsne).
_FEWEST_OCCURRENCES, _FEWEST_WORDS = 5, 10
_DECIMALS = 4
_STEPS = 250  # of dynamic t-SNE, with what it begins with


def mapped_words(model: Embeddings, kept: Kept, number: int) -> int:
    """How many of the kept words, from the first on, are on the map; 0 if they are too few for one."""
    frequent = int(np.count_nonzero(model.total_occurrences[kept.words] >= _FEWEST_OCCURRENCES))
    chosen = min(frequent, number)
    return chosen if chosen >= _FEWEST_WORDS and model.dim > 1 else 0


def map_steps(model: Embeddings) -> int:
    """How many steps the observer of a map hears of: affinities of each frame, the layout they share, and theirs."""
    return min(FRAMES, len(model)) + _STEPS


def word_map(
    model: Embeddings,
    vectors: Vectors,
    kept: Kept,
    number: int,
    threads: int | None = None,
    observer: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Places of the first `number` kept words at each frame, within [-1, 1]; the observer hears of steps done, of how many."""
    from wordtide.figures.dynamic_tsne import dynamic_tsne  # brings openTSNE

    years = model.times[thinned_slices(model.times, tokens_of_slices(model), FRAMES)]
    means = np.stack([vectors.means_at(float(year), kept.words[:number]) for year in years])
    lengths = np.linalg.norm(means, axis=2, keepdims=True)
    units = np.divide(means, lengths, out=means, where=lengths > 0.0)
    layout = dynamic_tsne(units, threads=threads, observer=observer)
    low, high = layout.min(axis=(0, 1)), layout.max(axis=(0, 1))
    layout = (layout - (low + high) / 2.0) / max(float((high - low).max()) / 2.0, 1e-300)
    return {
        "words": list(range(number)),
        "times": years,
        "shown": [shown_year(model, float(year)) for year in years],
        "x": layout[:, :, 0].round(_DECIMALS),
        "y": layout[:, :, 1].round(_DECIMALS),
    }
