"""Worlds of text: short documents on topics, from sentence templates, with planted words among the nouns.

A template has places for nouns and verbs of the topic and for filler that belongs to no topic; all follow
Zipf's law. A planted word is a noun whose probability in each topic depends on the date of the document: one
that drifts from a topic to another has less and less of its occurrences in the first. So frequency and
contexts are exactly what the plan says, up to chance. The same seed and sizes give the same bytes.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

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
    Cast,
    PlantedCorpus,
    PlantedWord,
    frequency_factor,
    in_groups,
    share_moved,
)
from wordtide.errors import SettingsError
from wordtide.types import Floats

#: N, V, F: places for a noun or a verb of the topic, and for filler.
TEMPLATES = (
    "the N of the N V a N",
    "a N V the N with F N",
    "when the N V the N they V again",
    "F and F N V in the N",
    "this N is F but the N V it",
    "they V the F N for a N",
    "no N V without the N or the N",
    "it was the N that V the N",
    "some N V F near the N",
    "there is a N and a F N in every N",
)
#: Share of a planted word in all words of the corpus: from, to.
FREQUENCIES = (3e-4, 1e-3)
SENTENCES_PER_DOCUMENT = 5
#: This many of the topic's most frequent nouns describe a place.
WORDS_OF_A_PLACE = 8
_FILLER, _NOUNS = 0.2, 0.65  # of the vocabulary; of a topic's words
_NOUN, _VERB, _FILLED, _END = -1, -2, -3, -4
_MOST_PLANTED = 0.6  # of a topic's nouns: the others make the topic what it is


@dataclass(frozen=True)
class _Language:
    """All words by number, and the numbers that fill each place of a sentence.

    They are `nouns` and `verbs` (topics, n), `filler` (n,) and `planted` (p,).
    """

    words: list[str]
    templates: Integers
    nouns: Integers
    verbs: Integers
    filler: Integers
    planted: Integers

    @property
    def tokens_per_document(self) -> float:
        """The expected number of words of a document."""
        return SENTENCES_PER_DOCUMENT * float((self.templates != _END).sum(axis=1).mean())

    @property
    def noun_share(self) -> float:
        """The expected share of places for nouns."""
        return float((self.templates == _NOUN).sum() / (self.templates != _END).sum())

    @cached_property
    def forms(self) -> list[str]:
        """Words inside a sentence, then as its first word, then as its last."""
        return [
            *self.words,
            *(word.capitalize() for word in self.words),
            *(f"{word}." for word in self.words),
        ]


@dataclass(frozen=True)
class _Planting:
    """Planted words with the topics they come from and go to, (p,)."""

    cast: list[PlantedWord]
    from_topic: Integers
    to_topic: Integers

    def probability(self, topics: Integers, dates: Floats, scale: float) -> Floats:
        """Probability of each planted word as a noun in documents on `topics` at `dates` (n,), (n, p).

        `scale`: places for nouns of one topic as a share of all words.
        """
        chances = np.empty((len(dates), len(self.cast)))
        for column, word in enumerate(self.cast):
            moved = share_moved(word, dates)
            here = (topics == self.from_topic[column]) * (1.0 - moved) + (
                topics == self.to_topic[column]
            ) * moved
            chances[:, column] = word.frequency * frequency_factor(word, dates) * here / scale
        return chances


def template_world(
    seed: int = 0,
    *,
    tokens: int = 300_000,
    vocabulary: int = 2_000,
    slices: int = 30,
    topics: int = 20,
    cast: Cast | None = None,
    uneven: float = 10.0,
    first_year: int = 1900,
    frequencies: tuple[float, float] = FREQUENCIES,
) -> PlantedCorpus:
    """A corpus of about `tokens` words with planted drift; slices are calendar years, unevenly spaced.

    `vocabulary`: number of distinct words. `uneven`: the largest slice has so many times the documents of the
    smallest.

    >>> world = template_world(seed=1, tokens=2_000, vocabulary=200, slices=4, topics=4, cast=Cast(1, 1, 0, 0, 1, 0, 0, 1))
    >>> world.planted[0].kind, len(world.decoys), world.documents[0][0][:4]
    ('drift', 1, '1900')
    """
    cast = cast or Cast()
    rng = seeded(seed)
    years = slice_years(rng, slices, first_year)
    language = _language(rng, vocabulary, topics, len(cast))
    parts = draw_parts(rng, cast, (float(years[0]), float(years[-1] + 1)), frequencies)
    planting = _planting(rng, language, parts)
    _check_room(planting, language, years)
    wanted = tokens / language.tokens_per_document * uneven_shares(rng, slices, uneven)
    if wanted.min() < 1.0:
        raise SettingsError(
            f"{tokens} words are too few for {slices} slices: the smallest would have no document.",
            "Give more tokens, fewer slices, or a smaller uneven.",
        )
    documents: list[tuple[str, str]] = []
    for year, number in zip(years.tolist(), np.rint(wanted).astype(int).tolist(), strict=True):
        documents += _documents(rng, language, planting, year, number)
    planted, decoys, stable = in_groups(planting.cast)
    return PlantedCorpus(planted=planted, decoys=decoys, stable=stable, documents=tuple(documents))


def _language(rng: np.random.Generator, vocabulary: int, topics: int, planted: int) -> _Language:
    function_words = sorted({word for template in TEMPLATES for word in template.split()} - {"N", "V", "F"})
    left = vocabulary - len(function_words) - planted
    filler = round(_FILLER * left)
    per_topic = (left - filler) // max(topics, 1)
    nouns = round(_NOUNS * per_topic)
    if topics < 2 or nouns < WORDS_OF_A_PLACE or per_topic - nouns < 2:
        raise SettingsError(
            f"{vocabulary} words are too few for {topics} topics and {planted} planted words.",
            "Give at least 2 topics, and a larger vocabulary or fewer topics.",
        )
    invented = invented_words(rng, vocabulary - len(function_words), set(function_words))
    first = len(function_words)
    ends = np.cumsum([first, planted, topics * nouns, topics * (per_topic - nouns)])
    parts = [np.arange(a, b) for a, b in zip(ends, [*ends[1:], vocabulary], strict=True)]
    slots = {
        "N": _NOUN,
        "V": _VERB,
        "F": _FILLED,
        **{word: number for number, word in enumerate(function_words)},
    }
    longest = max(len(template.split()) for template in TEMPLATES)
    rows = [[slots[word] for word in template.split()] for template in TEMPLATES]
    return _Language(
        words=[*function_words, *invented],
        templates=np.array([row + [_END] * (longest - len(row)) for row in rows]),
        planted=parts[0],
        nouns=parts[1].reshape(topics, nouns),
        verbs=parts[2].reshape(topics, per_topic - nouns),
        filler=parts[3],
    )


def _planting(rng: np.random.Generator, language: _Language, parts: list[Part]) -> _Planting:
    """Topics in turn, so that none is crowded; parts at random, so that no kind has its own topic."""
    topics = len(language.nouns)
    turn = rng.permutation(len(parts))
    from_topic = rng.permutation(topics)[turn % topics]
    to_topic = (from_topic + rng.integers(1, topics, len(parts))) % topics
    cast = []
    for number, part in enumerate(parts):
        stays = part.kind not in ("drift", "jump")
        to_topic[number] = from_topic[number] if stays else to_topic[number]
        from_words, to_words = (
            tuple(language.words[noun] for noun in language.nouns[topic[number]][:WORDS_OF_A_PLACE])
            for topic in (from_topic, to_topic)
        )
        cast.append(
            PlantedWord(
                word=language.words[language.planted[number]],
                kind=part.kind,
                date_from=part.date_from,
                date_to=part.date_to,
                from_words=() if part.kind == "appear" else from_words,
                to_words=() if part.kind == "vanish" else to_words,
                frequency=part.frequency,
            )
        )
    return _Planting(cast, from_topic, to_topic)


def _check_room(planting: _Planting, language: _Language, years: Integers) -> None:
    topics = len(language.nouns)
    dates = np.linspace(float(years[0]), float(years[-1] + 1), 200)
    crowd = max(
        planting.probability(np.full(len(dates), topic), dates, language.noun_share / topics)
        .sum(axis=1)
        .max()
        for topic in range(topics)
    )
    if crowd > _MOST_PLANTED:
        raise SettingsError(
            f"Planted words would be {crowd:.0%} of a topic's nouns, and {_MOST_PLANTED:.0%} is the most.",
            "Plant fewer words, or less frequent ones, or make fewer topics.",
        )


def _documents(
    rng: np.random.Generator, language: _Language, planting: _Planting, year: int, number: int
) -> list[tuple[str, str]]:
    """The documents of a year, in order of date."""
    start = np.datetime64(f"{year:04d}-01-01", "D")
    length = int((np.datetime64(f"{year + 1:04d}-01-01", "D") - start).astype(int)) if year < 9999 else 365
    days = np.sort(rng.integers(0, length, number))
    topics = rng.integers(0, len(language.nouns), number)
    scale = language.noun_share / len(language.nouns)
    reach = np.cumsum(planting.probability(topics, year + (days + 0.5) / length, scale), axis=1)
    templates = language.templates[rng.integers(0, len(language.templates), (number, SENTENCES_PER_DOCUMENT))]
    there = templates != _END
    lengths = there.sum(axis=2)
    codes = templates[there]
    document = np.repeat(np.arange(number), lengths.sum(axis=1))
    for slot, words in ((_NOUN, language.nouns), (_VERB, language.verbs)):
        places = np.flatnonzero(codes == slot)
        codes[places] = words[topics[document[places]], _zipf(rng, words.shape[1], len(places))]
        if slot == _NOUN:
            passed = rng.random(len(places))[:, None] >= reach[document[places]]
            planted = passed.sum(axis=1)
            taken = planted < len(planting.cast)
            codes[places[taken]] = language.planted[planted[taken]]
    places = np.flatnonzero(codes == _FILLED)
    codes[places] = language.filler[_zipf(rng, len(language.filler), len(places))]
    ends = np.cumsum(lengths.ravel())
    codes[ends - lengths.ravel()] += len(language.words)
    codes[ends - 1] += 2 * len(language.words)
    forms = [language.forms[code] for code in codes.tolist()]
    cuts = [0, *np.cumsum(lengths.sum(axis=1)).tolist()]
    dates = (start + days).astype(str).tolist()
    return [(date, " ".join(forms[a:b])) for date, a, b in zip(dates, cuts[:-1], cuts[1:], strict=True)]


def _zipf(rng: np.random.Generator, size: int, number: int) -> Integers:
    """Ranks below `size` by Zipf's law with Mandelbrot's shift, (number,)."""
    weights = 1.0 / (np.arange(size) + 2.7)
    return np.searchsorted(np.cumsum(weights / weights.sum())[:-1], rng.random(number), side="right")
