"""The report of an evaluation: tables as CSV files, figures, and an HTML page with all of it.

The page needs no other file, runs no scripts, and escapes all text from outside.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from wordtide.embeddings.states import Embeddings
from wordtide.evaluation.comparison import (
    COLUMNS,
    MOTION_COLUMNS,
    TITLES,
    Row,
    distances_in,
    motion_row,
    verdict,
    windows_of,
)
from wordtide.evaluation.folder import json_bytes
from wordtide.evaluation.scores import METHODS, SliceScore
from wordtide.figures.method_figures import (
    SCORE_COLUMNS,
    displacement_figure,
    displacement_rows,
    likelihood_figure,
)
from wordtide.figures.style import render
from wordtide.inference.problem import Problem
from wordtide.spelling import counted
from wordtide.storage.cells import csv_text
from wordtide.storage.folders import write_files
from wordtide.version import __version__

DISPLACEMENT_COLUMNS = ("method", "delta", "words", "mean", "q05", "q25", "median", "q75", "q95")
_DPI = {"png": 200, "svg": 72}
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { padding: 0.25rem 0.7rem; text-align: right; border-bottom: 1px solid #ddd; }
th, td { font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; }
img { max-width: 100%; } .note { color: #555; font-size: 0.9rem; }
"""
_MOTION = {
    "method": "method",
    "words": "words",
    "first_distance": "distance after 1 slice",
    "last_distance": "after {slices} slices",
    "directedness": "directedness",
    "relative_step": "relative step",
}
_MEASURE = """\
Each number is the mean log-probability of a word pair, positive or negative, in a slice that the method has
not seen. Higher is better; zero vectors reach &minus;0.693. <b>warm-start</b>, <b>independent</b> and
<b>filtering</b> process the slices in order of time and predict each slice from their vectors at the
previous one. <b>smoothing</b> was fitted without the held-out slices and predicts them by linear
interpolation between the neighboring slices; <b>static</b> was fitted without them as well. Rows marked
<i>(posterior)</i> integrate over the posterior; they use the same fit as the row without the mark. Means
and wins refer to the held-out slices, which all methods predict; <i>mean of all</i> refers to all slices
that a method predicts and cannot be compared between methods. Differences are computed slice by slice
before averaging. Wins are counted among the rows without a mark."""
_LINES = """\
Thin lines: single slices. Thick lines: running means, weighted by pairs. The means beside the lines are
those in the table above."""
_MOVED = """\
Measured at slices that were not left out, on words that occur in each of them. <i>Directedness</i> is the
ratio of the two distances: with ten slices it is 1 for words that jump around one place, 3.2 for a random
walk, and 10 on a straight path. <i>Relative step</i> is the distance moved in one slice, in units of the
vector's length. Medians over words."""


@dataclass(frozen=True)
class EvaluationResults:
    """The content of a report: corpus, models by method, scores, summary, held-out slices and settings."""

    problem: Problem
    models: Mapping[str, Embeddings]
    scores: Sequence[SliceScore]
    summary: Sequence[Row]
    held_out: Sequence[int]
    settings: Mapping[str, Any]


def write_report(folder: Path, results: EvaluationResults) -> None:
    """Write all files of the report into the folder of the evaluation, replacing an earlier report."""
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
        "settings.json": json_bytes(facts),
    }
    likelihood = likelihood_figure(paper_scores(results.scores))
    figures = {
        "likelihood.png": render(likelihood, "png", _DPI["png"]),
        "likelihood.svg": render(likelihood, "svg", _DPI["svg"]),
    }
    if any(found.any() for by_delta in distances.values() for found in by_delta.values()):
        figures["displacement.png"] = render(displacement_figure(distances), "png", _DPI["png"])
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


def corpus_facts(problem: Problem) -> dict[str, Any]:
    """Findings about the corpus, and the version of wordtide."""
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


def report_page(
    facts: Mapping[str, Any],
    summary: Sequence[Row],
    motion: Sequence[Mapping[str, Any]],
    pictures: Mapping[str, bytes],
) -> str:
    """Render the page. `pictures` are PNG files by name."""
    span = f"{facts['first_slice']} to {facts['last_slice']}"
    size = f"{counted(facts['slices'], 'slice')} ({span}), {counted(facts['words'], 'word')}"
    size += f", {facts['pairs']:,.0f} pairs"
    held_out = ", ".join(escape(str(one["label"])) for one in facts["held_out"])
    settings = [{"setting": name, "value": value} for name, value in facts["settings"].items()]
    parts = [
        "<h1>How well each method predicts unseen slices</h1>",
        f"<p>{escape(size)}.</p>",
        f"<p><b>{escape(verdict(summary))}</b></p>",
        _table(summary, TITLES),
        f'<p class="note">{_MEASURE}</p>',
        "<h2>Predictive log-likelihood over time</h2>",
        _image(pictures, "likelihood.png", "Predictive log-likelihood per pair over time, by method"),
        f'<p class="note">{_LINES} Data: scores.csv.</p>',
        "<h2>How words move</h2>",
        _table(
            motion, {name: title.format(**(motion or [{"slices": ""}])[0]) for name, title in _MOTION.items()}
        ),
        _image(pictures, "displacement.png", "Histograms of how far words move, by method"),
        f'<p class="note">{_MOVED} Data: motion.csv, displacements.csv.</p>',
        "<h2>Slices left out</h2>",
        f"<p>{held_out}</p>",
        "<h2>Settings</h2>",
        _table(settings, {"setting": "setting", "value": "value"}),
        f'<p class="note">wordtide {escape(str(facts["wordtide"]))}</p>',
    ]
    head = f'<meta charset="utf-8"><title>wordtide: evaluation</title><style>{_STYLE}</style>'
    body = "\n".join(part for part in parts if part)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _table(rows: Sequence[Mapping[str, Any]], titles: Mapping[str, str]) -> str:
    if not rows:
        return "<p>No word occurs in all of the compared slices.</p>"
    head = "".join(f"<th>{escape(title)}</th>" for title in titles.values())
    lines = ["".join(f"<td>{escape(_shown(row[name], name))}</td>" for name in titles) for row in rows]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"


def _image(pictures: Mapping[str, bytes], name: str, description: str) -> str:
    if name not in pictures:
        return ""
    encoded = base64.b64encode(pictures[name]).decode("ascii")
    return f'<p><img alt="{escape(description)}" src="data:image/png;base64,{encoded}"></p>'


def _shown(value: object, name: str) -> str:
    if value is None:
        return ""
    if name == "value":  # a setting, as typed
        return str(value)
    if isinstance(value, float):
        return f"{value:.1f}" if name == "seconds" else f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
