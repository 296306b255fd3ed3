"""What a page shows: its words and slices, stories, tables of changed words and of words that divide groups,
cards, and the map.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.progress import Observer
from wordtide.questions.answers import Answer, shown_year
from wordtide.questions.change import MIN_OCCURRENCES, WordSpans, changed, changes, word_spans
from wordtide.questions.divided import divided, groups_of
from wordtide.questions.effect import VERDICT, all_effects
from wordtide.questions.function_words import function_words
from wordtide.questions.story import Story, stories
from wordtide.questions.vectors import Vectors, lengths_of
from wordtide.spelling import counted
from wordtide.types import Floats, Integers

#: Enough slices for curves to look right, and enough words for most searches to succeed. A page that is too
#: large is reduced to these, then to the fewest slices, and then to fewer words.
ENOUGH_SLICES, ENOUGH_WORDS, FEWEST_SLICES = 60, 2000, 12
#: The reason given when the user limited words or slices.
AS_REQUESTED = "as requested"


@dataclass(frozen=True)
class PageSelection:
    """Numbers of words, most frequent first (W,), and of slices in order of time (S,)."""

    words: Integers
    slices: Integers

    @property
    def rows(self) -> int:
        """The number of (word, slice) pairs."""
        return len(self.words) * len(self.slices)

    def most_frequent(self, number: int) -> "PageSelection":
        """Keep only the most frequent words."""
        return PageSelection(self.words[:number], self.slices)


def check_has_story(model: Embeddings) -> None:
    """Reject models in which nothing can move."""
    if len(model) < 2:
        raise SettingsError(
            "This model has a single slice, so nothing moves and there is no story to show.",
            "Fit a model with several slices and a method other than static.",
        )
    if not len(model.words):
        raise SettingsError(
            "This model has no words.", "Count with a larger --vocabulary-size, and fit again."
        )


def select_all(model: Embeddings) -> PageSelection:
    """All words and slices."""
    return PageSelection(
        np.argsort(-model.total_occurrences.astype(np.float64), kind="stable"), np.arange(len(model))
    )


def select_requested(model: Embeddings, words: int | None, slices: int | None) -> PageSelection:
    """Select the most frequent words and some slices; None selects all."""
    kept = select_all(model)
    if words is not None:
        kept = kept.most_frequent(words)
    return (
        kept
        if slices is None
        else PageSelection(kept.words, thin_slices(model.times, model.slice_occurrences, slices))
    )


def thin_slices(times: Floats, richness: Floats, number: int) -> Integers:
    """Choose a number of slices, in order of time: the first, the last, and rich ones between them, evenly.

    Time is divided into equal intervals, and each contributes its richest slice. If intervals are empty, the
    slices furthest from those already chosen make up the number. `times` and `richness`, the numbers of
    tokens, are of all slices, (T,).
    """
    if number >= len(times):
        return np.arange(len(times))
    if number < 2:
        raise SettingsError(f"{number} slices cannot show movement.", "Keep at least 2.")
    chosen = {0, len(times) - 1}
    inner = np.arange(1, len(times) - 1)
    stretch = np.floor((times[inner] - times[0]) / (times[-1] - times[0]) * (number - 2)).astype(np.int64)
    for one in np.unique(stretch)[: number - 2]:
        there = inner[stretch == one]
        chosen.add(int(there[np.argmax(richness[there])]))
    while len(chosen) < number:
        rest = np.setdiff1d(inner, list(chosen))
        distance = np.abs(times[rest, None] - times[sorted(chosen)]).min(axis=1)
        chosen.add(int(rest[np.lexsort((-richness[rest], -distance))[0]]))
    return np.array(sorted(chosen), dtype=np.int64)


def left_out(model: Embeddings, kept: PageSelection, why: str) -> dict[str, int | str | None]:
    """What the page lacks, for its header."""
    words, slices = len(model.words) - len(kept.words), len(model) - len(kept.slices)
    return {
        "words": words,
        "slices": slices,
        "why": _left_out_note(words, slices, why) if words or slices else None,
    }


def _left_out_note(words: int, slices: int, why: str) -> str:
    parts = [
        counted(slices, "slice") if slices else "",
        f"the {words:,} least frequent words" if words > 1 else "the least frequent word" if words else "",
    ]
    return (
        f"Left out: {' and '.join(part for part in parts if part)} ({why}). "
        "All answers on this page are based on the whole model."
    )


#: The most rows in the table of changed words, and the number of word cards in the first view.
MOST_CHANGED, CARDS = 1000, 12
#: The most words that divide groups, and the most pairs of them and a group, because each has a trajectory.
MOST_DIVIDED, _MOST_GROUP_TRAJECTORIES = 200, 600
_COMPANIONS = 6  # words suggested for curves
_CANDIDATES = 60  # for cards
_LIKENESS_PENALTY = 0.5  # for similarity to a card already chosen
_BAR_WIDTHS, _MOST_BARS = (1.0, 2.0, 3.0, 5.0), 40  # degrees
_PRIOR_DRAWS = 4000
_NONE_KEPT = "None of the changed words is on this page. Include more words with --words."
_FACTS = ("since", "until", "change", "low", "high", "halfway", "halfway_from", "halfway_to", *VERDICT)
#: The default number of words on the map, and the most frames.
MAP_WORDS, FRAMES = 3000, 12
#: Rarer words have no reliable position; dynamic t-SNE needs a few words.
_FEWEST_OCCURRENCES, _FEWEST_WORDS = 5, 10
_DECIMALS = 4
_REGIONS, _REGION_NAMES = 12, 3  # of the map, and words that name each


def page_stories(
    model: Embeddings, kept: PageSelection, words: Integers, observer: Callable[[int], None] | None = None
) -> list[dict[str, Any]]:
    """The stories of words, given by number, in the form that the page shows."""
    names = {model.words[number] for number in kept.words}
    return [_page_story(one, names) for one in stories(model, words, observer=observer)]


def _page_story(one: Story, names: set[str]) -> dict[str, Any]:
    facts = {name: one.facts[name] for name in _FACTS}
    return {
        "sentence": one.sentence,
        **facts,
        "from": one.lost,
        "to": one.gained,
        "beside": _companions(one, names),
    }


def _companions(one: Story, names: set[str]) -> list[str]:
    """Words to draw beside the story's word: lost and gained neighbors in equal numbers, all of them on the
    page.

    Both lists are sorted by relevance, contain words that differ from each other, and have no word in common.
    """
    lost, gained = ([word for word in side if word in names] for side in (one.lost, one.gained))
    half = _COMPANIONS // 2
    more_lost, more_gained = max(half, _COMPANIONS - len(gained)), max(half, _COMPANIONS - len(lost))
    return [*lost[:more_lost], *gained[:more_gained]][:_COMPANIONS]


def changed_table(model: Embeddings, vectors: Vectors, kept: PageSelection) -> dict[str, Any]:
    """The words that changed most in the order of `wordtide changed`, each over its own time as in stories,
    and a histogram of the angles they turned by.
    """
    answer = changed(model, top=min(MOST_CHANGED, len(model.words)))
    columns = _kept_columns(model, answer, kept)
    lost_all = len(answer) and not columns["word"]
    return {
        "min_occurrences": MIN_OCCURRENCES,
        "notes": [*answer.notes, _NONE_KEPT] if lost_all else list(answer.notes),
        "columns": columns,
        "histogram": turn_histogram(model, vectors, kept.words),
    }


def divided_table(model: Embeddings, kept: PageSelection) -> dict[str, Any]:
    """The words that groups use most differently, in the order of `wordtide divided`, with groups by number,
    and the uses of each word in each group.
    """
    groups = groups_of(model)
    most = min(MOST_DIVIDED, max(1, _MOST_GROUP_TRAJECTORIES // len(groups.names)))
    answer = divided(model, top=most)
    columns = _kept_columns(model, answer, kept)
    for side in ("group", "other"):
        columns[side] = [groups.number(name) for name in columns[side]]
    columns["uses"] = [groups.occurrences[:, kept.words[place]] for place in columns["word"]]
    return {"notes": list(answer.notes), "columns": columns}


def _kept_columns(model: Embeddings, answer: Answer, kept: PageSelection) -> dict[str, list[Any]]:
    """The columns of an answer without words that are not on the page; words are given by position."""
    places = {model.words[number]: place for place, number in enumerate(kept.words)}
    rows = [row for row, word in enumerate(answer.columns["word"]) if word in places]
    columns = {name: [values[row] for row in rows] for name, values in answer.columns.items()}
    return {**columns, "word": [places[word] for word in columns["word"]]}


def turn_histogram(model: Embeddings, vectors: Vectors, words: Integers) -> dict[str, Any]:
    """The number of words by the angle they turned, in degrees: observed, and expected under the prior."""
    spans, _ = word_spans(model, MIN_OCCURRENCES)
    spans = spans[np.isin(spans.words, words)]
    observed = _degrees(changes(vectors, spans))
    expected = _prior_turns(model, vectors, spans) if vectors.uncertain and len(spans) else None
    furthest = max(
        float(observed.max(initial=1.0)), 1.0 if expected is None else float(np.quantile(expected, 0.999))
    )
    width = next(width for width in _BAR_WIDTHS if furthest / width <= _MOST_BARS)
    edges = width * np.arange(math.ceil(furthest / width) + 1)
    bars: dict[str, Any] = {"edges": edges, "observed": np.histogram(observed, edges)[0], "expected": None}
    if expected is not None:
        bars["expected"] = np.histogram(expected, edges)[0] * (len(observed) / len(expected))
    return bars


def _prior_turns(model: Embeddings, vectors: Vectors, spans: WordSpans) -> Floats:
    """Angles, in degrees, between vectors drawn from the prior at the first and last time of words."""
    generator = np.random.default_rng(0)
    drawn = spans[generator.integers(len(spans), size=_PRIOR_DRAWS)]
    starts, ends = (model.diffusion.at(times).log_correlation for times in (drawn.starts, drawn.ends))
    correlation = np.exp(np.minimum(ends - starts, 0.0))[:, None]
    axes = model.dim if vectors.scale is None else np.count_nonzero(vectors.scale)
    first, other = generator.standard_normal((2, _PRIOR_DRAWS, axes))
    last = correlation * first + np.sqrt(1.0 - correlation**2) * other
    return _degrees(1.0 - np.einsum("nk,nk->n", first, last) / (lengths_of(first) * lengths_of(last)))


def _degrees(change: Floats) -> Floats:
    return np.degrees(np.arccos(np.clip(1.0 - change, -1.0, 1.0)))


def word_cards(model: Embeddings, vectors: Vectors, kept: PageSelection, table: dict[str, Any]) -> list[int]:
    """Positions of words for the first view: their change is certain, and they differ from each other."""
    columns: dict[str, Sequence[float]] = table["columns"]
    ranks = (np.asarray(columns[name], dtype=np.float64)[:_CANDIDATES] for name in ("effect_low", "low"))
    certain = next((np.nan_to_num(rank) for rank in ranks if (rank > 0).any()), None)
    worth = np.asarray(columns["change"], dtype=np.float64)[:_CANDIDATES] if certain is None else certain
    places = np.asarray(columns["word"], dtype=np.int64)[:_CANDIDATES]
    if not len(places):
        return []
    worth = worth / max(float(worth.max()), 1e-12)
    alike = np.max(
        [_alike(vectors, kept.words[places], float(time)) for time in model.times[[0, -1]]], axis=0
    )
    chosen: list[int] = []
    while len(chosen) < min(CARDS, len(places)):
        cost = alike[:, chosen].max(axis=1, initial=0.0)
        left = np.where(np.isin(np.arange(len(places)), chosen), -np.inf, worth - _LIKENESS_PENALTY * cost)
        chosen.append(int(np.argmax(left)))
    return [int(places[one]) for one in chosen]


def _alike(vectors: Vectors, words: Integers, time: float) -> Floats:
    means = vectors.means_at(time, words)
    units = np.nan_to_num(means / lengths_of(means)[:, None])
    return np.asarray(units @ units.T)


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
    threads: int | None,
    observer: Observer | None,
) -> dict[str, Any]:
    """Compute the map of the first `number` words on the page.

    It has the positions of the words at each frame, within [-1, 1]; their effects, which of them are function
    words, and regions of the map (`_regions`).
    """
    from wordtide.figures.dynamic_tsne import dynamic_tsne  # brings openTSNE

    years = model.times[thin_slices(model.times, model.slice_occurrences, FRAMES)]
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
        "effect": all_effects(model).effect[kept.words[:number]],
        "function": function_words(model)[kept.words[:number]],
        **_regions(model, kept.words[:number], layout.mean(axis=0), units.mean(axis=0)),
    }


def _regions(model: Embeddings, words: Integers, positions: Floats, units: Floats) -> dict[str, Any]:
    """Regions of the map: the number of each word's region, and the words that name each region.

    A region is named after frequent words, not function words, whose directions are closest to its mean.
    """
    from scipy.cluster.vq import kmeans2

    most = max(1, min(_REGIONS, len(words) // _FEWEST_WORDS))
    region = kmeans2(positions, most, minit="++", seed=0)[1]
    content = ~function_words(model)[words]
    names: list[list[int]] = []
    for number in range(most):
        members = np.flatnonzero((region == number) & content)
        frequent = members[: max(_REGION_NAMES, len(members) // 4)]  # words are sorted by frequency
        closeness = units[frequent] @ units[members].mean(axis=0) if len(members) else np.zeros(0)
        names.append([int(frequent[one]) for one in np.argsort(-closeness, kind="stable")[:_REGION_NAMES]])
    return {"region": region, "regions": names}
