"""The report of an evaluation: tables as CSV files, figures, and one page with all of it."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from wordtide.embeddings.states import Embeddings
from wordtide.evaluation.comparison import COLUMNS, Row
from wordtide.evaluation.motion import COLUMNS as MOTION_COLUMNS
from wordtide.evaluation.motion import distances_in, motion_row, windows_of
from wordtide.evaluation.predictors import METHODS
from wordtide.evaluation.report_page import report_page
from wordtide.evaluation.scores import SliceScore
from wordtide.figures.displacement_figure import displacement_figure, displacement_rows
from wordtide.figures.likelihood_figure import COLUMNS as SCORE_COLUMNS
from wordtide.figures.likelihood_figure import likelihood_figure
from wordtide.figures.style import styled
from wordtide.inference.problem import Problem
from wordtide.storage.cells import csv_text
from wordtide.storage.folders import write_files
from wordtide.version import __version__

DISPLACEMENT_COLUMNS = ("method", "delta", "words", "mean", "q05", "q25", "median", "q75", "q95")
_DPI = {"png": 200, "svg": 72}


@dataclass(frozen=True)
class EvaluationResults:
    """The content of a report: the corpus, models by method, scores, summary, held-out slices and settings."""

    problem: Problem
    models: Mapping[str, Embeddings]
    scores: Sequence[SliceScore]
    summary: Sequence[Row]
    held_out: Sequence[int]
    settings: Mapping[str, Any]


def write_report(folder: Path, results: EvaluationResults) -> None:
    """Write all files of the report into the folder of the evaluation, replacing those of an earlier report."""
    windows = windows_of(results.problem, results.held_out)
    moving = {name: model for name, model in results.models.items() if name != "static"} if windows else {}
    distances = {name: distances_in(model, windows) for name, model in moving.items()}
    motion = [motion_row(name, model, windows, distances[name]) for name, model in moving.items()]
    facts = _facts(results)
    files = {
        "scores.csv": csv_bytes([vars(score) for score in results.scores], SCORE_COLUMNS),
        "summary.csv": csv_bytes(results.summary, COLUMNS),
        "displacements.csv": csv_bytes(displacement_rows(distances), DISPLACEMENT_COLUMNS),
        "motion.csv": csv_bytes(motion, MOTION_COLUMNS),
        "settings.json": (json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode(),
    }
    likelihood = likelihood_figure(paper_scores(results.scores))
    figures = {"likelihood.png": picture(likelihood, "png"), "likelihood.svg": picture(likelihood, "svg")}
    if any(found.any() for by_delta in distances.values() for found in by_delta.values()):
        figures["displacement.png"] = picture(displacement_figure(distances), "png")
    pictures = {name: content for name, content in figures.items() if name.endswith(".png")}
    page = report_page(facts, results.summary, motion, pictures)
    write_files(folder, {**files, **figures, "report.html": page.encode()})


def paper_scores(scores: Sequence[SliceScore]) -> dict[str, list[Any]]:
    """The scores of the paper's predictors as columns, for the figure."""
    kept = [score for score in scores if score.method in METHODS]
    return {name: [getattr(score, name) for score in kept] for name in SCORE_COLUMNS}


def csv_bytes(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> bytes:
    """Encode rows as CSV. None becomes an empty cell, and numbers are written exactly."""
    return csv_text(rows, columns).encode()


def picture(figure: Figure, ending: str) -> bytes:
    """The content of a figure's file: the same bytes for the same figure."""
    content = io.BytesIO()
    with styled():
        figure.savefig(
            content, format=ending, dpi=_DPI[ending], metadata={"Date": None} if ending == "svg" else {}
        )
    return content.getvalue()


def corpus_facts(problem: Problem) -> dict[str, Any]:
    """Facts about the corpus, and the version of wordtide."""
    return {
        "wordtide": __version__,
        "slices": len(problem),
        "first_slice": problem.labels[0],
        "last_slice": problem.labels[-1],
        "words": len(problem.words),
        "pairs": problem.pairs,
    }


def _facts(results: EvaluationResults) -> dict[str, Any]:
    problem = results.problem
    return {
        **corpus_facts(problem),
        "methods": list(results.models),
        "held_out": [
            {"slice": t, "label": problem.labels[t], "time": float(problem.times[t])}
            for t in results.held_out
        ],
        "settings": dict(results.settings),
    }
