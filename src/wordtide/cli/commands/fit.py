"""`wordtide fit`: from counts to a model."""

import math
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from wordtide.cli.fit_progress import FitProgress
from wordtide.errors import SettingsError, WordtideError
from wordtide.storage.folders import check_writable

Option = typer.Option


class InterruptedFitError(WordtideError):
    """The user pressed Ctrl-C."""

    exit_code = 130


def fit(
    counts: Annotated[Path, typer.Argument(help="A counts folder.")],
    output: Annotated[Path, Option("--output", "-o", help="The model folder to make.")],
    method: Annotated[
        str | None,
        Option(help="smoothing (default), filtering, independent, warm-start or static.", show_default=False),
    ] = None,
    solver: Annotated[
        str | None, Option(help="natural (default), or adam: the paper's own algorithms.")
    ] = None,
    dim: Annotated[int | None, Option(help="Dimensions of a vector. Default: 100.")] = None,
    diffusion: Annotated[
        str | None, Option(help="How far vectors drift: D per year, or auto. Default: 0.001.")
    ] = None,
    prior: Annotated[
        str | None, Option(help="stationary (default), or product: the prior of the paper.")
    ] = None,
    prior_variance: Annotated[
        str | None, Option(help="Variance of a coordinate under the prior, or auto: by --dim. Default: auto.")
    ] = None,
    seed: Annotated[int | None, Option(help="Decides all that is random. Default: 0.")] = None,
    preset: Annotated[
        str | None, Option(help="The paper's settings: paper-sotu, paper-twitter or paper-gbooks.")
    ] = None,
    config: Annotated[Path | None, Option(help="Settings from a TOML file; options given here win.")] = None,
    max_steps: Annotated[
        int | None, Option(help="Most steps: in all for smoothing, per slice otherwise.")
    ] = None,
    tolerance: Annotated[
        float | None, Option(help="Stop when the ELBO changes by less, relatively. Default: 0.0001.")
    ] = None,
    negative_contexts: Annotated[
        int | None,
        Option(help="Contexts drawn for negative pairs; 0: all. Default: 64 or more, as pairs are many."),
    ] = None,
    negative_ratio: Annotated[
        float | None, Option(help="Negative pairs per positive pair. Default: 1.")
    ] = None,
    context_exponent: Annotated[
        float | None, Option(help="Exponent of context frequencies. Default: 0.75.")
    ] = None,
    rate: Annotated[
        float | None, Option(help="Rate of the first natural-gradient step. Default: 0.7.")
    ] = None,
    final_rate: Annotated[float | None, Option(help="Rate of the last one. Default: 0.3.")] = None,
    trust: Annotated[
        float | None, Option(help="A word moves no further than this in a step. Default: 1.")
    ] = None,
    adam_steps: Annotated[
        int | None, Option(help="Filtering by adam: steps per slice. Default: 5000.")
    ] = None,
    adam_rate: Annotated[float | None, Option(help="Adam's learning rate. Default: 0.01.")] = None,
    adam_minibatch_words: Annotated[
        int | None, Option(help="Smoothing by adam: words drawn. Default: 1000.")
    ] = None,
    adam_minibatch_steps: Annotated[
        int | None, Option(help="Smoothing by adam: steps with drawn words. Default: 5000.")
    ] = None,
    adam_full_steps: Annotated[
        int | None, Option(help="Smoothing by adam: steps with all words. Default: 1000.")
    ] = None,
    adam_full_rate: Annotated[
        float | None, Option(help="Adam's learning rate with all words. Default: 0.001.")
    ] = None,
    device: Annotated[str, Option(help="cpu, cuda or mps.")] = "cpu",
    precision: Annotated[str, Option(help="float32 or float64.")] = "float32",
    threads: Annotated[int | None, Option(help="Threads on the CPU. Default: all processors.")] = None,
    checkpoint_every: Annotated[
        float, Option(help="Minutes between checkpoints; 0: after every step.")
    ] = 5.0,
    resume: Annotated[
        bool, Option("--resume", help="Go on from the checkpoint of a fit that was stopped.")
    ] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace the model folder if it exists.")] = False,
    offload: Annotated[
        Path | None,
        Option(help="Keep what smoothing works on in this folder, for models larger than memory. Slower."),
    ] = None,
    process_timeout: Annotated[
        float, Option(help="Under torchrun: minutes to wait for a process that is silent.")
    ] = 10.0,
) -> None:
    """Fit vectors that drift through time to counts.

    On several processes: torchrun --nproc-per-node 2 -m wordtide fit counts/ -o model/

    Example: wordtide fit counts/ -o model/
    """
    from wordtide.embeddings.facts import CHANCE, is_cut_off, weaknesses
    from wordtide.inference.checkpoints import place_of
    from wordtide.inference.fit import fit as fit_counts  # brings PyTorch, which --help must not wait for
    from wordtide.inference.scale.processes import is_first, speaks_for_all

    given: dict[str, Any] = {
        "method": method,
        "solver": solver,
        "dim": dim,
        "diffusion": number_or_auto("--diffusion", diffusion, "0.001"),
        "prior": prior,
        "prior_variance": number_or_auto("--prior-variance", prior_variance, "0.3"),
        "seed": seed,
        "max_steps": max_steps,
        "tolerance": tolerance,
        "negative_contexts": negative_contexts,
        "negative_ratio": negative_ratio,
        "context_exponent": context_exponent,
        "rate": rate,
        "final_rate": final_rate,
        "trust": trust,
        "adam_steps": adam_steps,
        "adam_rate": adam_rate,
        "adam_minibatch_words": adam_minibatch_words,
        "adam_minibatch_steps": adam_minibatch_steps,
        "adam_full_steps": adam_full_steps,
        "adam_full_rate": adam_full_rate,
    }
    started = time.monotonic()
    try:
        model = fit_counts(
            counts,
            output=output,
            overwrite=overwrite,
            preset=preset,
            config=config,
            device=device,
            precision=precision,
            threads=threads,
            checkpoint_every=checkpoint_every,
            resume=resume,
            offload=offload,
            process_timeout=process_timeout,
            observer=FitProgress(),
            **{name: value for name, value in given.items() if value is not None},
        )
    except KeyboardInterrupt:
        if not speaks_for_all():
            raise SystemExit(InterruptedFitError.exit_code) from None
        raise _interrupted(place_of(output)) from None
    except WordtideError as error:
        if not speaks_for_all():
            raise SystemExit(error.exit_code) from None
        raise
    if not is_first():
        return
    stderr = Console(stderr=True, highlight=False, soft_wrap=True)
    elbo = "" if model.elbo != model.elbo else f", ELBO {model.elbo:.4f} per pair"
    predicted = model.fitted.prediction
    if predicted is not None and not math.isnan(predicted):
        elbo += f", {predicted:.4f} for unseen slices (chance {CHANCE:.4f})"
    limit = (
        " (the limit: --max-steps allows more)"
        if is_cut_off(model.curve, model.settings["tolerance"])
        else ""
    )
    stderr.print(
        f"{len(model.curve):,} steps{limit} in {time.monotonic() - started:.1f} s{elbo}", markup=False
    )
    for weakness in weaknesses(model):
        stderr.print(f"warning: {weakness}", markup=False)
    stderr.print(f"written to {model.path}", markup=False)


def _interrupted(checkpoint: Path) -> InterruptedFitError:
    check_writable(checkpoint, overwrite=True)  # puts back a checkpoint that was just being replaced
    if checkpoint.exists():
        return InterruptedFitError("interrupted.", f"Run it again with --resume to go on from {checkpoint}.")
    return InterruptedFitError(
        "interrupted before the first checkpoint; nothing was left.",
        "Run it again; with --checkpoint-every 1 it writes a checkpoint every minute.",
    )


def number_or_auto(option: str, text: str | None, example: str) -> float | str | None:
    """The value of an option that is a number or "auto"."""
    if text is None or text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise SettingsError(
            f"{option} {text!r} is not a number.", f"Give one like {example}, or auto."
        ) from None
