"""Curves: read from tables, drawn piece by piece, faint where nothing is observed."""

import itertools

import numpy as np
import pytest
from figures.lines import YEARS, curve_of, curves_in, table_of

from wordtide.figures.curves import curves_of, day_of, support
from wordtide.figures.timeline_figure import Panel, timeline_figure


def test_support_is_exact_where_slices_are_far_apart():
    observed = np.array([True, False, True])
    assert support(np.array([0.0, 50.0, 100.0]), observed).tolist() == [1.0, 0.0, 1.0]


def test_support_is_a_share_where_slices_are_dense():
    times = np.arange(1000.0)
    assert support(times, times % 2 == 0) == pytest.approx(0.5, abs=0.05)


def test_rows_of_a_table_may_come_in_any_order():
    table = table_of(("m", "a", "b", 0.8, True))
    mixed = table.sample(frac=1.0, random_state=1)
    assert (curves_of(mixed)["m", "a", "b"].similarity == curves_of(table)["m", "a", "b"].similarity).all()


@pytest.mark.parametrize(
    ("year", "day"), [(2016.0, "2016-01-01"), (2016.5, "2016-07-02"), (1850.999, "1850-12-31")]
)
def test_a_float_year_is_a_day(year, day):
    assert day_of(year) == day


def test_the_pieces_of_a_curve_join_without_a_gap():
    observed = np.random.default_rng(0).random(len(YEARS)) < 0.5
    (line,) = curves_in(timeline_figure([Panel("word", [curve_of("other", 0.9, 0.1, observed)], [])]).axes[0])
    pieces = [path.vertices for path in line.get_paths()]
    assert len(pieces) > 5
    assert all((one[-1] == other[0]).all() for one, other in itertools.pairwise(pieces))
    assert (pieces[0][0, 0], pieces[-1][-1, 0]) == (YEARS[0], YEARS[-1])


def test_a_curve_is_faint_where_the_words_do_not_occur():
    observed = YEARS < 1900.0
    panel = Panel("word", [curve_of("other", 0.9, 0.1, observed)], [])
    (line,) = curves_in(timeline_figure([panel]).axes[0])
    strengths = [color[3] for color in line.get_colors()]
    assert strengths[0] == 1.0
    assert strengths[-1] < 0.5
