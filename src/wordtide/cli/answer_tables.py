"""Answers of questions as commands print them: tables on standard output, notes on standard error."""

from collections.abc import Sequence
from typing import Any

import typer
from rich.cells import cell_len, set_cell_size
from rich.table import Table
from rich.text import Text

from wordtide.cli.output import Format, console, print_rows
from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.questions.answers import Answer, shown_date, shown_year
from wordtide.questions.effect import SHOWN_BY_EFFECT, SHOWN_BY_EVIDENCE, VERDICT
from wordtide.questions.story import degrees

#: Columns with float years, which a table shows as dates.
_TIMES = ("time", "since", "until", "halfway_from", "halfway_to")
_DATES = ("date", "date_low", "date_high", "second_date")
#: Columns with cosine distances, and those with several words.
_CHANGES, _WORDS = ("change", "low", "high"), ("from", "to", "near", "other_near")
_SHOWN = 24  # times in a table; with more, it shows evenly spaced ones
_BETWEEN = 4  # columns between the periods of a story
_INFERRED = " *"  # after a word that does not occur near the time


def print_answer(model: Embeddings, answer: Answer, format: Format, remedy: str) -> None:
    """Print an answer. An answer without rows is an error with this remedy."""
    if not len(answer):
        raise SettingsError(" ".join(["There is no word to list.", *answer.notes]), remedy)
    print_notes(answer.notes)
    rows = list(answer.rows())
    if format is Format.table:
        rows = [dated(model, row) for row in rows]
    elif format is Format.json:
        rows = [with_lists(model, row) for row in rows]
    print_rows(rows, format, tuple(answer.columns))


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


def with_lists(model: Embeddings, row: dict[str, Any]) -> dict[str, Any]:
    """A row for JSON, in which several words are a list."""
    return {**row, **{name: _words_of(model, row[name]) for name in _WORDS if name in row}}


def _words_of(model: Embeddings, text: str) -> list[str]:
    """The words of a text that joins them with commas. A word may contain commas itself."""
    words: list[str] = []
    begun = ""
    for part in text.split(", ") if text else []:
        begun = f"{begun}, {part}" if begun else part
        if begun in model.index:
            words.append(begun)
            begun = ""
    return words + ([begun] if begun else [])


def in_degrees(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a table with changes as angles, as `story` states them."""
    return {**row, **{name: degrees(row[name]) for name in _CHANGES if row.get(name) is not None}}


def shown_changes(answer: Answer) -> Answer:
    """The answer of `changed` as a table shows it: the columns of its ranking, with changes as angles."""
    others = tuple(name for name in answer.columns if name not in VERDICT)
    shown = {"effect": SHOWN_BY_EFFECT, "evidence": SHOWN_BY_EVIDENCE}.get(answer.facts["by"], others)
    rows = [in_degrees(row) for row in answer.rows()]
    return Answer({name: [row[name] for row in rows] for name in shown}, answer.notes)


def dated(model: Embeddings, row: dict[str, Any]) -> dict[str, Any]:
    """A row of a table with readable dates and very small probabilities in scientific notation."""
    shown = {
        name: show(model, row[name])
        for names, show in ((_TIMES, shown_year), (_DATES, shown_date))
        for name in names
        if row.get(name) is not None
    }
    if row.get("p_value") is not None and row["p_value"] < 0.001:
        shown["p_value"] = f"{row['p_value']:.1e}"
    return {**row, **shown}


def print_story(model: Embeddings, answer: Answer) -> None:
    """Print the sentence, and below it the neighbors of the three periods, side by side if there is room."""
    out = console()
    out.print(Text(str(answer.facts["sentence"])))
    effect, least = (answer.facts.get(name) for name in ("effect", "effect_low"))
    if effect is not None and least is not None and least > 0:
        out.print(Text(f"effect {effect:.3f} bits per use (at least {least:.3f})", style="dim"))
    rows = list(answer.rows())
    if not rows:
        return
    blocks = [
        _period(model, period, [row for row in rows if row["period"] == period])
        for period in dict.fromkeys(row["period"] for row in rows)
    ]
    widths = [max(map(cell_len, block.plain.splitlines())) for block in blocks]
    if sum(widths) + _BETWEEN * (len(blocks) - 1) <= out.width:
        table = Table.grid(padding=(0, _BETWEEN, 0, 0))
        table.add_row(*blocks)
        out.print(Text(), table, sep="\n")
    else:
        out.print(*(part for block in blocks for part in (Text(), block)), sep="\n")
    if any(row["inferred"] for row in rows):
        out.print(Text(f"{_INFERRED.strip()} inferred: the word does not occur near that time", style="dim"))


def _period(model: Embeddings, period: str, rows: list[dict[str, Any]]) -> Text:
    """The neighbors in one period, each with its similarity and interval."""
    names = [f"{row['word']}{_INFERRED if row['inferred'] else ''}" for row in rows]
    width = max(map(cell_len, names))
    lines = [Text(f"{period} ({shown_year(model, rows[0]['time'])})", style="bold")]
    for name, row in zip(names, rows, strict=True):
        bounds = "" if row["low"] is None else f"  [{row['low']:5.2f}, {row['high']:.2f}]"
        shown = set_cell_size(name, width + 2), "dim" if row["faint"] else ""
        lines.append(Text.assemble(shown, (f"{row['similarity']:.2f}{bounds}", "dim")))
    return Text("\n").join(lines)
