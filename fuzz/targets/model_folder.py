"""The model folder with all states in one file: loaded, and asked."""

from pathlib import Path

import wordtide
from targets.damaging import Damaged
from targets.modelling import small_model


def _make(folder: Path) -> None:
    small_model("smoother").save(folder)


def use_model(folder: Path, check: bool) -> None:
    """Load a model, and ask for vectors at, between and beyond its slices."""
    model = wordtide.load(folder, check=check)
    repr(model)
    for word in model.words[:4]:
        model.mean(word, 1901.0), model.variance(word, 1950.0), model.occurrences(word)
    model.at(1901.2)


_FOLDER = Damaged(_make, use_model)
SEEDS = _FOLDER.seeds()
try_input = _FOLDER.try_input
