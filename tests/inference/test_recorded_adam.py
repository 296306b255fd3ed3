"""Algorithms 1 and 2 give the numbers of version 0.1, which used PyTorch, from the same noise.

`recorded/adam_models.npz` was written by version 0.1 in double precision, with its noise replaced by that of
NumPy.
"""

from pathlib import Path

import numpy as np
import pytest
from oracles.recorded_world import texts

import wordtide
from wordtide.inference.paper.filtering import AdamFilter, FilterOptions
from wordtide.inference.paper.smoothing import AdamSmoother, SmootherOptions
from wordtide.inference.problem import problem_of
from wordtide.model.prior import ProductPrior

RECORDED = np.load(Path(__file__).parents[1] / "recorded" / "adam_models.npz")


@pytest.fixture(scope="module")
def problem():
    return problem_of(wordtide.count(texts()))


def finish(solver):
    return np.array([report.elbo for report in iter(solver.advance, None) if not np.isnan(report.elbo)])


def solver(problem, method, dtype):
    prior = ProductPrior(problem.times, 0.01, 1.0)
    if method == "filtering":
        return AdamFilter(problem, prior, FilterOptions(4, 7, steps_per_slice=30, dtype=dtype))
    options = SmootherOptions(4, 7, minibatch_words=15, minibatch_steps=20, full_steps=10, dtype=dtype)
    return AdamSmoother(problem, prior, options)


@pytest.mark.parametrize("method", ["filtering", "smoothing"])
def test_a_run_in_double_precision_gives_the_recorded_numbers(problem, method):
    run = solver(problem, method, np.float64)
    elbos = finish(run)
    np.testing.assert_allclose(elbos, RECORDED[f"{method}/elbo"], rtol=1e-10)
    names = ("mean_u", "mean_v", "variance_u", "variance_v")
    for name, found in zip(names, np.concatenate(run.moments()), strict=True):
        np.testing.assert_allclose(found, RECORDED[f"{method}/{name}"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", ["filtering", "smoothing"])
def test_a_run_in_single_precision_reaches_the_recorded_elbo(problem, method):
    # Its noise is drawn in single precision, so it is another run, of the same quality.
    elbos = finish(solver(problem, method, np.float32))
    np.testing.assert_allclose(elbos, RECORDED[f"{method}/elbo"], rtol=0.1)
