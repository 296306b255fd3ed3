"""`wordtide fit`: fit a model to counts."""

import math
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordtide.cli.options import CountsFolder, Preset, Scheduler, Threads, takes
from wordtide.cli.output import ProgressBar, say
from wordtide.errors import WordtideError
from wordtide.inference.settings import FitSettings
from wordtide.spelling import counted
from wordtide.storage.folders import check_writable

if TYPE_CHECKING:
    from wordtide.embeddings.states import Embeddings

Option = typer.Option
#: What vectors of length zero predict: positive and negative pairs are equally likely.
CHANCE = -math.log(2.0)
_NOTICEABLE = 0.002  # per pair; smaller differences are within the approximation error


class InterruptedFitError(WordtideError):
    """The user pressed Ctrl-C."""

    exit_code = 130


@takes(FitSettings, after="output")
def fit(
    counts: CountsFolder,
    output: Annotated[Path, Option("--output", "-o", help="The model folder to create.")],
    preset: Preset = None,
    config: Annotated[
        Path | None, Option(help="A TOML file with settings; command-line options take precedence.")
    ] = None,
    precision: Annotated[str, Option(help="float32 or float64.")] = "float32",
    threads: Threads = None,
    checkpoint_every: Annotated[
        float, Option(help="Minutes between checkpoints; 0 saves one after every step.")
    ] = 5.0,
    resume: Annotated[
        bool, Option("--resume", help="Continue from the checkpoint of a stopped fit.")
    ] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace the model folder if it exists.")] = False,
    offload: Annotated[
        Path | None,
        Option(help="Smoothing: keep states in this folder, for models larger than memory."),
    ] = None,
    scheduler: Scheduler = None,
    work: Annotated[
        Path | None,
        Option(help="With --scheduler: scratch folder that all workers see. Default: beside the output."),
    ] = None,
    **settings: Any,
) -> None:
    """Fit word vectors that drift through time, from counts.

    Example: wordtide fit counts/ -o model/
    """
    from wordtide.inference.checkpoints import checkpoint_path
    from wordtide.inference.fit import fit as fit_counts  # loads the compiler, which --help does not need

    started = time.monotonic()
    try:
        model = fit_counts(
            counts,
            output=output,
            overwrite=overwrite,
            preset=preset,
            config=config,
            precision=precision,
            threads=threads,
            checkpoint_every=checkpoint_every,
            resume=resume,
            offload=offload,
            scheduler=scheduler,
            work=work,
            observer=ProgressBar(),
            **settings,
        )
    except KeyboardInterrupt:
        raise _interrupted(checkpoint_path(output)) from None
    elbo = "" if model.elbo != model.elbo else f", ELBO {model.elbo:.4f} per pair"
    predicted = model.fitted.prediction
    if predicted is not None and not math.isnan(predicted):
        elbo += f", {predicted:.4f} for unseen slices (chance {CHANCE:.4f})"
    cut_off = is_cut_off(model.curve, model.settings["tolerance"])
    limit = " (the limit; raise it with --max-steps)" if cut_off else ""
    say(
        f"{counted(len(model.curve), 'step')}{limit} in {time.monotonic() - started:.1f} s{elbo}",
        *(f"warning: {weakness}" for weakness in weaknesses(model)),
        f"written to {output}",
    )


def weaknesses(model: "Embeddings") -> list[str]:
    """Reasons why a fit is poor, with advice, judged by how well it predicts slices it has not seen."""
    found, static = model.fitted.prediction, model.fitted.static_prediction
    if found is None or math.isnan(found):
        return []
    if found < CHANCE:
        return [
            f"This model predicts unseen slices worse than chance ({found:.3f} per pair; "
            f"chance is {CHANCE:.3f}). Count with longer slices (--every) or fewer words "
            "(--vocabulary-size), or fit with a lower --dim."
        ]
    if static is not None and found < static - _NOTICEABLE:  # false for NaN
        return [
            f"Static vectors would predict unseen slices better ({static:.3f} per pair; "
            f"this model {found:.3f}). Fit with --diffusion auto, or with a smaller --diffusion."
        ]
    return []


def is_cut_off(curve: Sequence[Mapping[str, Any]], tolerance: float) -> bool:
    """Whether any ELBO reached the limit of steps before it settled within the tolerance."""
    last: dict[Any, list[float]] = {}
    for row in curve:
        if row["elbo"] is not None:
            last.setdefault(row["slice"], []).append(row["elbo"])
    return any(
        len(elbos) < 2 or abs(elbos[-1] - elbos[-2]) > tolerance * abs(elbos[-1]) for elbos in last.values()
    )


def _interrupted(checkpoint: Path) -> InterruptedFitError:
    check_writable(checkpoint, overwrite=True)  # restores a checkpoint that was being replaced
    typed = [argument for argument in sys.argv[1:] if argument != "--resume"]
    if checkpoint.exists():
        again = shlex.join(["wordtide", *typed, "--resume"])
        return InterruptedFitError(
            f"interrupted; {checkpoint} holds what is done.", f"Continue with: {again}"
        )
    return InterruptedFitError(
        "interrupted before the first step; nothing was saved.",
        f"Start again with: {shlex.join(['wordtide', *typed])}",
    )
