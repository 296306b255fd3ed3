"""`tune`: fit all combinations of some settings, and compare how well they predict unseen slices."""

import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from wordtide.corpus.byte_streams import MAX_EXPANSION
from wordtide.corpus.tokens.tokenizers import Tokenizer
from wordtide.counts.counts import Counts
from wordtide.errors import SettingsError, WordtideError
from wordtide.evaluation.comparison import Row
from wordtide.evaluation.evaluate import Machine, check_dimensions, load_or_fit
from wordtide.evaluation.folder import (
    TUNING,
    FitRecord,
    exclusive_use,
    json_bytes,
    load_record,
    model_folder,
    save_record,
)
from wordtide.evaluation.report import corpus_facts, csv_bytes
from wordtide.evaluation.scores import score_slices, without_slices
from wordtide.evaluation.tuning.ranking import COLUMNS, SCORE_COLUMNS, Tuning, tuning_summary
from wordtide.evaluation.tuning.search_space import (
    LISTED,
    Combination,
    Grid,
    PlannedFit,
    Splits,
    check_method,
    checked_grid,
    combinations_of,
    splits_for,
    varied,
)
from wordtide.evaluation.tuning.windows import OtherWindows, check_windows, counts_by_window
from wordtide.inference.checkpoints import fingerprint
from wordtide.inference.compute import compute
from wordtide.inference.fit import CHECKPOINT_MINUTES
from wordtide.inference.problem import PairSettings, Problem, problem_of
from wordtide.inference.settings import FitSettings, resolve
from wordtide.progress import Observer
from wordtide.spelling import counted
from wordtide.storage.folders import check_not_input, real_target, remove_folder, write_files

#: All combinations are scored with this eta, because likelihoods of different negative pairs cannot be
#: compared.
REFERENCE_RATIO = FitSettings().negative_ratio


@dataclass(frozen=True)
class _Session:
    """The folder of a tuning, and everything its fits need."""

    folder: Path
    counts: Mapping[int, Counts]
    problem: Problem  # for scoring all fits
    machine: Machine
    observer: Observer


def tune(
    counts: Counts | str | PathLike[str],
    output: str | PathLike[str],
    *,
    grid: Mapping[str, Any] | None = None,
    method: str = "smoothing",
    splits: int | None = None,
    holdout: float | None = None,
    seed: int = 0,
    texts: Any = None,
    tokenizer: str | Tokenizer | None = None,
    max_expansion: int = MAX_EXPANSION,
    windows: Mapping[int, Counts] | None = None,
    overwrite: bool = False,
    resume: bool = True,
    observer: Observer | None = None,
    count_observer: Observer | None = None,
    precision: str = "float32",
    threads: int | None = None,
    checkpoint_every: float = CHECKPOINT_MINUTES,
    **settings: Any,
) -> Tuning:
    """Compare all combinations of settings by the likelihood of held-out slices.

    Args:
        counts: Counts, or a counts folder.
        output: The folder for tables and finished fits.
        grid: Lists of values for some of diffusion, dim, prior_variance, negative_ratio and window.
        method: The method to tune.
        splits: How often slices are left out; 3 by default.
        holdout: The share of slices left out each time; 0.1 by default.
        seed: Determines the slices left out, and everything random in the fits.
        texts: The source of the counts, to count it again with other windows.
        tokenizer: The tokenizer of the counts, if they were made with one.
        max_expansion: As in `wordtide.count`.
        windows: Counts with other windows, by window.
        overwrite: Whether to replace an existing folder.
        resume: Whether to use the finished fits in `output`.
        observer: Receives the progress of fits.
        count_observer: Receives the progress of counting.
        precision: The precision of the fits.
        threads: The number of threads; None for all cores.
        checkpoint_every: Minutes between checkpoints of a fit.
        **settings: Settings of `wordtide.fit`, common to all combinations.

    Returns:
        The summary, all scores, and what was searched.
    """
    observer = observer or Observer()
    counts = counts if isinstance(counts, Counts) else Counts.load(counts, check=True)
    check_method(method)
    lists = checked_grid(_with_single_values(grid or {}, settings), method, counts.window)
    fixed = {name: value for name, value in settings.items() if name not in LISTED}
    fits = {
        one: resolve({**fixed, "method": method, "seed": seed, **one.fit_values()})
        for one in combinations_of(lists)
    }
    for one in fits:
        check_dimensions(one.dim, counts)
    parts = splits_for(method, len(counts), splits, holdout, seed)
    with compute(precision, threads):
        pass  # reject wrong values before anything is written
    shared = {
        name: value for name, value in next(iter(fits.values())).as_json().items() if name not in LISTED
    }
    problem = problem_of(
        counts, PairSettings(REFERENCE_RATIO, shared["context_exponent"], shared["contexts"] == "tied")
    )
    folder = real_target(output)
    identity = {**shared, "precision": precision, "holdout": parts.holdout, "counts": fingerprint(counts)}
    check_not_input(folder, [counts.path])
    continues = TUNING.check(folder, identity, overwrite, resume)
    others = OtherWindows(windows or {}, texts, tokenizer, threads, count_observer, max_expansion)
    wanted = [int(window) for window in lists["window"]]
    others = check_windows(counts, wanted, others, folder if continues else None)
    if not continues:
        TUNING.begin(folder, identity, overwrite)
    with exclusive_use(folder):
        try:
            by_window = counts_by_window(folder, counts, wanted, others, observer.message)
        except WordtideError:
            if not continues:
                shutil.rmtree(folder)
            raise
        if len(parts.left_out) < parts.wanted:
            found = counted(len(parts.left_out), "different split")
            observer.message(f"--splits {parts.wanted}: this corpus has only {found}")
        machine = Machine(precision, threads, checkpoint_every)
        planned = parts.planned(list(fits))
        records = _records(
            planned,
            fits,
            varied(lists) or LISTED[:2],
            _Session(folder, by_window, problem, machine, observer),
        )
        scores, rows = _scores(planned, records), _summary(planned, records)
        facts = _facts(problem, parts, lists, {**shared, "precision": precision})
        _write_tables(folder, scores, rows, facts)
    return Tuning(rows, scores, lists, parts, fits, by_window, folder)


