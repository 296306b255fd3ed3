"""Verdicts from messages exp(b x - h x^2 / 2): whether a word changed, and whether groups use it differently.

`model.jumps` compares explanations of the messages of a word over time; `Dynamics` holds the verdicts.

**Groups.** The vector of a word in group g is u + x_g, with u shared by all groups, and the levels are

    x_g = c + e_g        c ~ N(0, v)        e_g ~ N(0, w)

for each coordinate. A message of group g is the likelihood exp(b x - h x^2 / 2), so everything has a closed
form. Given w, the message of group g about c is

    h' = h / (1 + w h)        b' = b / (1 + w h)

and the log evidence is 1/2 sum_k [ sum_g (w b b' - log(1 + w h)) + B'^2 / (H' + 1/v) - log(1 + v H') ] with
H', B' the sums of h', b' over groups. w = 0 means that all groups use the word in the same way. What all
groups share beyond u is not a difference, so offsets are relative to the mean level of the groups, weighted
by h. Their variance w / (1 + w h) is that of x_g given c; the uncertainty of c hardly matters for words that
occur often.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from wordtide.errors import SettingsError
from wordtide.types import Array, Flags, Floats, Integers, Singles

#: The explanations of the messages of a word, apart from a constant level.
SHAPES = ("outlier", "jump", "two jumps", "burst", "gradual", "diffusion")
OUTLIER, JUMP, TWO_JUMPS, BURST, RAMP, DIFFUSION = range(len(SHAPES))
#: A sudden change, a gradual one, and no significant change.
VERDICTS = ("jump", "gradual", "unsure")
#: The equal parts of a slice in which a jump may fall.
PARTS = 4
#: The expected share of words without a change among those with a verdict.
FALSE_DISCOVERIES = 0.05


@dataclass(frozen=True)
class Dynamics:
    """How each word moves, fields (L,). Dates are float years, NaN without a significant change.

    `shape`: an index of `SHAPES`, -1 without a significant change. `log_bayes_factor`: of the best change
    against none, NaN for a word that was not judged. `date`, `date_low`, `date_high`: for a jump the median
    and the 90% credible interval, for a gradual change its middle, start and end. `second_date`: the second
    jump, or the end of a burst. `correlation`: of the vectors before and after.

    `questions.effect` adds `effect`, `effect_low` and `style` in bits, NaN without a significant change, and
    `function_word`: 1 for function words, 0 for others, NaN where that was not computed.
    """

    shape: Floats
    log_bayes_factor: Floats
    date: Floats
    date_low: Floats
    date_high: Floats
    second_date: Floats
    correlation: Floats
    effect: Floats
    effect_low: Floats
    style: Floats
    function_word: Floats

    @staticmethod
    def of_table(table: Floats) -> "Dynamics":
        """The record from an array (L, 11), as a model folder stores it; without effects, (L, 7)."""
        known = np.array(table, dtype=np.float64)
        missing = np.full((len(known), len(fields(Dynamics)) - known.shape[1]), np.nan)
        return Dynamics(*np.column_stack([known, missing]).T)

    def table(self) -> Floats:
        """All fields as one array, (L, 11)."""
        return np.column_stack(list(vars(self).values()))

    @property
    def significant(self) -> Flags:
        """Whether each word has a significant change, (L,)."""
        return self.shape >= 0

    @property
    def jumps(self) -> Flags:
        """Whether each word jumps, (L,)."""
        return np.isin(self.shape, (JUMP, TWO_JUMPS, BURST))

    def verdicts(self, words: Integers) -> list[str]:
        """The verdicts on some words: jump, gradual, or unsure if there is no significant change."""
        kinds = np.where(self.jumps, 0, np.where(self.significant, 1, 2))
        return [VERDICTS[kind] for kind in kinds[words]]


def level_means(a11: Any, a12: Any, a22: Any, b1: Any, b2: Any) -> tuple[Any, Any, Any]:
    """Solve A x = b for two levels; returns x_1, x_2 and the determinant of A.

    Takes numbers and NumPy arrays alike; `model.chain_queries` compiles it.
    """
    size = a11 * a22 - a12 * a12
    return (a22 * b1 - a12 * b2) / size, (a11 * b2 - a12 * b1) / size, size


def date_quantiles(weights: Floats, extents: Floats, levels: tuple[float, ...]) -> Floats:
    """Quantiles of the date of a jump.

    `weights` (n, parts + 1) are the probabilities that it falls into each of some equal parts of a slice, or
    between this slice and the next. Within a part, and between slices, all dates are equally probable.
    """
    parts = weights.shape[1] - 1
    edges = extents[:, :1] + (extents[:, 1:] - extents[:, :1]) * np.arange(parts + 1) / parts
    reached = np.concatenate([[0.0], np.cumsum(weights.ravel()[:-1])])
    return np.asarray(np.interp(levels, reached, edges.ravel()))


def discoveries(log_bayes_factor: Floats, rate: float = FALSE_DISCOVERIES) -> Flags:
    """Flag the words that change, (L,): as many as the false discovery rate allows.

    The share of changing words is estimated by maximum likelihood from all Bayes factors. Each word then has
    a probability of no change, and words are taken in ascending order of it while its mean is below `rate`.
    """
    factor = np.exp(np.clip(log_bayes_factor, -500.0, 500.0))
    share = 0.1
    for _ in range(200):
        share = float(np.mean(share * factor / (share * factor + 1.0 - share))) if len(factor) else 0.0
    unchanged = (1.0 - share) / (share * factor + 1.0 - share)
    order = np.argsort(unchanged, kind="stable")
    false = np.cumsum(unchanged[order]) / np.arange(1, len(order) + 1)
    found = np.zeros(len(factor), dtype=bool)
    found[order[: np.searchsorted(false, rate, side="right")]] = True
    return found


#: The variances of offsets to try, from similar to unrelated meanings.
VARIANCES = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.3])
#: A typical variance of offsets.
TYPICAL_OFFSET = 0.05
#: The variance of messages about their expectation, in units of their precision. Three corpora have 0.28 to
#: 0.42, so verdicts are cautious.
SCATTER = 0.8
#: Words that groups use less often in total are not compared.
MIN_OCCURRENCES = 20
_WORDS_AT_ONCE = 500
#: The variances to try for the entries of the linear map by which topics differ.
MAP_VARIANCES = np.array([0.0, 1e-5, 1e-4, 1e-3, 1e-2, 0.1])
#: The variance of single words in addition to the map, so that no single word determines it.
WORD_VARIANCE = 0.003


@dataclass(frozen=True)
class GroupMessages:
    """The messages of groups of texts about their offsets, added up over slices.

    Attributes:
        b, h: The messages exp(b x - h x^2 / 2), (G, L, d) float32.
        vectors: The sums of the shared vectors of words over the slices and groups they occur in, (L, d).
        uses: The numbers of these slices and groups, (L,).
    """

    b: Singles
    h: Singles
    vectors: Singles
    uses: Integers

    @staticmethod
    def none(groups: int, words: int, dim: int) -> "GroupMessages":
        """The record before any slice."""
        b, h = np.zeros((2, groups, words, dim), dtype=np.float32)
        return GroupMessages(b, h, np.zeros((words, dim), np.float32), np.zeros(words, np.int64))

    def extended(self, places: Sequence[int], groups: int, words: int) -> "GroupMessages":
        """The messages for more words and groups; `places` are the new numbers of the known groups."""
        whole, known = GroupMessages.none(groups, words, self.vectors.shape[1]), len(self.uses)
        whole.b[places, :known], whole.h[places, :known] = self.b, self.h
        whole.vectors[:known], whole.uses[:known] = self.vectors, self.uses
        return whole

    def add_vectors(self, words: Integers, vectors: Array) -> None:
        """Add the shared vectors (n, d) of the words of a group in a slice."""
        self.vectors[words] += vectors
        self.uses[words] += 1


@dataclass(frozen=True)
class Groups:
    """How groups of texts use the words of a model.

    Attributes:
        names: The groups.
        words: Numbers of the words that groups use differently, ascending, (n,).
        mean, variance: The offsets of these words, (G, n, d) float32.
        log_bayes_factor: Of a difference against none, NaN for a word that is not judged, (L,).
        occurrences: How often each group uses each word, (G, L).
        first: The time at which each group first uses each word, in float years, (G, L); infinity if never.
        messages: What a filter needs to continue; None for other models.
    """

    names: tuple[str, ...]
    words: Integers
    mean: Singles
    variance: Singles
    log_bayes_factor: Floats
    occurrences: Integers
    first: Floats
    messages: GroupMessages | None = None

    def without_messages(self) -> "Groups":
        """The groups of a model that is not updated."""
        return replace(self, messages=None)

    def number(self, name: str) -> int:
        """The number of a group; an error lists the groups."""
        if name not in self.names:
            raise SettingsError(f"There is no group {name!r}.", f"The groups are {', '.join(self.names)}.")
        return self.names.index(name)


@dataclass(frozen=True)
class Offsets:
    """Means and variances of the offsets of some words, (G, n, d) each."""

    mean: Floats
    variance: Floats


def compare_messages(
    names: tuple[str, ...],
    messages: GroupMessages,
    occurrences: Floats,
    first: Floats,
    v: float,
    run: Callable[[Callable[[Integers], Floats], list[Integers]], list[Floats]],
) -> Groups:
    """Find the words that groups use differently.

    Args:
        names: The groups.
        messages: Their messages.
        occurrences: How often each group uses each word, (G, L).
        first: The time at which each group first uses each word, (G, L).
        v: The variance of levels.
        run: Applies a function to blocks of words, in parallel.
    """
    b, h = (array / np.float32(SCATTER) for array in (messages.b, messages.h))
    b = without_topics(b, h, messages.vectors / np.maximum(messages.uses, 1)[:, None])
    known = (h > 0).any(axis=2).sum(axis=0) >= 2
    judged = np.flatnonzero((occurrences.sum(axis=0) >= MIN_OCCURRENCES) & known)
    blocks = [judged[first : first + _WORDS_AT_ONCE] for first in range(0, len(judged), _WORDS_AT_ONCE)]
    factor = np.full(h.shape[1], np.nan)
    factors = run(lambda block: log_bayes_factors(evidence_by_variance(b[:, block], h[:, block], v)), blocks)
    factor[judged] = np.concatenate([np.zeros(0), *factors])
    words = judged[discoveries(factor[judged])]
    offsets = offsets_of(b[:, words], h[:, words], v)
    mean, variance = offsets.mean.astype(np.float32), offsets.variance.astype(np.float32)
    return Groups(names, words, mean, variance, factor, occurrences.astype(np.int64), first, messages)


def evidence_by_variance(b: Array, h: Array, v: float) -> Floats:
    """The log evidence of offsets with variance 0 and with each of `VARIANCES`, (1 + number of these, n)."""
    b, h = b.astype(np.float64), h.astype(np.float64)
    return np.array([group_evidence(b, h, v, w) for w in (0.0, *VARIANCES)])


def log_bayes_factors(evidence: Floats) -> Floats:
    """The log Bayes factors of offsets against none, (n,), from `evidence_by_variance`."""
    alike, others = evidence[0], evidence[1:]
    top = others.max(axis=0)
    return np.asarray(top + np.log(np.exp(others - top).mean(axis=0)) - alike)


def offsets_of(b: Array, h: Array, v: float) -> Offsets:
    """The offsets of groups that differ, from their messages (G, n, d).

    They are averaged over `VARIANCES`, weighted by evidence.
    """
    b, h = b.astype(np.float64), h.astype(np.float64)
    evidence = evidence_by_variance(b, h, v)[1:]
    weights = np.exp(evidence - evidence.max(axis=0))
    mean, second = np.zeros_like(b), np.zeros_like(b)
    for w, weight in zip(VARIANCES, weights / weights.sum(axis=0), strict=True):
        one, spread = _offsets(b, h, v, float(w))
        mean += weight[:, None] * one
        second += weight[:, None] * (one**2 + spread)
    return Offsets(mean, np.maximum(second - mean**2, 0.0))


def without_topics(b: Singles, h: Singles, vectors: Array) -> Singles:
    """The messages b (G, n, d) without what the topics of the groups explain.

    A group that discusses a topic more often has other pairs for all words of that topic: their scores change
    by a bilinear form of both vectors, so their levels by a linear map of their vectors (n, d). For each
    group the map from vectors to departures from the mean level of all groups is fitted to all words. The
    variance of its entries is chosen by evidence; 0 means that topics do not differ. The remainder concerns
    single words.
    """
    total = h.sum(axis=0, dtype=np.float64)
    mean = np.divide(b.sum(axis=0, dtype=np.float64), total, out=np.zeros_like(total), where=total > 0.0)
    regressors = np.concatenate([vectors, np.ones((len(vectors), 1))], axis=1).astype(np.float64)
    remainders = np.empty_like(b)
    for remainder, message, precision in zip(remainders, b, h, strict=True):
        known = (precision > 0.0) & (precision < total)
        shares = np.divide(precision, total - precision, out=np.zeros_like(total), where=known)
        noise = np.divide(1.0, total * shares, out=np.zeros_like(total), where=known)  # 1 / h - 1 / sum h
        departures = np.divide(message, precision, out=np.zeros_like(total), where=known) - mean
        weights = np.where(known, 1.0 / (noise + WORD_VARIANCE), 0.0)
        remainder[:] = message - precision * (regressors @ _linear_map(regressors, departures, weights))
    return remainders


def _linear_map(regressors: Floats, departures: Floats, weights: Floats) -> Floats:
    """The map (r, d) from regressors (n, r) to departures (n, d).

    Weights are approximated by products of one factor for each word and one for each coordinate, so that all
    coordinates share one matrix of moments.
    """
    by_word = weights.mean(axis=1)
    total = by_word.sum()
    if total <= 0.0:
        return np.zeros((regressors.shape[1], departures.shape[1]))
    by_coordinate = weights.sum(axis=0) / total
    weighted = by_word[:, None] * regressors
    values, axes = np.linalg.eigh(weighted.T @ regressors)
    size = np.maximum(values, 0.0)[:, None] * by_coordinate
    along = axes.T @ (weighted.T @ departures) * by_coordinate
    evidence = [float((v * along**2 / (1.0 + v * size) - np.log1p(v * size)).sum()) for v in MAP_VARIANCES]
    v = MAP_VARIANCES[int(np.argmax(evidence))]
    return np.asarray(axes @ (v * along / (1.0 + v * size)))


def group_evidence(b: Floats, h: Floats, v: float, w: float) -> Floats:
    """The log evidence of offsets with variance w, (n,)."""
    grown = 1.0 + w * h
    shared_h, shared_b = (h / grown).sum(axis=0), (b / grown).sum(axis=0)
    own = (w * b**2 / grown - np.log(grown)).sum(axis=0)
    common = shared_b**2 / (shared_h + 1.0 / v) - np.log1p(v * shared_h)
    return np.asarray(0.5 * (own + common).sum(axis=-1))


def _offsets(b: Floats, h: Floats, v: float, w: float) -> tuple[Floats, Floats]:
    """Means and variances of the offsets from the mean level of all groups, (G, n, d) each."""
    grown = 1.0 + w * h
    common = (b / grown).sum(axis=0) / ((h / grown).sum(axis=0) + 1.0 / v)
    levels = (w * b + common) / grown
    total = h.sum(axis=0)
    mean = np.divide((h * levels).sum(axis=0), total, out=np.zeros_like(total), where=total > 0.0)
    return np.where(h > 0.0, levels - mean, 0.0), w / grown
