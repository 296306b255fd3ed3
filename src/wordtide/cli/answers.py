"""Answers to questions: tables on standard output, notes on standard error."""

from collections.abc import Sequence
from typing import Any

import typer

from wordtide.cli.output import Format, print_rows
from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.questions.answers import Answer
from wordtide.questions.asking import shown_year

#: Columns with float years, which a table shows as dates.
_DATES = ("time", "since", "until", "halfway_from", "halfway_to")
_SHOWN = 24  # times of a table before it is thinned


def print_answer(model: Embeddings, answer: Answer, format: Format, remedy: str) -> None:
    """Print an answer. An answer without rows is an error with this remedy."""
    if not len(answer):
        raise SettingsError(" ".join(["There is no word to list.", *answer.notes]), remedy)
    print_notes(answer.notes)
    rows = list(answer.rows())
    print_rows(
        [dated(model, row) for row in rows] if format is Format.table else rows, format, tuple(answer.columns)
    )


def print_curves(model: Embeddings, answer: Answer, format: Format, all_times: bool) -> None:
    """Print an answer over time. A table shows some evenly spaced times unless all are wanted."""
    if format is not Format.table or all_times:
        print_answer(model, answer, format, "Ask for other times.")
        return
    times = sorted(set(answer.columns["time"]))
    step = (len(times) - 1) / (_SHOWN - 1)
    kept = set(times) if len(times) <= _SHOWN else {times[round(k * step)] for k in range(_SHOWN)}
    places = [place for place, time in enumerate(answer.columns["time"]) if time in kept]
    thinned = {name: [values[place] for place in places] for name, values in answer.columns.items()}
    print_answer(model, Answer(thinned, answer.notes), format, "Ask for other times.")
    if len(kept) < len(times):
        typer.echo(
            f"({len(kept)} of {len(times)} times are shown; --all shows all, as do csv and json)", err=True
        )


def print_notes(notes: Sequence[str]) -> None:
    """Print notes on an answer to standard error."""
    for note in notes:
        typer.echo(f"note: {note}", err=True)


def dated(model: Embeddings, row: dict[str, Any]) -> dict[str, Any]:
    """A row of a table with readable dates and very small probabilities in scientific notation."""
    shown = {name: shown_year(model, row[name]) for name in _DATES if row.get(name) is not None}
    if row.get("p_value") is not None and row["p_value"] < 0.001:
        shown["p_value"] = f"{row['p_value']:.1e}"
    return {**row, **shown}