def _with_single_values(grid: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The lists, including settings that were given as single values."""
    single = {name: [value] for name, value in settings.items() if name in LISTED}
    twice = sorted(set(single) & set(grid))
    if twice:
        raise SettingsError(f"{twice[0]} is given twice.", "Give it in the grid alone.")
    return {**grid, **single}


def _records(
    planned: list[PlannedFit],
    settings: Mapping[Combination, FitSettings],
    names: list[str] | tuple[str, ...],
    session: _Session,
) -> list[FitRecord]:
    """The record of each fit, read from the folder or made now."""
    found = [load_record(session.folder, fit.file_name, fit.slices) for fit in planned]
    there = [record for record in found if record is not None]
    if there:
        session.observer.message(f"{len(there)} of {len(planned)} fits are already finished")
    records = []
    for number, (fit, record) in enumerate(zip(planned, found, strict=True), start=1):
        if record is None:
            session.observer.message(f"fit {number} of {len(planned)}: {fit.shown(names)}")
            record = _fit_and_score(fit, settings[fit.combination], session)
            mean = sum(score.log_likelihood for score in record.scores) / len(record.scores)
            took = "" if record.seconds is None else f", fitted in {record.seconds:.0f} s"
            session.observer.message(f"{mean:.4f} per pair{took}")
        remove_folder(model_folder(session.folder, fit.file_name))  # including leftovers of a killed process
        records.append(record)
    return records


def _fit_and_score(fit: PlannedFit, settings: FitSettings, session: _Session) -> FitRecord:
    counts, machine, observer = session.counts[fit.combination.window], session.machine, session.observer
    model, seconds = load_or_fit(
        without_slices(counts, fit.left_out) if fit.left_out else counts,
        settings,
        model_folder(session.folder, fit.file_name),
        machine,
        observer,
    )
    shift = math.log(fit.combination.negative_ratio / REFERENCE_RATIO)
    scores = score_slices(
        settings.method, model, session.problem, fit.slices, observer, machine.threads, shift
    )
    record = FitRecord(scores, None if seconds is None else round(seconds, 1))
    save_record(session.folder, fit.file_name, {**fit.combination.values(), "split": fit.split}, record)
    return record


def _scores(planned: Sequence[PlannedFit], records: Sequence[FitRecord]) -> list[Row]:
    """A row per score, with the combination and split of its fit."""
    return [
        {**fit.combination.values(), "split": fit.split, **vars(score)}
        for fit, record in zip(planned, records, strict=True)
        for score in record.scores
    ]


def _summary(planned: Sequence[PlannedFit], records: Sequence[FitRecord]) -> list[Row]:
    scores: dict[Combination, list[Any]] = {}
    seconds: dict[Combination, list[float | None]] = {}
    for fit, record in zip(planned, records, strict=True):
        scores.setdefault(fit.combination, []).extend(record.scores)
        seconds.setdefault(fit.combination, []).append(record.seconds)
    return tuning_summary(scores, seconds)


def _facts(problem: Problem, splits: Splits, lists: Grid, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **corpus_facts(problem),
        "negative_ratio_of_scores": REFERENCE_RATIO,
        "lists": lists,
        "holdout": splits.holdout,
        "splits": [
            [{"slice": t, "label": problem.labels[t]} for t in left_out] for left_out in splits.left_out
        ],
        "settings": dict(settings),
    }


def _write_tables(
    folder: Path, scores: Sequence[Row], summary: Sequence[Row], facts: Mapping[str, Any]
) -> None:
    contents = {
        "scores.csv": csv_bytes(scores, SCORE_COLUMNS),
        "summary.csv": csv_bytes(summary, COLUMNS),
        "settings.json": json_bytes(facts),
    }
    write_files(folder, contents)
