"""Worlds of counts drawn from the model: trajectories from the prior, pairs from the likelihood.

With n- fixed, sigmoid(x)^n+ sigmoid(-x)^n- is the probability of n+ under a negative binomial distribution,
up to a constant that does not depend on x: a Poisson number whose rate is Gamma distributed with shape n- and
scale exp(x).

Counts of texts are symmetric, and whole numbers of pairs. So here too each pair of words is drawn once and
counts in both directions, with symmetric scores u_i . v_j: v = S u with S = diag(+-1), as in a model with
tied contexts. One thing differs from what such a model supposes, as it does for texts: a fit takes n- from
the sums of n+, not from the frequencies behind them. A model with separate contexts also takes words and
contexts as independent, and the two directions of a pair as two observations.
"""

import numpy as np
from scipy import sparse

from simulation.casting import (
    Integers,
    Part,
    draw_parts,
    invented_words,
    seeded,
    slice_years,
    uneven_shares,
)
from simulation.plan import (
    MOVING,
    Cast,
    PlantedCounts,
    PlantedWord,
    frequency_factor,
    in_groups,
    share_moved,
)
from simulation.trajectories import draw_trajectories
from wordtide.counts.count_arrays import CountArrays
from wordtide.counts.counts import Counts
from wordtide.counts.settings import CountSettings, Summary
from wordtide.dates import DAY, parse_date
from wordtide.errors import SettingsError
from wordtide.inference.natural.eigen_start import signs_by_rule
from wordtide.model.prior import ProductPrior
from wordtide.timeline import Slices
from wordtide.types import Floats

#: This many of the nearest words describe a place.
WORDS_OF_A_PLACE = 8
_PLANTED_FREQUENCIES = (0.5, 2.0)  # in units of the mean frequency of a word


def model_world(
    seed: int = 0,
    *,
    pairs: float = 2e6,
    vocabulary: int = 200,
    slices: int = 20,
    dim: int = 10,
    diffusion: float = 1e-3,
    prior_variance: float = 4.0,
    cast: Cast | None = None,
    uneven: float = 10.0,
    first_year: int = 1900,
) -> PlantedCounts:
    """Counts of about `pairs` pairs in all slices together, a calendar year each; the years are irregular.

    Words without a part move as the prior does, so they are left out of ranks; decoys and stable words stand
    still. A word that jumps takes the place of another and goes on with it; one that drifts turns evenly from
    its place to that of another. `wordtide.fit(world.counts, **world.settings)` supposes what is true.

    >>> world = model_world(seed=1, pairs=1e4, vocabulary=40, slices=5, dim=4, cast=Cast(1, 1, 0, 0, 1, 0, 0, 1))
    >>> len(world.counts), world.u.shape, [word.kind for word in world.planted]
    (5, (5, 40, 4), ['drift', 'jump'])
    """
    cast = cast or Cast()
    if vocabulary < 2 * len(cast) + WORDS_OF_A_PLACE:
        raise SettingsError(
            f"{vocabulary} words are too few for {len(cast)} planted words and as many places to go to.",
            f"Give a vocabulary of at least {2 * len(cast) + WORDS_OF_A_PLACE}.",
        )
    if not (np.isfinite(pairs) and pairs > 0) or dim < 2:
        raise SettingsError(
            f"{pairs} pairs in {dim} dimensions make no world.", "Give at least 2 dimensions, and some pairs."
        )
    rng = seeded(seed)
    years = slice_years(rng, slices, first_year)
    prior = ProductPrior(years.astype(np.float64) + 0.5, diffusion, prior_variance)
    words = invented_words(rng, vocabulary, set())
    parts = draw_parts(rng, cast, (float(years[0]), float(years[-1] + 1)), _PLANTED_FREQUENCIES)
    signs = signs_by_rule(dim).astype(np.float64)
    u = _planted_trajectories(draw_trajectories(rng, prior, (vocabulary, dim)), parts, prior.times, signs)
    v = u * signs
    planted = _told(words, parts, u + v, vocabulary)
    frequency = _frequencies(rng, planted, vocabulary, prior.times)
    scores = u @ v.transpose(0, 2, 1)
    shares = uneven_shares(rng, slices, uneven)
    odds = [part @ np.exp(x) @ part for part, x in zip(frequency, scores, strict=True)]
    negative_ratio = float(1.0 / (shares @ np.array(odds)))
    sizes = pairs * negative_ratio * shares
    halves = [_drawn(rng, x, part, size) for x, part, size in zip(scores, frequency, sizes, strict=True)]
    changes = _changes(u + v)
    groups = in_groups(planted)
    known = [number for number in range(vocabulary) if frequency[0, number] and frequency[-1, number]]
    return PlantedCounts(
        planted=groups[0],
        decoys=groups[1],
        stable=groups[2],
        counts=_counts(words, years, halves),
        u=u,
        v=v,
        diffusion=prior,
        negative_ratio=negative_ratio,
        others_stand_still=False,
        changes={words[number]: float(changes[number]) for number in known},
    )


