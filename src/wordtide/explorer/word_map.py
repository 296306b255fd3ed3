"""The map: positions of frequent words in one plane at several slices, by dynamic t-SNE."""

from typing import Any

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.explorer.page_selection import PageSelection, slice_tokens, thin_slices
from wordtide.progress import Observer
from wordtide.questions.asking import shown_year
from wordtide.questions.vectors import Vectors

#: The default number of words on the map, and the most frames.
MAP_WORDS, FRAMES = 3000, 12
#: Rarer words have no reliable position; dynamic t-SNE needs a few words.
_FEWEST_OCCURRENCES, _FEWEST_WORDS = 5, 10
_DECIMALS = 4


def mapped_words(model: Embeddings, kept: PageSelection, number: int) -> int:
    """How many of the most frequent words are on the map; 0 if there are too few for a map."""
    frequent = int(np.count_nonzero(model.total_occurrences[kept.words] >= _FEWEST_OCCURRENCES))
    chosen = min(frequent, number)
    return chosen if chosen >= _FEWEST_WORDS and model.dim > 1 else 0


def word_map(
    model: Embeddings,
    vectors: Vectors,
    kept: PageSelection,
    number: int,
    threads: int | None = None,
    observer: Observer | None = None,
) -> dict[str, Any]:
    """Compute the map.

    Args:
        model: The model.
        vectors: Its vectors.
        kept: The words and slices on the page.
        number: How many of the words are on the map.
        threads: Threads for t-SNE; None for all cores.
        observer: Receives the progress.

    Returns:
        Positions of the words at each frame, within [-1, 1].
    """
    from wordtide.figures.dynamic_tsne import dynamic_tsne  # brings openTSNE

    years = model.times[thin_slices(model.times, slice_tokens(model), FRAMES)]
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
