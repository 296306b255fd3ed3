"""How fast to step, and when to stop."""

from dataclasses import dataclass

_FALL = 0.05  # share of the ELBO; the noise of a few sampled contexts stays well below


@dataclass(frozen=True)
class Schedule:
    """At most `steps` steps whose rate falls evenly from `rate` to `final_rate`, so that sampling noise is averaged out.

    The ELBO is measured every `measure_every` steps and at the end; the fit stops when two measurements differ by less than
    `tolerance` times their size.
    """

    steps: int
    rate: float
    final_rate: float
    tolerance: float
    measure_every: int = 4

    def rate_at(self, step: int) -> float:
        """The rate of a step, counted from 0."""
        return self.rate + (self.final_rate - self.rate) * step / max(1, self.steps - 1)

    def is_measured(self, done: int) -> bool:
        """Is the ELBO measured after this many steps?"""
        return done % self.measure_every == 0 or done == self.steps

    def is_falling(self, elbo: float, before: float | None) -> bool:
        """Has the ELBO fallen by more than noise explains? Then steps are too long."""
        return before is not None and elbo < before - _FALL * abs(before)

    def is_over(self, done: int, elbo: float, before: float | None) -> bool:
        """Is the fit finished after this many steps, with this ELBO and the one measured before?"""
        if done >= self.steps:
            return True
        return before is not None and abs(elbo - before) <= self.tolerance * abs(elbo)
