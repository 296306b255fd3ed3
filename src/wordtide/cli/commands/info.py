"""`wordtide info` and `wordtide examples`: the content of a counts or model folder, and words in context."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.text import Text

from wordtide.api import DynamicEmbeddings
from wordtide.cli.options import OutputFormat
from wordtide.cli.output import Format, console, print_json, print_rows
from wordtide.counts.counts import KIND as COUNTS
from wordtide.counts.counts import Counts
from wordtide.counts.examples.concordance import Example
from wordtide.counts.settings import CountSettings
from wordtide.embeddings.folder import KIND as MODEL
from wordtide.embeddings.posterior import Posterior
from wordtide.embeddings.states import Embeddings
from wordtide.errors import FolderError, SettingsError
from wordtide.inference.settings import FitSettings
from wordtide.questions.answers import plain
from wordtide.spelling import counted
from wordtide.storage.cells import spelled_out
from wordtide.storage.header import kind_of

_COLUMNS = ("slice", "time", "date", "documents", "tokens", "in_vocabulary", "active_words", "pairs")
_SHOWN = 24  # rows of the table before the middle is left out
_LIVE = 1e-4  # the second moment on an axis that the fit uses, at least, as a share of the largest


def info(
    folder: Annotated[Path, typer.Argument(help="A counts or model folder.")],
    format: OutputFormat = Format.table,
    all_slices: Annotated[bool, typer.Option("--all", help="Show every slice in the table.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Verify all checksums first.")] = False,
    arrivals: Annotated[
        bool,
        typer.Option("--arrivals", help="Models: list words admitted by updates, and when."),
    ] = False,
) -> None:
    """Show what a counts or model folder contains.

    Example: wordtide info counts/
    """
    kind = kind_of(folder)
    if arrivals and kind != MODEL:
        raise SettingsError("--arrivals is for models.", "Give a model folder.")
    if arrivals:
        _print_arrivals(DynamicEmbeddings.load(folder, check=check), format)
    elif kind == MODEL:
        _print_model(DynamicEmbeddings.load(folder, check=check), format, all_slices)
    elif kind not in (None, COUNTS):
        raise FolderError(
            f"{folder} is a folder of kind {kind}, which info does not show.",
            "Give a counts or model folder.",
        )
    else:
        counts = Counts.load(folder, check=check)
        facts = {**_facts(counts), "settings": counts.settings.as_json()}
        _print(facts, CountSettings().as_json(), _slices(counts), _COLUMNS, format, all_slices)


def _print_model(model: DynamicEmbeddings, format: Format, all_slices: bool) -> None:
    facts = {**model_facts(model), "settings": model.settings}
    last = {row["slice"]: row["elbo"] for row in model.curve if row["elbo"] is not None}
    rows = [
        {
            "slice": label,
            "time": float(time),
            "words": int(np.count_nonzero(model.fitted.occurrences.of_slice(t))),
            "knots": int(np.count_nonzero(model.fitted.posterior.knots.slices == t)),
            "elbo": last.get(t),
        }
        for t, (label, time) in enumerate(zip(model.labels, model.times, strict=True))
    ]
    columns = ["slice", "time", "words", "knots", "elbo"]
    if model.fitted.arrivals is not None:
        came = np.bincount(model.fitted.arrivals, minlength=len(model)).tolist()
        came[0] = 0  # words of the first slice were there
        rows = [{**row, "new_words": came[t]} for t, row in enumerate(rows)]
        columns.append("new_words")
    if format is Format.table and not last.keys() - {None}:  # measured over all slices together
        columns.remove("elbo")
    _print(facts, FitSettings().as_json(), rows, columns, format, all_slices)


def model_facts(model: Embeddings) -> dict[str, Any]:
    """The facts about a model. Unknown values are None."""
    return {
        "path": str(model.path),
        "method": model.method,
        "solver": model.solver,
        "kind": model.kind,
        "contexts": model.fitted.posterior.contexts,
        "slice_count": len(model),
        "first": model.labels[0],
        "last": model.labels[-1],
        "words": len(model.words),
        "admitted_words": len(model.arrivals) or None,
        "dim": model.dim,
        "knots": len(model.fitted.posterior.knots),
        "diffusion": model.diffusion.constant,
        "prior": model.diffusion.name,
        "prior_variance": model.diffusion.prior_variance,
        "elbo": plain(model.elbo),
        "prediction": plain(model.fitted.prediction),
        "static_prediction": plain(model.fitted.static_prediction),
        "steps": len(model.curve),
        "live_axes": _live_axes(model.fitted.posterior),
    }


def _live_axes(posterior: Posterior) -> int:
    """The number of principal axes whose second moment of the means exceeds `_LIVE` of the largest."""
    second_moment = np.zeros((posterior.dim, posterior.dim))
    for name in (f"mean_{side}" for side in posterior.sides):
        for piece in posterior.pieces(name):
            second_moment += piece.T @ piece
    moments = np.linalg.eigvalsh(second_moment)
    return int(np.count_nonzero(moments > _LIVE * moments[-1]))


def _print_arrivals(model: DynamicEmbeddings, format: Format) -> None:
    columns = ("word", "slice", "time", "occurrences")
    rows = [
        {
            "word": word,
            "slice": label,
            "time": float(model.times[model.fitted.arrivals[model.index[word]]]),
            "occurrences": model.total_occurrences[model.index[word]].item(),
        }
        for word, label in model.arrivals.items()
        if model.fitted.arrivals is not None
    ]
    if not rows and format is Format.table:
        console().print("No words were admitted by updates.")
    else:
        print_rows(rows, format, columns)


def _print(
    facts: dict[str, Any],
    defaults: dict[str, Any],
    slices: list[dict[str, Any]],
    columns: Sequence[str],
    format: Format,
    all_slices: bool,
) -> None:
    """Print facts, the last of which are the settings, and a row per slice."""
    if format is Format.json:
        print_json({**facts, "slices": slices})
        return
    rows = [{name: "" if value is None else value for name, value in row.items()} for row in slices]
    if format is Format.csv:
        print_rows(rows, format, columns)
        return
    out, settings = console(), facts.pop("settings")
    for name, value in facts.items():
        if value is not None:
            out.print(_fact_line(name.replace("_", " "), _shown_fact(value)))
    changed = (f"{k}={v}" for k, v in settings.items() if k not in defaults or v != defaults[k])
    out.print(_fact_line("settings", "  ".join(changed) or "defaults"))
    out.print()
    cut = len(rows) - _SHOWN if len(rows) > _SHOWN and not all_slices else 0
    half = _SHOWN // 2
    print_rows([*rows[:half], *rows[half + cut :]] if cut else rows, format, columns)
    if cut:
        out.print(f"({counted(cut, 'slice')} after the first {half} not shown; --all shows every slice)")


def _fact_line(name: str, value: str) -> Text:
    return Text.assemble((f"{name:22}", "bold"), spelled_out(value))


def _shown_fact(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{number:,} ({reason})" for reason, number in value.items()) or "0"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _facts(counts: Counts) -> dict[str, Any]:
    summary = counts.summary
    return {
        "path": str(counts.path),
        "slice_count": len(counts),
        "first": counts.shown_dates()[0],
        "last": counts.shown_dates()[-1],
        "words": len(counts.words),
        "distinct_words": summary.distinct_words,
        "documents": summary.documents,
        "tokens": summary.tokens,
        "coverage": summary.tokens_in_vocabulary / max(1, summary.tokens),
        "window": counts.window,
        "pairs": int(counts.stored_pairs().sum()),
        "groups": {name: group.summary.tokens for name, group in counts.groups.items()} or None,
        "skipped": summary.skipped,
    }


def _slices(counts: Counts) -> list[dict[str, Any]]:
    columns = (
        counts.labels,
        counts.times.tolist(),
        counts.shown_dates(),
        counts.slices.documents.tolist(),
        counts.tokens.tolist(),
        [int(number) if number.is_integer() else float(number) for number in counts.tokens_in_vocabulary()],
        counts.active_words().tolist(),
        counts.stored_pairs().tolist(),
    )
    return [dict(zip(_COLUMNS, values, strict=True)) for values in zip(*columns, strict=True)]


def examples(
    folder: Annotated[Path, typer.Argument(help="A counts folder made with --examples.")],
    word: Annotated[str, typer.Argument(help="A word of the vocabulary.")],
    at: Annotated[
        str | None,
        typer.Option(help="A date, such as 1850 or 1862-12. Default: all slices."),
    ] = None,
    format: OutputFormat = Format.table,
) -> None:
    """Show a word in context: sentences that were kept while counting.

    Example: wordtide examples counts/ energy --at 1850
    """
    counts = Counts.load(folder)
    found = counts.examples(word, at)
    if format is not Format.table:
        names = [name for name in Example.__dataclass_fields__ if name != "group" or counts.groups]
        print_rows([{name: getattr(one, name) for name in names} for one in found], format, tuple(names))
        return
    if not found:
        typer.echo(found.why_empty, err=True)
    _print_in_context(found)


def _print_in_context(found: list[Example]) -> None:
    """Print one sentence per line, with the word in the middle of the line."""
    out = console()
    margin = 12
    side = max(16, (min(out.width, 160) - margin - 18) // 2)
    for example in found:
        before, after = spelled_out(example.before), spelled_out(example.after)
        before = before if len(before) <= side else "…" + before[-side + 1 :]
        after = after if len(after) <= side else after[: side - 1] + "…"
        word = (spelled_out(example.word), "bold")
        line = Text.assemble((f"{example.date:{margin}}", "dim"), f"{before:>{side}}", word, after)
        out.print(line, no_wrap=True, crop=False, overflow="ignore")
        source = ", ".join(filter(None, (example.document, example.group)))
        out.print(Text(f"{'':{margin}}{spelled_out(source)}", "dim italic"), no_wrap=True)
