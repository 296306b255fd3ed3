"""Drawing the plan of a world: its slices, the planted words, and when they change."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulation.plan import MOVING, PASSING, Cast
from wordtide.corpus.tokens.tokenizers import ABBREVIATIONS
from wordtide.errors import SettingsError
from wordtide.types import Floats

Integers = npt.NDArray[np.int64]
#: Years from one slice to the next, drawn with equal probability.
GAPS = (1, 1, 1, 2, 2, 4)
_ONSETS = "b br d dr f fl g gr h k kl l m n p pr r s st t tr v".split()
_VOWELS = "a e i o u".split()
_CODAS = ["", "", "l", "n", "r", "s", "t"]
_LAST_YEAR = 9999


@dataclass(frozen=True)
class Part:
    """A part in a world without its places: what happens to a word, when, and how frequent it is."""

    kind: str
    date_from: float
    date_to: float
    frequency: float


def seeded(seed: int) -> np.random.Generator:
    """The source of all that is drawn."""
    if seed < 0:
        raise SettingsError(f"The seed cannot be {seed}.", "Give 0 or more.")
    return np.random.default_rng(seed)


def invented_words(rng: np.random.Generator, number: int, taken: set[str]) -> list[str]:
    """Distinct words of two or three syllables, none of them `taken` and none an abbreviation."""
    seen = {*taken, *ABBREVIATIONS}
    words: list[str] = []
    while len(words) < number:
        syllables = 2 + int(rng.random() < 0.6)
        word = "".join(str(rng.choice(part)) for _ in range(syllables) for part in (_ONSETS, _VOWELS, _CODAS))
        if len(word) >= 5 and word not in seen:
            seen.add(word)
            words.append(word)
    return words


def slice_years(rng: np.random.Generator, slices: int, first_year: int) -> Integers:
    """The years of the slices, (T,), at irregular distances."""
    if slices < 3:
        raise SettingsError(f"{slices} slices are too few for something to happen.", "Give at least 3.")
    years = first_year + np.concatenate([[0], np.cumsum(rng.choice(GAPS, slices - 1))]).astype(np.int64)
    if first_year < 1 or years[-1] > _LAST_YEAR:
        raise SettingsError(
            f"The years {first_year} to {years[-1]} cannot be written as dates.", "Give another first_year."
        )
    return years


def uneven_shares(rng: np.random.Generator, slices: int, uneven: float) -> Floats:
    """The share of each slice in the corpus, (T,): the largest is `uneven` times the smallest, in no order."""
    if not (np.isfinite(uneven) and uneven >= 1.0):
        raise SettingsError(
            f"uneven cannot be {uneven}.", "Give 1 for equal slices, 10 for sizes that vary tenfold."
        )
    sizes = rng.permutation(np.geomspace(1.0, uneven, slices))
    return np.asarray(sizes / sizes.sum())


def draw_parts(
    rng: np.random.Generator, cast: Cast, span: tuple[float, float], frequencies: tuple[float, float]
) -> list[Part]:
    """The parts of a cast between two dates.

    Each kind has the same range of frequencies, so that none gives a kind away.

    Words jump, vanish and appear in the middle half of the time; whatever takes time takes 30 % to 60 % of it
    and leaves 10 % at either end.
    """
    if not 0.0 < frequencies[0] <= frequencies[1] < np.inf:
        raise SettingsError(
            f"{frequencies} is no range of frequencies.", "Give two shares of all words, like (3e-4, 1e-3)."
        )
    parts = []
    for kind, number in cast.kinds().items():
        for frequency in np.geomspace(*frequencies, number + 2)[1:-1].tolist():
            date_from, date_to = (span[0] + share * (span[1] - span[0]) for share in _when(rng, kind))
            parts.append(Part(kind, date_from, date_to, frequency))
    return parts


def _when(rng: np.random.Generator, kind: str) -> tuple[float, float]:
    """Shares of the time between the first slice and the last."""
    if kind == "stable":
        return 0.0, 1.0
    if kind in PASSING or kind == MOVING[1]:
        date = float(rng.uniform(0.25, 0.75))
        return date, date
    length = float(rng.uniform(0.3, 0.6))
    start = float(rng.uniform(0.1, 0.9 - length))
    return start, start + length
