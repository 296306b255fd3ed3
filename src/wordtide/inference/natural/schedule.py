"""The learning-rate schedule, stopping rule and other options of a natural-gradient fit."""

from dataclasses import dataclass

from wordtide.inference.natural.negatives import AUTO

_FALL = 0.05  # fraction of the ELBO; sampling noise stays well below it


@dataclass(frozen=True)
class Schedule:
    """At most `steps` steps, with a rate that decreases linearly from `rate` to `final_rate`.

    The decrease averages out sampling noise. The ELBO is measured every `measure_every` steps from
    `measure_from` on, and at the end; the fit stops when two measurements differ by less than `tolerance`
    times their size.
    """

    steps: int
    rate: float
    final_rate: float
    tolerance: float
    measure_every: int = 4
    measure_from: int = 0

    def rate_at(self, step: int) -> float:
        """Return the rate of a step, counted from 0."""
        return self.rate + (self.final_rate - self.rate) * step / max(1, self.steps - 1)

    def is_measured(self, done: int) -> bool:
        """Return whether the ELBO is measured after `done` steps."""
        return (done >= self.measure_from and done % self.measure_every == 0) or done == self.steps

    def is_falling(self, elbo: float, before: float | None) -> bool:
        """Return whether the ELBO has fallen by more than noise explains: the steps are too long."""
        return before is not None and elbo < before - _FALL * abs(before)

    def is_over(self, done: int, elbo: float, before: float | None) -> bool:
        """Return whether the fit ends after `done` steps, given this ELBO and the previous one."""
        if done >= self.steps:
            return True
        return before is not None and abs(elbo - before) <= self.tolerance * abs(elbo)


@dataclass(frozen=True)
class NaturalOptions:
    """The options of a natural-gradient fit, apart from the problem and its prior.

    Attributes:
        dim: The dimension d of the vectors.
        schedule: Steps and rates.
        first_steps: Steps of the first slice of a sequential method, which starts from nothing; None: like
            the others.
        method: "filtering" (also for a static model: one slice), "warm-start" or "independent".
        tied: Words and contexts share their vectors: x_ij = u_i . S u_j with S = diag(+-1).
        sample_size: Columns drawn for the negative pairs; None: all of them; AUTO: a number that suits the
            slice.
        trust: The longest step of a vector.
        seed: The seed of all random numbers.
    """

    dim: int
    schedule: Schedule
    first_steps: int | None = None
    method: str = "filtering"
    tied: bool = False
    sample_size: int | None = AUTO
    trust: float = 1.0
    seed: int = 0

    @property
    def sides(self) -> int:
        """The number of kinds of vectors: words and contexts, or a single one if contexts are tied."""
        return 1 if self.tied else 2
