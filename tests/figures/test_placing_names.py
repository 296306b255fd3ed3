"""Names beside the ends of lines: in order, apart, inside the figure."""

import numpy as np
import pytest
from figures.boxes import boxes_of, no_two_overlap
from matplotlib.figure import Figure
from scipy.optimize import isotonic_regression

from wordtide.figures.labels import end_labels, spread_apart
from wordtide.figures.style import BLUE, styled


def lines_with_names(values, side="right"):
    with styled():
        figure = Figure(figsize=(3.0, 2.0))
        axes = figure.subplots()
        for value in values:
            axes.plot([0.0, 1.0], [value, value])
        end_labels(axes, [(1.0, value, f"at {value}", BLUE) for value in values], side)
        figure.draw_without_rendering()
    return figure, axes.artists[-1].texts


@pytest.mark.parametrize("side", ["right", "left"])
def test_names_beside_lines_do_not_collide(side):
    figure, texts = lines_with_names([0.5, 0.5, 0.501, 0.502, 0.9, 0.1], side)
    assert no_two_overlap(boxes_of(figure, texts))


def test_names_beside_lines_keep_the_order_of_the_lines():
    _, texts = lines_with_names([0.502, 0.9, 0.5, 0.1, 0.501])
    assert [text.get_text() for text in sorted(texts, key=lambda text: text.get_position()[1])] == [
        "at 0.1",
        "at 0.5",
        "at 0.501",
        "at 0.502",
        "at 0.9",
    ]


def test_names_beside_lines_are_inside_the_figure():
    figure, texts = lines_with_names([0.5, 0.501, 0.9])
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes_of(figure, texts))


def test_a_line_that_ends_nowhere_gets_no_name():
    _, texts = lines_with_names([0.5, np.nan])
    assert [text.get_text() for text in texts] == ["at 0.5"]


def test_heights_that_are_far_apart_stay():
    np.testing.assert_allclose(spread_apart([1.0, 5.0, 9.0], 2.0, 0.0, 10.0), [1.0, 5.0, 9.0])


def test_heights_are_pushed_apart_as_little_as_possible():
    np.testing.assert_allclose(spread_apart([5.0, 5.0, 9.0], 2.0, 0.0, 10.0), [4.0, 6.0, 9.0])


def test_heights_stay_within_their_bounds():
    np.testing.assert_allclose(spread_apart([0.0, 0.0, 9.5], 2.0, 1.0, 9.0), [1.0, 3.0, 9.0])


def test_heights_without_room_overhang_both_ends_alike():
    np.testing.assert_allclose(spread_apart([0.0, 0.0, 0.0], 2.0, 0.0, 2.0), [-1.0, 1.0, 3.0])


def test_heights_are_pushed_apart_as_a_regression_on_growing_sequences_says():
    generator = np.random.default_rng(0)
    for size in range(1, 30):
        heights = np.sort(generator.normal(0.0, 3.0, size))
        offsets = 2.0 * np.arange(size)
        expected = isotonic_regression(heights - offsets).x + offsets
        np.testing.assert_allclose(spread_apart(heights, 2.0, -1e6, 1e6), expected)
