"""What a solver tells the loop that drives it: a report after each step, or that the fit diverged."""

from dataclasses import dataclass

from wordtide.errors import WordtideError


@dataclass(frozen=True)
class Report:
    """One step of optimisation. `step` counts from 1 over the whole fit; `slice` is None where all slices move together.

    `elbo` is an estimate of the evidence lower bound per pair (NaN where it was not measured), `rate` the learning rate,
    `note` what else the user should know of the step.
    """

    step: int
    slice: int | None
    elbo: float
    rate: float
    note: str = ""


class Diverged(WordtideError):  # noqa: N818 - an event the training loop handles, an error only if it recurs
    """Numbers are no longer finite, or the ELBO falls; `slice` is the first slice where, if known."""

    def __init__(self, slice: int | None) -> None:
        where = "" if slice is None else f" at slice {slice}"
        super().__init__(
            f"The fit diverges{where}: its numbers are not finite, or its ELBO falls.",
            "Fit again with a smaller learning rate.",
        )
        self.slice = slice