def _planted_trajectories(u: Floats, parts: list[Part], times: Floats, signs: Floats) -> Floats:
    """The same trajectories, but the first words play their parts: part n is that of word n."""
    free = list(range(len(parts), u.shape[1]))
    for word, part in enumerate(parts):
        if part.kind not in MOVING:
            u[:, word] = u[0, word]
            continue
        own = u[:, word]
        other = u[:, free.pop(_right_angle(own[0], u[-1, free], signs))]
        angle = share_moved(_named("", part), times)[:, None] * np.pi / 2.0
        own_length, other_length = (np.linalg.norm(place, axis=1, keepdims=True) for place in (own, other))
        turned = np.cos(angle) * own / own_length + np.sin(angle) * other / other_length
        length = np.cos(angle) ** 2 * own_length + np.sin(angle) ** 2 * other_length
        u[:, word] = turned / np.linalg.norm(turned, axis=1, keepdims=True) * length
    return u


def _right_angle(own: Floats, others: Floats, signs: Floats) -> int:
    """Which of the places (n, d) is most nearly at a right angle to a word's own (d,), for u and for u + v:
    another meaning.
    """
    turns = []
    for kept in (signs != 0, signs > 0):  # u + v has the positive coordinates of u, twice
        one, some = own[kept] / np.linalg.norm(own[kept]), others[:, kept]
        turns.append(np.abs(some @ one) / np.linalg.norm(some, axis=1))
    return int(np.argmin(np.max(turns, axis=0)))


def _named(
    word: str, part: Part, from_words: tuple[str, ...] = (), to_words: tuple[str, ...] = (), unit: float = 1.0
) -> PlantedWord:
    return PlantedWord(
        word, part.kind, part.date_from, part.date_to, from_words, to_words, part.frequency * unit
    )


def _told(words: list[str], parts: list[Part], vectors: Floats, vocabulary: int) -> list[PlantedWord]:
    """Planted words, with the words nearest to them at either end, none of them planted."""
    near = []
    for vectors_then in (vectors[0], vectors[-1]):
        units = vectors_then / np.linalg.norm(vectors_then, axis=1, keepdims=True)
        nearness = units[: len(parts)] @ units[len(parts) :].T
        order = len(parts) + np.argsort(-nearness, axis=1)[:, :WORDS_OF_A_PLACE]
        near.append([tuple(words[number] for number in row) for row in order])
    return [
        _named(
            words[n],
            part,
            () if part.kind == "appear" else near[0][n],
            () if part.kind == "vanish" else near[1][n],
            1.0 / vocabulary,
        )
        for n, part in enumerate(parts)
    ]


