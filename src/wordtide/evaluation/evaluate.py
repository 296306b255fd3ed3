"""`evaluate`: fit each method, predict slices that it has not seen, and write a report."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Any

from wordtide.counts.counts import Counts
from wordtide.embeddings.notebook import result_html
from wordtide.embeddings.states import Embeddings
from wordtide.errors import FolderError, SettingsError
from wordtide.evaluation.comparison import Row, compare, verdict
from wordtide.evaluation.folder import (
    EVALUATION,
    exclusive_use,
    models_folder,
    record_seconds,
    seconds_of_checkpoint,
    seconds_of_fits,
)
from wordtide.evaluation.report import EvaluationResults, write_report
from wordtide.evaluation.scores import (
    LEAVING_OUT,
    METHODS,
    SliceScore,
    held_out_slices,
    score_models,
    without_slices,
)
from wordtide.inference.checkpoints import checkpoint_path, fingerprint, has_checkpoint
from wordtide.inference.compute import compute
from wordtide.inference.fit import CHECKPOINT_MINUTES, fit
from wordtide.inference.methods import pair_settings
from wordtide.inference.problem import problem_of
from wordtide.inference.settings import FitSettings, resolve
from wordtide.progress import Observer
from wordtide.spelling import counted
from wordtide.storage.folders import check_not_input, clean_up, real_target, remove_folder

DEFAULT_METHODS = ("smoothing", "filtering", "warm-start", "independent")


@dataclass(frozen=True)
class Evaluation:
    """All scores, the summary (a row per method), the slices left out, and the folder of the report."""

    scores: list[SliceScore]
    summary: list[Row]
    held_out: list[int]
    path: Path

    def _repr_html_(self) -> str:
        return result_html([verdict(self.summary)], self.summary)


@dataclass(frozen=True)
class Machine:
    """How fits are computed. None of it changes their result."""

    precision: str
    threads: int | None
    checkpoint_every: float


def evaluate(
    counts: Counts | str | PathLike[str],
    output: str | PathLike[str],
    *,
    methods: Sequence[str] = DEFAULT_METHODS,
    holdout: float = 0.1,
    seed: int = 0,
    overwrite: bool = False,
    resume: bool = True,
    observer: Observer | None = None,
    preset: str | None = None,
    precision: str = "float32",
    threads: int | None = None,
    checkpoint_every: float = CHECKPOINT_MINUTES,
    **settings: Any,
) -> Evaluation:
    """Compare methods by how well they predict slices that they have not seen, and write a report.

    Args:
        counts: Counts, or a counts folder.
        output: The report folder. Models are kept in its subfolder `models`.
        methods: The methods to compare.
        holdout: The share of slices left out of training by methods that see all slices at once.
        seed: Determines the slices left out, and everything random in the fits.
        overwrite: Whether to replace an existing folder.
        resume: Whether to continue an interrupted evaluation, or to add methods, with the models already
            there.
        observer: Receives the progress.
        preset: Settings of the paper, as in `wordtide.fit`.
        precision: The precision of the fits.
        threads: The number of threads; None for all cores.
        checkpoint_every: Minutes between checkpoints of a fit.
        **settings: Settings of `wordtide.fit`, common to all methods.

    Returns:
        The scores, the summary, the slices left out, and the folder.

    Raises:
        SettingsError: A setting is invalid; nothing is written.
        OutputError: The folder holds something else, or an evaluation with other settings.
    """
    fits = _fit_settings(methods, seed, preset, settings)
    observer = observer or Observer()
    with compute(precision, threads):
        pass  # reject wrong values before anything is written
    counts = counts if isinstance(counts, Counts) else Counts.load(counts, check=True)
    held_out = held_out_slices(len(counts), holdout, seed)
    shared = next(iter(fits.values()))
    check_dimensions(shared.dim, counts)
    folder = real_target(output)
    common = {name: value for name, value in shared.as_json().items() if name != "method"}
    identity = {**common, "precision": precision, "held_out": held_out, "counts": fingerprint(counts)}
    check_not_input(folder, [counts.path])
    if not EVALUATION.check(folder, identity, overwrite, resume):
        EVALUATION.begin(folder, identity, overwrite)
    with exclusive_use(folder):
        machine = Machine(precision, threads, checkpoint_every)
        remaining = without_slices(counts, held_out)
        models = {
            method: _model(remaining if method in LEAVING_OUT else counts, one, folder, machine, observer)
            for method, one in fits.items()
        }
        problem = problem_of(counts, pair_settings(shared))
        scores = score_models(models, problem, held_out, observer, threads)
        rows = compare(scores, held_out, seconds_of_fits(folder))
        write_report(
            folder,
            EvaluationResults(problem, models, scores, rows, held_out, {**common, "precision": precision}),
        )
    return Evaluation(scores, rows, held_out, folder)


def _fit_settings(
    methods: Sequence[str], seed: int, preset: str | None, settings: dict[str, Any]
) -> dict[str, FitSettings]:
    """The settings of each method's fit."""
    chosen = [methods] if isinstance(methods, str) else list(methods)
    if not chosen:
        raise SettingsError("No method was given.", f"Give some of {', '.join(METHODS)}.")
    for method in chosen:
        if method not in METHODS:
            raise SettingsError(f"There is no method {method!r}.", f"Give some of {', '.join(METHODS)}.")
        if chosen.count(method) > 1:
            raise SettingsError(f"The method {method!r} is given twice.", "Give each method once.")
    if "method" in settings:
        raise SettingsError("An evaluation has no setting 'method'.", "Give the methods as --methods.")
    if settings.get("diffusion") == "auto":
        raise SettingsError(
            "--diffusion=auto would use the slices that are to be predicted.", "Give a number like 0.001."
        )
    return {method: resolve({**settings, "seed": seed, "method": method}, preset) for method in chosen}


