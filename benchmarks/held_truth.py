"""How often answers about a world of known truth hold that truth.

Only answers that users see are measured.
"""

from dataclasses import dataclass

import numpy as np
from worlds import World, truth

from wordtide.api import DynamicEmbeddings
from wordtide.questions.change import changed
from wordtide.questions.movement import halfway, movement
from wordtide.questions.neighbors import neighbors
from wordtide.questions.similarity import Scaled, scaled, similarities
from wordtide.questions.surprise import shift_of, surprises
from wordtide.questions.vectors import Vectors, lengths_of, vectors_of

TOP = 10
Measures = dict[str, np.ndarray]


@dataclass(frozen=True)
class Trial:
    """A world, its model, and vectors (T, L, d): the true ones in the model's axes, and the model's."""

    world: World
    model: DynamicEmbeddings
    name: str
    true: np.ndarray
    vectors: Vectors

    @staticmethod
    def of(world: World, model: DynamicEmbeddings, name: str) -> "Trial":
        return Trial(world, model, name, truth(world, model, name), vectors_of(model, name))

    def moments(self, t: int) -> Scaled:
        """All words at a slice, in units of their expected lengths."""
        time = float(self.model.times[t])
        vectors = self.vectors
        moments = vectors.means_at(time), vectors.variances_at(time)
        return scaled(*moments, vectors.noise_share, vectors.closeness)

    def known(self, t: int) -> np.ndarray:
        """Whether each word is well known at a slice, (L,)."""
        time, every = float(self.model.times[t]), np.arange(len(self.model.words))
        moments = self.vectors.means_at(time), self.vectors.variances_at(time)
        return np.asarray(self.vectors.are_known(every, np.full(len(every), time), *moments))

    def lengths(self, t: int) -> np.ndarray:
        return lengths_of(self.vectors.means_at(float(self.model.times[t])))

    def numbers(self, words: list[str]) -> np.ndarray:
        return np.array([self.model.index[word] for word in words], dtype=np.int64)


def units(vectors: np.ndarray) -> np.ndarray:
    return vectors / lengths_of(vectors)[..., None]