def _frequencies(
    rng: np.random.Generator, planted: list[PlantedWord], vocabulary: int, times: Floats
) -> Floats:
    """The share of each word in each slice, (T, L): Zipf's law, except for planted words."""
    own = np.stack([word.frequency * frequency_factor(word, times) for word in planted], axis=1)
    ranked = rng.permutation(1.0 / (np.arange(vocabulary - len(planted)) + 2.7))
    left = np.outer(1.0 - own.sum(axis=1), ranked / ranked.sum())
    return np.concatenate([own, left], axis=1)


def _drawn(rng: np.random.Generator, scores: Floats, share: Floats, total: float) -> sparse.csr_array:
    """Pairs of words as `Counts` stores them: the upper half, with half of the diagonal, (L, L).

    `total`: the sum of n-, which is `total` times the shares (L,) of both words.
    """
    negatives = np.triu(total * np.outer(share, share))
    np.fill_diagonal(
        negatives, negatives.diagonal() / 2.0
    )  # a word paired with itself counts in both directions
    found = negatives > 0.0
    drawn = np.zeros(negatives.shape, dtype=np.int64)
    drawn[found] = rng.poisson(rng.gamma(negatives[found], np.exp(scores[found])))
    return sparse.csr_array(drawn)


def _changes(vectors: Floats) -> Floats:
    """The cosine distance between the first slice and the last, (L,)."""
    first, last = (end / np.linalg.norm(end, axis=1, keepdims=True) for end in (vectors[0], vectors[-1]))
    return np.asarray(np.maximum(1.0 - (first * last).sum(axis=1), 0.0))


def _counts(words: list[str], years: Integers, halves: list[sparse.csr_array]) -> Counts:
    """Counts with a window of one word: each occurrence has a pair on either side."""
    rows, row_ends, unigrams = [], [], []
    stored = 0
    for half in halves:
        ends = stored + half.indptr[1:].astype(np.int64)
        used = np.flatnonzero(np.diff(half.indptr))
        rows.append(used)
        row_ends.append(ends[used])
        stored = int(ends[-1])
        unigrams.append(
            (np.asarray(half.sum(axis=0)).ravel() + np.asarray(half.sum(axis=1)).ravel() + 1) // 2
        )
    seen = [np.flatnonzero(occurrences) for occurrences in unigrams]
    arrays = CountArrays(
        columns=np.concatenate([half.indices for half in halves]).astype(
            np.uint16 if len(words) <= 1 << 16 else np.uint32
        ),
        values=np.concatenate([half.data for half in halves]).astype(np.uint32),
        rows=np.concatenate(rows).astype(np.uint32),
        row_ends=np.concatenate(row_ends).astype(np.int64),
        slice_rows=np.cumsum([0, *(len(used) for used in rows)]).astype(np.int64),
        unigram_words=np.concatenate(seen).astype(np.uint32),
        unigram_values=np.concatenate(
            [part[where] for part, where in zip(unigrams, seen, strict=True)]
        ).astype(np.int64),
        slice_unigrams=np.cumsum([0, *(len(where) for where in seen)]).astype(np.int64),
    )
    tokens = np.array([occurrences.sum() for occurrences in unigrams], dtype=np.int64)
    total = int(tokens.sum())
    summary = Summary(len(years), total, float(total), len(words))
    return Counts(words, _slices(years, tokens), arrays, CountSettings(window=1), window=1, summary=summary)


def _slices(years: Integers, tokens: Integers) -> Slices:
    """One document in the middle of each year."""
    stamps, spans = (
        np.array(numbers, dtype=np.int64) for numbers in zip(*map(parse_date, years.tolist()), strict=True)
    )
    days, seconds = stamps // DAY, stamps % DAY
    return Slices(
        ordinals=years,
        tokens=tokens,
        documents=np.ones(len(years), dtype=np.int64),
        moment_days=tokens * days,
        moment_seconds=tokens * seconds,
        first=stamps,
        last=stamps,
        spans=spans,
        labels=[str(year) for year in years.tolist()],
    )
