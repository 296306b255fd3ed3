"""The header of a page's data: words, slices, what was left out, and what is to be known of the model."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import wordtide
from wordtide.embeddings.states import Embeddings
from wordtide.explorer.evidence import Evidence
from wordtide.explorer.packing import whole_or_float
from wordtide.explorer.page_cache import Kept, tokens_of_slices
from wordtide.questions.asking import slices_nearby
from wordtide.questions.shown_dates import shown_year
from wordtide.questions.vectors import DEFAULT, NOISE, OFTEN, Vectors

FORMAT, VERSION = "wordtide-explorer", 1
_SIMILARITY = (
    "Similarity is the inner product of the vectors of two words, in units of the lengths of their posterior means: "
    "the cosine of the means"
)
_CITE = (
    "wordtide: how the meaning of words moves through time, and how sure that is.",
    "Robert Bamler and Stephan Mandt: Dynamic Word Embeddings. International Conference on Machine Learning (ICML), 2017.",
)


@dataclass(frozen=True)
class Labels:
    """What a user says of a page: its title, and the licence of what it shows."""

    title: str
    licence: str | None = None


def estimand(vectors: Vectors) -> str:
    """One sentence that names what similarity is, and what its interval is."""
    interval = (
        "with the 90 % interval of that product under the posterior"
        if vectors.uncertain
        else "without an interval"
    )
    return f"{_SIMILARITY}, {interval}. A vector is the sum of a word's and its context's vector."


def header(
    model: Embeddings, vectors: Vectors, kept: Kept, labels: Labels, evidence: Evidence | None, **facts: Any
) -> dict[str, Any]:
    """The header; `facts` are those that depend on how the page is made."""
    tokens, documents = tokens_of_slices(model), evidence.documents if evidence else [None] * len(model)
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": labels.title,
        "estimand": estimand(vectors),
        "method": model.method,
        "uncertain": vectors.uncertain,
        "vectors": DEFAULT,
        "dim": model.dim,
        "words": [model.words[number] for number in kept.words],
        "totals": [whole_or_float(total) for total in model.total_occurrences[kept.words]],
        "slices": [
            {
                "time": float(model.times[t]),
                "label": model.labels[t],
                "shown": shown_year(model, float(model.times[t])),
                "tokens": whole_or_float(tokens[t]),
                "documents": documents[t],
            }
            for t in kept.slices
        ],
        "all_slices": [
            {"time": float(time), "tokens": whole_or_float(number)}
            for time, number in zip(model.times, tokens, strict=True)
        ],
        "known": {"noise": NOISE, "often": OFTEN},
        "slices_nearby": slices_nearby(model),
        **facts,
        "about": _about(model, labels, evidence),
    }


def _about(model: Embeddings, labels: Labels, evidence: Evidence | None) -> dict[str, Any]:
    tokens = whole_or_float(model.total_occurrences.sum())
    corpus: dict[str, Any] = {"documents": None, "tokens": tokens, "distinct_words": None}
    return {
        "corpus": {
            **(evidence.corpus if evidence else corpus),
            "first": model.labels[0],
            "last": model.labels[-1],
            "slices": len(model),
            "words": len(model.words),
        },
        "settings": {
            **model.settings,
            "diffusion": model.diffusion.constant,
            "prior": model.diffusion.name,
            "prior_variance": model.diffusion.prior_variance,
        },
        "wordtide": wordtide.__version__,
        "licence": labels.licence,
        "cite": list(_CITE),
    }


def occurrences(model: Embeddings, kept: Kept) -> bytes:
    """How often each kept word occurs in each kept slice, word by word, as uint32."""
    place = np.full(len(model.words), -1)
    place[kept.words] = np.arange(len(kept.words))
    column = np.full(len(model), -1)
    column[kept.slices] = np.arange(len(kept.slices))
    places, values = model.fitted.occurrences.places, model.fitted.occurrences.values
    rows, columns = place[places.words], column[places.slices]
    there = (rows >= 0) & (columns >= 0)
    table = np.zeros((len(kept.words), len(kept.slices)), dtype="<u4")
    counted = np.asarray(values)[there]
    table[rows[there], columns[there]] = np.clip(np.rint(counted), counted > 0, 2**32 - 1).astype("<u4")
    return table.tobytes()
