"""`wordtide evaluate`: compare methods by their predictions."""

from pathlib import Path
from typing import Annotated, Any

import typer

from wordtide.cli.commands.fit import InterruptedFitError
from wordtide.cli.options import takes
from wordtide.cli.output import Format, print_rows
from wordtide.cli.progress import ProgressBar
from wordtide.errors import SettingsError
from wordtide.inference.settings import FitSettings

Option = typer.Option
_TABLE = ("method", "mean", "standard_error", "difference", "difference_error", "wins", "slices", "seconds")


@takes(FitSettings, after="holdout", only=("dim", "diffusion", "prior", "prior_variance"))
def evaluate(
    counts: Annotated[Path, typer.Argument(help="A counts folder.")],
    output: Annotated[Path, Option("--output", "-o", help="The report folder to make.")],
    methods: Annotated[
        str,
        Option(help="Methods, separated by commas: smoothing, filtering, warm-start, independent, static."),
    ] = "smoothing,filtering,warm-start,independent",
    holdout: Annotated[float, Option(help="Share of slices held out.")] = 0.1,
    preset: Annotated[
        str | None, Option(help="The paper's settings: paper-sotu, paper-twitter or paper-gbooks.")
    ] = None,
    seed: Annotated[int, Option(help="Seed of the split and of the fits.")] = 0,
    threads: Annotated[int | None, Option(help="Threads on the CPU. Default: all processors.")] = None,
    resume: Annotated[
        bool, Option("--resume/--no-resume", help="Reuse the models of an evaluation that was stopped.")
    ] = True,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Replace the report folder, and its models, if it exists.")
    ] = False,
    format: Annotated[Format, Option(help="table, csv or json.")] = Format.table,
    **settings: Any,
) -> None:
    """Compare methods by how well they predict held-out slices, and write a report.

    Example: wordtide evaluate counts/ -o report/ --holdout 0.1
    """
    from wordtide.evaluation.comparison import COLUMNS, verdict
    from wordtide.evaluation.evaluate import evaluate as evaluate_counts

    chosen = [method.strip() for method in methods.split(",")]
    if not all(chosen):
        raise SettingsError(f"--methods {methods!r} has an empty name.", "Write it like smoothing,filtering.")
    try:
        found = evaluate_counts(
            counts,
            output,
            methods=chosen,
            holdout=holdout,
            seed=seed,
            overwrite=overwrite,
            resume=resume,
            observer=ProgressBar(),
            preset=preset,
            threads=threads,
            **settings,
        )
    except KeyboardInterrupt:
        raise InterruptedFitError(
            "interrupted.", "Finished models are kept: run the command again to resume."
        ) from None
    if format is Format.table:
        print_rows([{**row, "seconds": _rounded(row["seconds"])} for row in found.summary], format, _TABLE)
        typer.echo(verdict(found.summary), err=True)
    else:
        print_rows(found.summary, format, COLUMNS)
    typer.echo(f"written to {found.path / 'report.html'}", err=True)


def _rounded(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds)
