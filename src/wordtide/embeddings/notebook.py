"""Models and answers as HTML for notebooks: what `_repr_html_` returns.

Words, labels and all other text from outside are escaped and isolated, so that they keep their own writing
direction. Styles are inline and use the page's colors, so that they suit light and dark notebooks. There are
no scripts.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape
from numbers import Integral, Real
from typing import Any

import numpy as np

from wordtide.embeddings.sketches import bars, curve, span_of, stretch, whisker
from wordtide.embeddings.states import Embeddings

Columns = Mapping[str, Sequence[Any]]

_MOST_ROWS = 40
_MOST_CURVES = 12
#: Columns whose intervals are drawn.
_MEASURED = ("similarity", "change", "position")
_TIMES = ("time", "since", "until", "halfway_from", "halfway_to")
_SMALL = "opacity:.75;font-size:90%"
_LINE = "1px solid rgba(128,128,128,.35)"
_CELL = f"padding:2px 8px 2px 0;border:0;border-bottom:{_LINE};background:none;vertical-align:middle"
_TABLE = (
    "border-collapse:collapse;font-size:90%;margin:4px 0;border:0;width:auto;background:none;color:inherit"
)


def model_card(model: Embeddings) -> str:
    """A summary of a model: how it was fitted, and how much text there is at each time."""
    rows = {
        "method": f"{model.method} ({model.solver})",
        "slices": f"{len(model):,}, from {model.labels[0]} to {model.labels[-1]}",
        "words": f"{len(model.words):,}; most frequent: {', '.join(_most_frequent(model, 5))}",
        "dimensions": f"{model.dim:,}",
        "diffusion": f"{model.diffusion.constant:.3g} per year",
        "ELBO": "not measured" if math.isnan(model.elbo) else f"{model.elbo:.4f} per pair",
    }
    if model.kind == "point":
        rows["intervals"] = "none: this method has no posterior"
    if model.path is not None:
        rows["folder"] = str(model.path)
    facts = "".join(
        f'<tr><th scope="row" style="{_CELL};text-align:left;font-weight:600">{name}</th>'
        f'<td style="{_CELL};text-align:left">{_text(value)}</td></tr>'
        for name, value in rows.items()
    )
    amounts = model.slice_occurrences
    first, last = (f"{float(model.times[end]):.0f}" for end in (0, -1))
    return _box(
        f'<b>wordtide model</b><table style="{_TABLE}">{facts}</table>{bars(model.times, amounts)}'
        f'<div style="{_SMALL}">Words in each slice, {first} to {last}: {amounts.sum():,.0f} in all.</div>'
    )


def answer_html(columns: Columns, facts: Mapping[str, Any]) -> str:
    """An answer: its sentence, curves if it covers many times, a table with intervals, and its notes."""
    parts = [f'<p style="margin:4px 0"><b>{_text(facts["sentence"])}</b></p>'] if "sentence" in facts else []
    if {"since", "until", "halfway_from", "halfway_to"} <= facts.keys():
        parts.append(
            stretch(*(_number(facts[name]) for name in ("since", "until", "halfway_from", "halfway_to")))
        )
    if "period" in columns:
        parts.append(_periods(columns))
    elif _is_over_time(columns):
        parts.append(_curves(columns))
        parts.append(
            f"<details><summary>{len(columns['time']):,} rows</summary>{table_html(columns)}</details>"
        )
    else:
        parts.append(table_html(columns))
    notes = [note for note in facts.get("notes", ()) if isinstance(note, str)]
    parts.extend(f'<div style="{_SMALL}">Note: {_text(note)}</div>' for note in notes)
    return _box("".join(parts))


def table_html(columns: Columns) -> str:
    """A table with the column names of Python, and each interval drawn. Long tables are cut, with a note."""
    size = len(next(iter(columns.values()), ()))
    cells = {name: _shown(name, list(values[:_MOST_ROWS])) for name, values in columns.items()}
    cells = {name: [_text(value) for value in values] for name, values in cells.items()}
    measured = next(
        (name for name in _MEASURED if name in columns and {"low", "high"} <= columns.keys()), None
    )
    if measured is not None:
        cells = _with_pictures(cells, "high", _whiskers(columns, measured))
    sides = {
        name: "right" if all(isinstance(value, Real | None) for value in columns[name]) else "left"
        for name in columns
    }
    looks = {name: f"{_CELL};text-align:{sides.get(name, 'left')}" for name in cells}
    head = "".join(f'<th scope="col" style="{look}">{_text(name)}</th>' for name, look in looks.items())
    rows = (zip(looks.values(), values, strict=True) for values in zip(*cells.values(), strict=True))
    body = "".join(
        "<tr>" + "".join(f'<td style="{look}">{cell}</td>' for look, cell in row) + "</tr>" for row in rows
    )
    table = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<table style="{_TABLE}">{table}</table>{_left_out(size)}'


def _left_out(rows: int) -> str:
    return f'<div style="{_SMALL}">and {rows - _MOST_ROWS:,} more rows</div>' if rows > _MOST_ROWS else ""


def _whiskers(columns: Columns, measured: str) -> list[str]:
    numbers = [[_number(value) for value in columns[name][:_MOST_ROWS]] for name in ("low", measured, "high")]
    span = span_of(*numbers)
    return [whisker(low, value, high, span) for low, value, high in zip(*numbers, strict=True)]


def _with_pictures(cells: Mapping[str, list[str]], last: str, pictures: list[str]) -> dict[str, list[str]]:
    """The columns, with the pictures of the intervals after the column `last`."""
    columns: dict[str, list[str]] = {}
    for name, values in cells.items():
        columns[name] = values
        if name == last:
            columns[""] = pictures
    return columns


def result_html(sentences: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """The result of an evaluation or a tuning: sentences and a table."""
    summary = "".join(f'<p style="margin:4px 0">{_text(sentence)}</p>' for sentence in sentences)
    return _box(
        summary + table_html({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})
    )


def _periods(columns: Columns) -> str:
    """The neighbors in each period of a story: word, similarity, interval on one scale, and occurrences."""
    if not {"time", "word", "similarity", "low", "high", "occurrences"} <= columns.keys():
        return table_html(columns)
    pictures, years = _whiskers(columns, "similarity"), _shown("time", columns["time"])
    blocks: dict[str, list[str]] = {}
    for row, picture in enumerate(pictures):
        word, seen = _text(columns["word"][row]), _cell(columns["occurrences"][row])
        if "inferred" in columns and columns["inferred"][row]:
            word = f"{word} *"
        if "faint" in columns and columns["faint"][row]:
            word = f'<span style="opacity:.5">{word}</span>'
        similarity = f"{_number(columns['similarity'][row]):.2f}"
        title = f"<b>{_text(columns['period'][row])}</b> {_text(years[row])}"
        blocks.setdefault(title, []).append(
            f'<tr><td style="{_CELL};text-align:left">{word}</td><td style="{_CELL}">{similarity}</td>'
            f'<td style="{_CELL}">{picture}</td><td style="{_CELL};text-align:right">{seen}</td></tr>'
        )
    tables = "".join(
        f'<div style="margin:4px 12px 4px 0">{title}'
        f'<table style="{_TABLE}"><tbody>{"".join(rows)}</tbody></table></div>'
        for title, rows in blocks.items()
    )
    note = "The nearest words: similarity, its 90% interval, how often the word occurs there."
    if any(columns.get("inferred", ())):
        note += " * inferred: the word does not occur near that time."
    beside = f'<div style="display:flex;flex-wrap:wrap;align-items:flex-start">{tables}</div>'
    return f'{beside}{_left_out(len(years))}<div style="{_SMALL}">{note}</div>'


def _is_over_time(columns: Columns) -> bool:
    """Whether the answer is about the same words at several times, which curves show."""
    measured = {"similarity", "position"} & columns.keys()
    named = [columns[name] for name in ("word", "other") if name in columns]
    lines = len(set(zip(*named, strict=True))) if named else 0
    return (
        bool(measured) and {"time", "low", "high"} <= columns.keys() and 0 < lines < len(columns["time"]) / 2
    )


def _curves(columns: Columns) -> str:
    """A curve for each word, or pair of words, all on one scale."""
    measured = "similarity" if "similarity" in columns else "position"
    names = [name for name in ("word", "other") if name in columns]
    lines: dict[tuple[str, ...], list[int]] = {}
    for row, words in enumerate(zip(*(columns[name] for name in names), strict=True)):
        lines.setdefault(words, []).append(row)
    span = span_of(*(map(_number, columns[name]) for name in (measured, "low", "high")))
    low, high = (f"{edge:.2f}" for edge in span)
    blocks = []
    for words, rows in list(lines.items())[:_MOST_CURVES]:
        parts = (
            np.array([_number(columns[name][row]) for row in rows])
            for name in ("time", measured, "low", "high")
        )
        times, values, lows, highs = parts
        ends = " to ".join(f"{time:.0f}" for time in (times[0], times[-1]))
        title = " and ".join(map(_text, words))
        blocks.append(
            f'<div style="margin:4px 28px 4px 0"><b>{title}</b><br>{curve(times, values, lows, highs, span)}'
            f'<div style="{_SMALL}">{ends}; {measured} from {low} to {high}</div></div>'
        )
    left = len(lines) - _MOST_CURVES
    more = f'<div style="{_SMALL}">and {left:,} more curves</div>' if left > 0 else ""
    return f'<div style="display:flex;flex-wrap:wrap">{"".join(blocks)}</div>{more}'


def _shown(name: str, values: Sequence[Any]) -> list[str]:
    """The cells of a column as text."""
    if name in _TIMES and all(isinstance(value, Real) for value in values):
        known = {float(value) for value in values if math.isfinite(value)}
        if len({math.floor(value) for value in known}) == len(known):  # each in a year of its own
            return [f"{math.floor(value)}" if math.isfinite(value) else "" for value in values]
        return [f"{float(value):.2f}" if math.isfinite(value) else "" for value in values]
    return [_cell(value) for value in values]


def _number(value: Any) -> float:
    return float(value) if isinstance(value, Real) else math.nan


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return f"{int(value):,}"
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if math.isnan(number):
            return ""
        return (
            f"{number:.1e}"
            if 0.0 < abs(number) < 0.001
            else f"{number:,.0f}"
            if abs(number) >= 10_000
            else f"{number:.3f}"
        )
    return str(value)


def _text(value: object) -> str:
    """Escape text, and isolate its writing direction."""
    return f"<bdi>{escape(str(value), quote=True)}</bdi>"


def _box(content: str) -> str:
    return f'<div class="wordtide" style="line-height:1.45;overflow-x:auto">{content}</div>'


def _most_frequent(model: Embeddings, top: int) -> list[str]:
    return [model.words[number] for number in np.argsort(-model.total_occurrences, kind="stable")[:top]]
