"""`wordtide evaluate` and `wordtide tune`: methods and settings compared by their predictions."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from wordtide.cli.commands.fit import InterruptedFitError
from wordtide.cli.options import CountsFolder, OutputFormat, Preset, Threads, takes
from wordtide.cli.output import Format, ProgressBar, print_rows
from wordtide.counts.settings import CountSettings
from wordtide.errors import SettingsError
from wordtide.inference.settings import FitSettings

Option = typer.Option
_TABLE = ("method", "mean", "standard_error", "difference", "difference_error", "wins", "slices", "seconds")


@takes(FitSettings, after="holdout", only=("dim", "diffusion", "prior", "prior_variance"))
def evaluate(
    counts: CountsFolder,
    output: Annotated[Path, Option("--output", "-o", help="The report folder to create.")],
    methods: Annotated[
        str,
        Option(help="Methods, separated by commas: smoothing, filtering, warm-start, independent, static."),
    ] = "smoothing,filtering,warm-start,independent",
    holdout: Annotated[float, Option(help="Share of slices held out.")] = 0.1,
    preset: Preset = None,
    seed: Annotated[int, Option(help="Seed of the split and of the fits.")] = 0,
    threads: Threads = None,
    resume: Annotated[
        bool, Option("--resume/--no-resume", help="Reuse the models of a stopped evaluation.")
    ] = True,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Replace the report folder and its models.")
    ] = False,
    format: OutputFormat = Format.table,
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


@takes(
    FitSettings,
    after="counts",
    only=("dim", "diffusion", "prior_variance", "negative_ratio"),
    prefix="List",
    defaults={"diffusion": "0.0001,0.001,0.01 if no other setting has several values"},
    lists=True,
)
@takes(
    CountSettings,
    after="counts",
    only=("window",),
    prefix="List",
    defaults={"window": "that of the counts; others need --texts"},
    lists=True,
)
def tune(
    counts: CountsFolder,
    texts: Annotated[
        list[str] | None,
        Option(help="The texts of the counts, to count them with other windows. Repeatable."),
    ] = None,
    tokenizer: Annotated[
        str | None,
        Option(help="With --texts: the tokenizer of the counts, if any, as module:function."),
    ] = None,
    max_expansion: Annotated[
        int, Option(help="With --texts: maximum expansion ratio of compressed files.")
    ] = 200,
    method: Annotated[
        str, Option(help="smoothing, filtering, warm-start, independent or static.")
    ] = "smoothing",
    splits: Annotated[
        int | None,
        Option(
            help="Random splits to average over (smoothing, static). Default: 3.",
            show_default=False,
        ),
    ] = None,
    holdout: Annotated[
        float | None, Option(help="Share of slices held out per split. Default: 0.1.", show_default=False)
    ] = None,
    seed: Annotated[int, Option(help="Seed of the splits and of the fits.")] = 0,
    threads: Threads = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="The folder to create. Default: NAME-tuning beside the counts."),
    ] = None,
    resume: Annotated[
        bool, Option("--resume/--no-resume", help="Reuse the finished fits of the folder.")
    ] = True,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Replace the folder and its finished fits.")
    ] = False,
    format: OutputFormat = Format.table,
    **grid: Any,
) -> None:
    """Choose settings by how well they predict held-out slices, with standard errors.

    Separate the values of a list by commas; every combination is fitted.

    Example: wordtide tune counts/ --diffusion 0.0001,0.001,0.01 --dim 50,100
    """
    from wordtide.evaluation.tuning.ranking import COLUMNS, shown_rows, tuning_verdict
    from wordtide.evaluation.tuning.search_space import LISTED, varied
    from wordtide.evaluation.tuning.tune import tune as tune_counts

    try:
        found = tune_counts(
            counts,
            _beside(counts) if output is None else output,
            grid=grid,
            method=method,
            splits=splits,
            holdout=holdout,
            seed=seed,
            texts=texts or None,
            tokenizer=tokenizer,
            max_expansion=max_expansion,
            overwrite=overwrite,
            resume=resume,
            observer=ProgressBar(),
            count_observer=ProgressBar(),
            threads=threads,
        )
    except KeyboardInterrupt:
        raise InterruptedFitError(
            "interrupted.", "Finished fits are kept: run the command again to resume."
        ) from None
    if format is Format.table:
        settings = varied(found.grid) or ["diffusion", "dim"]
        print_rows(shown_rows(found.summary, settings), format, (*settings, *COLUMNS[len(LISTED) :]))
        for sentence in tuning_verdict(found):
            typer.echo(sentence, err=True)
    else:
        print_rows(found.summary, format, COLUMNS)
    typer.echo(f"written to {found.path}", err=True)


def _beside(counts: Path) -> Path:
    """The default output folder."""
    place = counts if counts.name else Path(os.path.realpath(counts))
    return place.with_name(f"{place.name}-tuning")
