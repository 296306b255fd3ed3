"""The exact law of draws: a trajectory is linear in its noise, so unit vectors give its covariance."""

import numpy as np


class UnitNoise:
    """Replaces a generator: draw n has noise 1 at moment n of the chain, and the last draw has none."""

    def standard_normal(self, shape):
        moments, size, _ = shape
        noise = np.zeros(shape)
        for moment in range(moments):
            noise[moment, moment % size] = 1.0
        assert moments < size, "more draws are needed to see all moments"
        return noise


def law_of_draws(model, word, times):
    """Mean (n, d) and covariance (n, n, d) of the draws of a word at the times."""
    draws = model._word_side.draw(model.index[word], 100, np.asarray(times, dtype=float), UnitNoise())
    root = draws - draws[-1]
    return draws[-1], np.einsum("sad,sbd->abd", root, root)