def similarity_of_pairs(trial: Trial) -> Measures:
    """All pairs at three slices: is the cosine of the true vectors in the interval?"""
    slices = len(trial.model)
    covered, squared, variance = [], [], []
    for t in (1, slices // 2, slices - 2):
        words, true = trial.moments(t), units(trial.true[t])
        one, other = np.triu_indices(len(true), 1)
        found = similarities(words[one], words[other])
        low, high = found.interval()
        cosine = np.einsum("nk,nk->n", true[one], true[other])
        covered.append((low <= cosine) & (cosine <= high))
        squared.append((cosine - found.mean) ** 2)
        variance.append(found.spread**2)
    names = ("covered", "squared", "variance")
    return {
        name: np.concatenate(parts) for name, parts in zip(names, (covered, squared, variance), strict=True)
    }


def listed_neighbors(trial: Trial, every: int = 10) -> Measures:
    """Measure the neighbor lists of every tenth word: intervals, probabilities, and bias of similarities."""
    slices = len(trial.model)
    covered, stated, hits, excess = [], [], [], []
    for t in (1, slices // 2, slices - 2):
        time, known = float(trial.model.times[t]), trial.known(t)
        cosine = units(trial.true[t]) @ units(trial.true[t]).T
        for word in range(0, len(cosine), every):
            answer = neighbors(trial.model, trial.model.words[word], time, TOP, vectors=trial.name).columns
            near = trial.numbers(list(answer["word"]))
            true = cosine[word, near]
            eligible = np.flatnonzero(known & (np.arange(len(cosine)) != word))
            nearest = eligible[np.argsort(-cosine[word, eligible])[:TOP]]
            covered.append((np.asarray(answer["low"]) <= true) & (true <= np.asarray(answer["high"])))
            stated.append(np.asarray(answer["probability"]))
            hits.append(np.isin(near, nearest))
            excess.append(np.asarray(answer["similarity"]) - cosine[word, near])
    names = ("covered", "stated", "hits", "excess")
    return {
        name: np.concatenate(parts)
        for name, parts in zip(names, (covered, stated, hits, excess), strict=True)
    }


def change(trial: Trial) -> Measures:
    """Measure cosine distances of true vectors, half-way dates, and probabilities to be listed.

    `halfway` and `width` are of the words whose true trajectory passes half-way once; `shown` of those called
    changed. Of ten words listed by change, `hits along` are truly among the ten that moved furthest along the
    means' direction, in units of their true lengths; `hits` by the cosine distance of true vectors.
    """
    model, since = trial.model, begin(trial)
    times, path = model.times[since:], trial.true[since:]
    ends = float(times[0]), float(times[-1])
    answer = changed(
        model, *ends, top=len(model.words), by="change", min_occurrences=1, vectors=trial.name
    ).columns
    words = trial.numbers(list(answer["word"]))
    first, last = trial.lengths(since)[words, None], trial.lengths(len(model) - 1)[words, None]
    start, end = (trial.vectors.means_at(time, words) for time in ends)
    direction = units(end / last - start / first)
    moved = np.einsum("nk,nk->n", path[-1][words] / last - path[0][words] / first, direction)
    cosine = 1.0 - np.einsum("nk,nk->n", units(path[0][words]), units(path[-1][words]))
    low, high = np.asarray(answer["low"]), np.asarray(answer["high"])
    lead = np.einsum("tnk,nk->tn", path[:, words], direction)
    past = lead > 0
    once = (np.count_nonzero(past[1:] != past[:-1], axis=0) == 1) & past[-1]
    crossing = _crossing(times, lead)
    dates = halfway(model, trial.vectors, words, *ends)
    dated = np.array(
        [date.earliest <= when <= date.latest for date, when in zip(dates, crossing, strict=True)], dtype=bool
    )
    width = np.array([date.latest - date.earliest for date in dates])
    best = changed(model, *ends, top=TOP, by="change", min_occurrences=1, vectors=trial.name).columns
    listed = trial.numbers(list(best["word"]))
    drawn = np.sqrt(
        sum((path[t][words] ** 2).sum(axis=1) / length[:, 0] ** 2 for t, length in ((0, first), (-1, last)))
        / 2.0
    )
    return {
        "below": cosine < low,
        "above": cosine > high,
        "called": low > 0,
        "halfway": dated[once],
        "width": width[once],
        "shown": dated[once & (low > 0)],
        "shown width": width[once & (low > 0)],
        "stated": np.asarray(best["probability"]),
        "hits along": np.isin(listed, words[np.argsort(-moved / drawn)[:TOP]]),
        "hits": np.isin(listed, words[np.argsort(-cosine)[:TOP]]),
    }


def begin(trial: Trial) -> int:
    """The slice from which change is measured: a filter knows little of the first ones."""
    return len(trial.model) // 5


def _crossing(times: np.ndarray, lead: np.ndarray) -> np.ndarray:
    """When curves (T, n) that cross zero once do so, by straight lines between slices, (n,)."""
    after = np.clip(np.argmax(lead > 0, axis=0), 1, len(times) - 1)
    columns = np.arange(lead.shape[1])
    before, behind = lead[after - 1, columns], lead[after, columns]
    share = before / np.where(before == behind, 1.0, before - behind)
    return np.asarray(times[after - 1] + share * (times[after] - times[after - 1]))


def jumps_and_decoys(trial: Trial) -> Measures:
    """Measure which words are called changed, how well `changed` ranks them, and when jumps are dated."""
    ends, everyone = (
        (float(trial.model.times[begin(trial)]), float(trial.model.times[-1])),
        len(trial.model.words),
    )
    answer = changed(
        trial.model, *ends, top=everyone, by="change", min_occurrences=1, vectors=trial.name
    ).columns
    words, low = trial.numbers(list(answer["word"])), np.asarray(answer["low"])
    place = np.full(len(trial.model.words), len(words))
    # by the low end, also of words within the noise, which `changed` does not list by it
    place[words[np.argsort(-movement(trial.vectors, words, *ends).least)]] = np.arange(len(words))
    jumped, decoys = np.isin(words, list(trial.world.jumps)), np.isin(words, trial.world.decoys)
    when = np.array([trial.world.jumps.get(int(word), -1) for word in words]) - 0.5
    dates = np.asarray(answer["halfway_from"]), np.asarray(answer["halfway_to"])
    called = jumped & (low > 0)
    return {
        "jumps called": low[jumped] > 0,
        "decoys called": low[decoys] > 0,
        "drifting called": low[~jumped & ~decoys] > 0,
        "against decoys": earlier(place[words[jumped]], place[words[decoys]]),
        "against drifting": earlier(place[words[jumped]], place[words[~jumped & ~decoys]]),
        "dated": ((dates[0] <= when) & (when <= dates[1]))[called],
        "width": (dates[1] - dates[0])[called],
    }


def earlier(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """For each place of some, the share of the others behind it: the mean is the area under the curve."""
    return np.asarray((some[:, None] < others[None]).mean(axis=1)) if len(others) else np.zeros(0)


def scores(trial: Trial) -> Measures:
    """Scores of `surprises` at all slices but the first, of drifting words and of jumps at their slice.

    `raw`: shifts of drifting words, which of an exact posterior are chi-squares, less their mean and by their
    spread.
    """
    model, world = trial.model, trial.world
    table, raw = np.full((2, len(model), len(model.words)), np.nan)
    for t, time in enumerate(model.times):
        answer = surprises(model, float(time), top=len(model.words)).columns
        words = trial.numbers(list(answer["word"]))
        table[t, words] = answer["score"]
        raw[t, words] = (shift_of(model.sides[0].beliefs(words, t)) - model.dim) / np.sqrt(2.0 * model.dim)
    quiet = (
        np.isfinite(table)
        & np.isin(np.arange(len(model.words)), world.drifting)
        & (np.arange(len(model)) > 0)[:, None]
    )
    found = [
        (table[t, word], table[t][quiet[t]]) for word, t in world.jumps.items() if np.isfinite(table[t, word])
    ]
    return {
        "raw": raw[quiet],
        "score": table[quiet],
        "above others": np.array([np.mean(others < score) for score, others in found]),
        "first": np.array([score > others.max() for score, others in found]),
        "called": np.array([score > 2.33 for score, _ in found]),
    }
