"""`wordtide tune`: find the settings that predict best."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from wordtide.cli.commands.fit import InterruptedFitError
from wordtide.cli.options import takes
from wordtide.cli.output import Format, print_rows
from wordtide.cli.progress import ProgressBar
from wordtide.counts.settings import CountSettings
from wordtide.inference.settings import FitSettings

Option = typer.Option


@takes(
    FitSettings,
    after="counts",
    only=("dim", "diffusion", "prior_variance", "negative_ratio"),
    prefix="Values separated by commas",
    defaults={"diffusion": "0.0001,0.001,0.01 if no other setting has several values"},
    lists=True,
)
@takes(
    CountSettings,
    after="counts",
    only=("window",),
    prefix="Values separated by commas",
    defaults={"window": "that of the counts; others need --texts"},
    lists=True,
)
def tune(
    counts: Annotated[Path, typer.Argument(help="A counts folder.")],
    texts: Annotated[
        list[str] | None,
        Option(
            help="The texts of the counts, to count them with other windows. Repeat the option for several."
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        Option(help="With --texts: the tokenizer that the counts were made with, if any: module:function."),
    ] = None,
    max_expansion: Annotated[
        int, Option(help="With --texts: largest ratio by which a compressed file may expand.")
    ] = 200,
    method: Annotated[
        str, Option(help="smoothing, filtering, warm-start, independent or static.")
    ] = "smoothing",
    splits: Annotated[
        int | None,
        Option(
            help="Number of random splits into training and held-out slices (smoothing, static). Default: 3.",
            show_default=False,
        ),
    ] = None,
    holdout: Annotated[
        float | None, Option(help="Share of slices held out in each split. Default: 0.1.", show_default=False)
    ] = None,
    seed: Annotated[int, Option(help="Seed of the splits and of the fits.")] = 0,
    threads: Annotated[int | None, Option(help="Threads on the CPU. Default: all processors.")] = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="The folder to make. Default: NAME-tuning beside the counts."),
    ] = None,
    resume: Annotated[
        bool, Option("--resume/--no-resume", help="Reuse the finished fits of the folder.")
    ] = True,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Replace the folder, and its finished fits, if it exists.")
    ] = False,
    format: Annotated[Format, Option(help="table, csv or json.")] = Format.table,
    **grid: Any,
) -> None:
    """Choose settings by how well they predict held-out slices, with standard errors.

    Example: wordtide tune counts/ --diffusion 0.0001,0.001,0.01 --dim 50,100
    """
    from wordtide.evaluation.tuning.combinations import LISTED, varied
    from wordtide.evaluation.tuning.ranking_table import COLUMNS
    from wordtide.evaluation.tuning.tune import tune as tune_counts
    from wordtide.evaluation.tuning.verdict import shown_rows, tuning_verdict

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
