"""The model folder of a filter, with a file for each slice: loaded, and asked."""

from pathlib import Path

from targets.damaging import Damaged
from targets.model_folder import use_model
from targets.modelling import small_model


def _make(folder: Path) -> None:
    small_model("filter").save(folder)


_FOLDER = Damaged(_make, use_model)
SEEDS = _FOLDER.seeds()
try_input = _FOLDER.try_input