def check_dimensions(dim: int, counts: Counts) -> None:
    """Reject more dimensions than words, before anything is written."""
    if dim > len(counts.words):
        raise SettingsError(
            f"--dim {dim} is larger than the vocabulary of {counted(len(counts.words), 'word')}.",
            f"Give a --dim up to {len(counts.words)}, or count with a larger --vocabulary-size.",
        )


def load_or_fit(
    counts: Counts, settings: FitSettings, folder: Path, machine: Machine, observer: Observer
) -> tuple[Embeddings, float | None]:
    """Load the model of a fit, or fit it, continuing from a checkpoint if there is one.

    Returns the model, and the seconds that its fit took (None if it was found).

    Raises:
        FolderError: The folder holds a model with other settings.
    """
    if folder.exists():
        model = Embeddings.load(folder)
        if model.settings != settings.as_json():
            raise FolderError(
                f"{folder} is a model with other settings.", f"Remove {folder} to fit it again."
            )
        clean_up(folder)  # a fit may have been killed right after its model was named
        remove_folder(checkpoint_path(folder))
        return model, None
    earlier, started = seconds_of_checkpoint(folder), monotonic()
    model = fit(
        counts,
        output=folder,
        resume=has_checkpoint(folder),
        precision=machine.precision,
        threads=machine.threads,
        checkpoint_every=machine.checkpoint_every,
        observer=observer,
        **settings.as_json(),
    )
    return model, earlier + monotonic() - started


def _model(
    counts: Counts, settings: FitSettings, folder: Path, machine: Machine, observer: Observer
) -> Embeddings:
    """The model of one method, found or fitted."""
    path = models_folder(folder) / settings.method
    model, seconds = load_or_fit(counts, settings, path, machine, observer)
    if seconds is None:
        observer.message(f"{settings.method}: found in {path}")
    else:
        record_seconds(folder, settings.method, seconds)
    return model
