"""Natural solvers in memory with exact sums, unless a test asks for something else."""

from wordtide.inference.natural.filtering import SequentialSolver
from wordtide.inference.natural.prepared_slice import SliceWork
from wordtide.inference.natural.schedule import NaturalOptions
from wordtide.inference.natural.smoothing import SmoothingSolver
from wordtide.inference.scale.in_memory import Start, StatesInMemory


def smoother(problem, diffusion, start, schedule, computing, signs=None, **options):
    """A smoother that starts from vectors (sides, L, d)."""
    options = {"sample_size": None} | options
    chosen = NaturalOptions(start.shape[-1], schedule, tied=signs is not None, **options)
    work = SliceWork(problem.slices, chosen, signs, computing)
    states = StatesInMemory(problem.knots, diffusion, Start(start, signs), work, computing)
    return SmoothingSolver(states, chosen)


def sides_of(solver):
    """The trajectories of words and contexts in a smoother, or of both if they are tied."""
    return solver.states.block.sides


def sequential(problem, diffusion, dim, schedule, computing, **options):
    """A filter, or one of the baselines."""
    chosen = NaturalOptions(dim, schedule, **({"sample_size": None} | options))
    return SequentialSolver(problem, diffusion, chosen, computing)


def finish(solver):
    """All reports until the fit is over."""
    return list(iter(solver.advance, None))
