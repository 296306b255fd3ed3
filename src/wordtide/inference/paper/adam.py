"""What both Adam solvers share: noise that depends only on where it is used, and steps taken from torch's Adam."""

import numpy as np
import torch
from torch import Tensor

from wordtide.inference.paper.grid import taken


def noise_generator(device: torch.device, *place: int) -> torch.Generator:
    """A generator that depends on `place` (seed, slice, step) alone: a resumed run needs no memory of past draws."""
    # The numbers are mixed first: torch seeds its generator with the lower 32 bits, and near seeds give like streams.
    mixed = int(np.random.SeedSequence([number % 2**64 for number in place]).generate_state(1, np.uint32)[0])
    return torch.Generator(device).manual_seed(mixed)


class AdamSteps:
    """Turns gradients into the update steps d[.] of Algorithm 2, for words drawn from a vocabulary.

    Mirror ascent needs the step itself, not the moved parameter. So torch's Adam acts on a tensor of zeros, and what it leaves
    there is d[.]. In a minibatch only the drawn words' moments are read and moved, while the count of steps, which corrects
    the moments' bias, runs on for all: as in torch.optim.SparseAdam, but with the regulariser where Adam's paper has it.
    """

    def __init__(self, like: Tensor, betas: tuple[float, float], epsilon: float) -> None:
        self.betas = betas
        self.epsilon = epsilon
        self.first = torch.zeros_like(like)  # moment estimates, (T, words, d)
        self.second = torch.zeros_like(like)

    def step(self, gradient: Tensor, rows: Tensor | None, rate: float, count: int) -> Tensor:
        """d[.] for a gradient (T, n, d) of the words `rows` (n,), or of all; `count` steps were taken before."""
        step = torch.zeros_like(gradient)
        if gradient.numel() == 0:
            return step
        first = taken(self.first, rows)
        second = taken(self.second, rows)
        adam = torch.optim.Adam(
            [step], lr=rate, betas=self.betas, eps=self.epsilon, maximize=True, fused=True
        )
        adam.state[step] = adam_state(count, first, second)
        step.grad = gradient
        adam.step()
        step.grad = None
        if rows is not None:
            self.first.index_copy_(1, rows, first)
            self.second.index_copy_(1, rows, second)
        return step

    def reset(self) -> None:
        """Forget all gradients."""
        self.first.zero_()
        self.second.zero_()


def adam_state(count: int, first: Tensor, second: Tensor) -> dict[str, Tensor]:
    """What torch's Adam remembers of a parameter after `count` steps."""
    return {
        "step": torch.tensor(float(count), dtype=torch.float32, device=first.device),
        "exp_avg": first,
        "exp_avg_sq": second,
    }
