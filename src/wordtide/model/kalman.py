"""The steps of every pass along a chain: a belief N(mean, variance) of one coordinate, carried from knot to
knot.

All passes, compiled or not, are built from these four functions. They are plain arithmetic, so they take
numbers and NumPy arrays alike, and `wordtide.model.chain` compiles them into its loops. Variances are sums
and quotients of positive numbers, so nothing cancels.
"""

from typing import Any


def predict(gain: Any, noise: Any, mean: Any, variance: Any) -> tuple[Any, Any]:
    """The belief about x' = gain x + N(0, noise), from the belief about x."""
    return gain * mean, gain * gain * variance + noise


def condition(mean: Any, variance: Any, precision: Any, message: Any) -> tuple[Any, Any]:
    """The belief after an observation with the likelihood exp(message x - precision x^2 / 2)."""
    share = 1 / (1 + precision * variance)
    return (mean + variance * message) * share, variance * share


def look_back(
    gain: Any, noise: Any, mean: Any, variance: Any, later_mean: Any, later_variance: Any
) -> tuple[Any, Any]:
    """The belief about x given all data, from the one given earlier data and that about x' = gain x + N(0,
    noise).

    This is the step of Rauch, Tung and Striebel. With `later_variance` 0 it conditions on the value
    `later_mean` of x'.
    """
    share = variance / (gain * gain * variance + noise)
    back = gain * share
    return mean + back * (later_mean - gain * mean), noise * share + back * back * later_variance


def carry_back(gain: Any, noise: Any, precision: Any, message: Any) -> tuple[Any, Any]:
    """The likelihood (precision, message) of x' = gain x + N(0, noise) as a likelihood of x."""
    across = gain / (1 + noise * precision)
    return gain * across * precision, across * message
