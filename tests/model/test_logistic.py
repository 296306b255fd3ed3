"""The compiled logistic functions are accurate to rounding, also where exponentials overflow."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, log_expit

from wordtide.compiled import kernel
from wordtide.model.logistic import kappa, log, log_sigmoid, sigmoid

SCORES = np.concatenate(
    [
        np.linspace(-86.5, 86.5, 20_001),
        np.random.default_rng(0).normal(scale=3.0, size=20_000),
        [0.0, 1e-30, -1e-30],
    ]
)
EXACT = {"sigmoid": expit, "log_sigmoid": log_expit, "kappa": lambda v: 1.0 / np.sqrt(1.0 + math.pi / 8 * v)}


@kernel
def map_sigmoid(x, out):
    for i in range(len(x)):
        out[i] = sigmoid(x[i])


@kernel
def map_log_sigmoid(x, out):
    for i in range(len(x)):
        out[i] = log_sigmoid(x[i])


@kernel
def map_kappa(x, out):
    for i in range(len(x)):
        out[i] = kappa(x[i])


@kernel
def map_log(x, out):
    for i in range(len(x)):
        out[i] = log(x[i])


LOOPS = {"log": map_log, "sigmoid": map_sigmoid, "log_sigmoid": map_log_sigmoid, "kappa": map_kappa}


def computed(name, x):
    out = np.empty_like(x)
    LOOPS[name](x, out)
    return out


@pytest.mark.parametrize(("dtype", "units"), [(np.float32, 2.5), (np.float64, 2.5)])
@pytest.mark.parametrize("name", ["sigmoid", "log_sigmoid", "kappa"])
def test_functions_are_right_to_rounding(name, dtype, units):
    x = (np.abs(SCORES) if name == "kappa" else SCORES).astype(dtype)
    expected = EXACT[name](x.astype(np.float64))
    error = np.abs(computed(name, x) - expected) / np.abs(expected)
    assert error.max() < units * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_logarithm_is_right_to_rounding(dtype):
    x = np.concatenate([np.geomspace(1e-37, 1e37, 20_001), np.linspace(0.5, 2.0, 20_001)]).astype(dtype)
    expected = np.log(x.astype(np.float64))
    error = np.abs(computed("log", x) - expected) / np.maximum(1.0, np.abs(expected))
    assert error.max() < np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_have_limits_at_infinity_and_keep_nan(dtype):
    x = np.array([-np.inf, -1e4, 1e4, np.inf, np.nan], dtype=dtype)
    np.testing.assert_allclose(computed("sigmoid", x), [0.0, 0.0, 1.0, 1.0, np.nan], atol=2e-38)
    np.testing.assert_allclose(computed("log_sigmoid", x), [-np.inf, -1e4, 0.0, 0.0, np.nan], atol=2e-38)


@pytest.mark.parametrize("name", ["sigmoid", "log_sigmoid"])
def test_single_precision_functions_never_decrease(name):
    x = np.linspace(-100.0, 100.0, 400_001).astype(np.float32)
    steps = np.diff(computed(name, x).astype(np.float64))
    # Neighboring values may swap by their rounding errors.
    assert (steps >= -2.5 * np.finfo(np.float32).eps * np.abs(computed(name, x))[1:] - 1e-37).all()


def test_kappa_approximates_the_expected_sigmoid():
    mean, variance = 1.5, 0.8

    def density(x):
        return expit(x) * math.exp(-0.5 * (x - mean) ** 2 / variance) / math.sqrt(2.0 * math.pi * variance)

    assert sigmoid(kappa(variance) * mean) == pytest.approx(quad(density, -8.0, 11.0)[0], abs=5e-3)
