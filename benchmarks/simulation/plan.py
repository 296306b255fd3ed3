"""What is planted in a world, and where a planted word is and how frequent it is at a date.

Dates are float years. A word that drifts or jumps goes from one place (a topic, or another word's place) to
another. All others stay where they are: those that vanish or appear, decoys, whose frequency alone changes
tenfold, and stable words.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wordtide.errors import SettingsError
from wordtide.model.prior import Diffusion
from wordtide.types import Floats

if TYPE_CHECKING:
    from wordtide.counts.counts import Counts

#: Kinds of words that change their meaning: what is to be found.
MOVING = ("drift", "jump")
#: Kinds that are there for a part of the time only.
PASSING = ("vanish", "appear")
DECOYS = ("up", "down", "burst")
#: How much more frequent a decoy is at its most than at its least.
DECOY_RATIO = 10.0


@dataclass(frozen=True)
class PlantedWord:
    """A word whose truth is known. `kind`: drift, jump, vanish, appear; up, down, burst (decoys); stable.

    What happens begins at `date_from` and is over at `date_to`, one and the same date for jump, vanish and
    appear. `from_words` are words of the place where it begins, `to_words` of the place where it ends; a word
    that vanishes has no place to go to, and one that appears none to come from. `frequency`: its share of all
    words, before what happens to it changes that.
    """

    word: str
    kind: str
    date_from: float
    date_to: float
    from_words: tuple[str, ...]
    to_words: tuple[str, ...]
    frequency: float

    @property
    def halfway(self) -> float:
        """The date at which half of the way is done."""
        return (self.date_from + self.date_to) / 2.0


def share_moved(word: PlantedWord, dates: Floats) -> Floats:
    """How much of its way a word has done at some dates, 0 to 1, (n,): a drifting word goes evenly."""
    if word.kind not in MOVING:
        return np.zeros(len(dates))
    return _progress(word, dates)


def frequency_factor(word: PlantedWord, dates: Floats) -> Floats:
    """By how much a word is more or less frequent than its `frequency` at some dates, (n,)."""
    progress = _progress(word, dates)
    if word.kind in PASSING:
        return progress if word.kind == "appear" else 1.0 - progress
    if word.kind in ("up", "down"):
        exponent = progress - 0.5 if word.kind == "up" else 0.5 - progress
        return np.asarray(DECOY_RATIO**exponent)
    if word.kind == "burst":
        inside = (dates >= word.date_from) & (dates < word.date_to)
        return np.asarray(DECOY_RATIO ** np.where(inside, 0.5, -0.5))
    return np.ones(len(dates))


def _progress(word: PlantedWord, dates: Floats) -> Floats:
    if word.date_from == word.date_to:
        return np.where(dates >= word.date_from, 1.0, 0.0)
    return np.clip((dates - word.date_from) / (word.date_to - word.date_from), 0.0, 1.0)


@dataclass(frozen=True)
class Cast:
    """How many words of each kind are planted."""

    drift: int = 8
    jump: int = 8
    vanish: int = 4
    appear: int = 4
    up: int = 5
    down: int = 5
    burst: int = 5
    stable: int = 16

    def __post_init__(self) -> None:
        if min(self.kinds().values()) < 0 or self.drift + self.jump == 0 or self.stable == 0:
            raise SettingsError(
                "A world needs words that drift or jump, and stable words to tell them from.",
                "Give at least one drift or jump and one stable, and no number below 0.",
            )

    def kinds(self) -> dict[str, int]:
        """Each kind with its number."""
        return {kind: getattr(self, kind) for kind in (*MOVING, *PASSING, *DECOYS, "stable")}

    def __len__(self) -> int:
        return sum(self.kinds().values())


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is planted in a world. All other words stand still, unless `others_stand_still` is False.

    `changes`: the true change (cosine distance, for the sum of both vectors) between the first slice and the
    last, where known.
    """

    planted: tuple[PlantedWord, ...]
    decoys: tuple[PlantedWord, ...]
    stable: tuple[PlantedWord, ...]
    others_stand_still: bool = True
    changes: dict[str, float] = field(default_factory=dict)

    @property
    def cast(self) -> tuple[PlantedWord, ...]:
        """All words with a part in the plan."""
        return (*self.planted, *self.decoys, *self.stable)

    @property
    def moving(self) -> tuple[PlantedWord, ...]:
        """The words to be found: those that drift or jump."""
        return tuple(word for word in self.planted if word.kind in MOVING)


@dataclass(frozen=True, kw_only=True)
class PlantedCorpus(Plan):
    """Dated texts, ISO date and text, with words planted in them: `wordtide.count(corpus.documents)`."""

    documents: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class PlantedCounts(Plan):
    """Counts drawn from the model, with the vectors `u`, `v` (T, L, d), the prior and the ratio of pairs."""

    counts: "Counts"
    u: Floats
    v: Floats
    diffusion: Diffusion
    negative_ratio: float

    @property
    def settings(self) -> dict[str, Any]:
        """The settings with which `wordtide.fit` supposes what is true."""
        return {
            "dim": self.u.shape[2],
            "diffusion": self.diffusion.constant,
            "prior": self.diffusion.name,
            "prior_variance": self.diffusion.prior_variance,
            "negative_ratio": self.negative_ratio,
            "context_exponent": 1.0,
            "contexts": "tied",
        }


def in_groups(cast: list[PlantedWord]) -> list[tuple[PlantedWord, ...]]:
    """The groups of a plan: planted, decoys, stable."""
    return [
        tuple(word for word in cast if word.kind in kinds)
        for kinds in ((*MOVING, *PASSING), DECOYS, ("stable",))
    ]
