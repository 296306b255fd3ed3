"""`wordtide tune`: which settings predict best."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from wordtide.cli.commands.fit import InterruptedFitError
from wordtide.cli.fit_progress import FitProgress
from wordtide.cli.output import Format, print_rows
from wordtide.cli.progress import ProgressBar

Option = typer.Option


def tune(
    counts: Annotated[Path, typer.Argument(help="A counts folder.")],
    diffusion: Annotated[
        str | None,
        Option(help="Values of D with commas between. Default: 0.0001,0.001,0.01 if nothing else is listed."),
    ] = None,
    dim: Annotated[str | None, Option(help="Dimensions of a vector: 50,100. Default: 100.")] = None,
    prior_variance: Annotated[
        str | None, Option(help="Variances of the prior: 0.2,0.5,auto. Default: auto.")
    ] = None,
    negative_ratio: Annotated[
        str | None, Option(help="Negative pairs per positive pair: 1,5. Default: 1.")
    ] = None,
    window: Annotated[
        str | None, Option(help="Windows: 2,4,8; needs --texts. Default: that of the counts.")
    ] = None,
    texts: Annotated[
        list[str] | None,
        Option(help="What the counts were made from, to count it with other windows. May be repeated."),
    ] = None,
    tokenizer: Annotated[
        str | None, Option(help="With --texts, if the counts were made with one: module:function.")
    ] = None,
    max_expansion: Annotated[
        int, Option(help="With --texts: how many times longer a compressed file may become when it is read.")
    ] = 200,
    method: Annotated[
        str, Option(help="smoothing, filtering, warm-start, independent or static.")
    ] = "smoothing",
    splits: Annotated[
        int | None,
        Option(help="How often slices are left out (smoothing, static). Default: 3.", show_default=False),
    ] = None,
    holdout: Annotated[
        float | None, Option(help="The share of slices left out each time. Default: 0.1.", show_default=False)
    ] = None,
    seed: Annotated[
        int, Option(help="Decides which slices are left out, and all that is random in the fits.")
    ] = 0,
    threads: Annotated[int | None, Option(help="Threads on the CPU. Default: all processors.")] = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="The folder to make. Default: beside the counts, NAME-tuning."),
    ] = None,
    resume: Annotated[
        bool, Option("--resume/--no-resume", help="Go on with the finished fits of the folder.")
    ] = True,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Replace the folder, and its finished fits, if it exists.")
    ] = False,
    format: Annotated[Format, Option(help="How the table is printed.")] = Format.table,
) -> None:
    """Choose settings by how well they predict slices left out, with standard errors.

    Example: wordtide tune counts/ --diffusion 0.0001,0.001,0.01 --dim 50,100
    """
    from wordtide.evaluation.tuning.combinations import LISTED, varied
    from wordtide.evaluation.tuning.ranking_table import COLUMNS
    from wordtide.evaluation.tuning.tune import tune as tune_counts  # brings PyTorch and matplotlib
    from wordtide.evaluation.tuning.verdict import shown_rows, tuning_verdict

    given = {
        "diffusion": diffusion,
        "dim": dim,
        "prior_variance": prior_variance,
        "negative_ratio": negative_ratio,
        "window": window,
    }
    try:
        found = tune_counts(
            counts,
            _beside(counts) if output is None else output,
            grid={name: _values(text) for name, text in given.items() if text is not None},
            method=method,
            splits=splits,
            holdout=holdout,
            seed=seed,
            texts=texts or None,
            tokenizer=tokenizer,
            max_expansion=max_expansion,
            overwrite=overwrite,
            resume=resume,
            observer=FitProgress(),
            count_observer=ProgressBar(),
            threads=threads,
        )
    except KeyboardInterrupt:
        raise InterruptedFitError(
            "interrupted.", "Finished fits are kept: run it again to go on with them."
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
    """The folder for what is found, named by the counts."""
    place = counts if counts.name else Path(os.path.realpath(counts))
    return place.with_name(f"{place.name}-tuning")


def _values(text: str) -> list[Any]:
    """The values of a list as typed; what is not a number stays as it is, to be refused with its name."""
    return [_value(part.strip()) for part in text.split(",")]


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
