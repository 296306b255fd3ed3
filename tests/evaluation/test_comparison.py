"""The table of an evaluation, and the sentence that sums it up."""

import math

import pytest

from wordtide.evaluation.comparison import COLUMNS, compare, verdict
from wordtide.evaluation.scores import SliceScore

#: Scores by method and slice; slices 2 and 4 and 5 are those left out.
SCORES = {
    "smoothing": {2: -0.50, 4: -0.60, 5: -0.40},
    "smoothing (posterior)": {2: -0.40, 4: -0.55, 5: -0.40},
    "filtering": {1: -0.9, 2: -0.60, 3: -0.7, 4: -0.65, 5: -0.45},
    "independent": {1: -0.9, 2: -0.45, 3: -0.9, 4: -0.90, 5: -0.90},
}


def scores_of(table):
    return [
        SliceScore(method, t, 1900.0 + t, value, 10.0)
        for method, found in table.items()
        for t, value in found.items()
    ]


@pytest.fixture(scope="module")
def rows():
    """The summary by method."""
    found = compare(scores_of(SCORES), [2, 4, 5], {"smoothing": 3.5})
    return {row["method"]: row for row in found}


def test_rows_have_all_columns_in_order(rows):
    assert tuple(rows["smoothing"]) == COLUMNS


def test_means_are_over_the_slices_left_out(rows):
    assert rows["filtering"]["mean"] == pytest.approx(-1.70 / 3)


def test_the_standard_error_is_that_of_a_mean(rows):
    assert rows["smoothing"]["standard_error"] == pytest.approx(0.1 / math.sqrt(3))


def test_differences_are_to_the_best(rows):
    assert rows["filtering"]["difference"] == pytest.approx(-0.2 / 3)


def test_the_error_of_a_difference_is_paired(rows):
    # slice by slice -0.10, -0.05, -0.05
    assert rows["filtering"]["difference_error"] == pytest.approx(math.sqrt((1 / 30**2 + 2 / 60**2) / 2 / 3))


def test_the_difference_of_the_best_is_zero(rows):
    assert (rows["smoothing"]["difference"], rows["smoothing"]["difference_error"]) == (0.0, None)


def test_wins_are_counted_on_the_slices_left_out(rows):
    assert [rows[method]["wins"] for method in ("smoothing", "filtering", "independent")] == [2, 0, 1]


def test_predictors_that_are_not_the_papers_do_not_compete(rows):
    assert rows["smoothing (posterior)"]["wins"] is None


def test_predictors_that_are_not_the_papers_are_compared_with_the_best(rows):
    assert rows["smoothing (posterior)"]["difference"] == pytest.approx(0.05)


def test_all_slices_that_a_method_predicts_have_a_mean_too(rows):
    assert (rows["filtering"]["mean_of_all"], rows["filtering"]["all_slices"]) == (pytest.approx(-0.66), 5)


def test_unknown_training_times_are_none(rows):
    assert [rows[method]["seconds"] for method in ("smoothing", "filtering")] == [3.5, None]


def test_one_slice_has_no_standard_error():
    (row,) = compare(scores_of({"filtering": {1: -0.5, 2: -0.6}}), [2], {})
    assert row["standard_error"] is None


def test_the_verdict_names_the_best_and_what_may_be_noise(rows):
    # independent is 0.25 behind on average, with a standard error of 0.16
    told = verdict(list(rows.values()))
    assert told == (
        "smoothing predicts best: -0.5000 per pair. It is the best method on 2 of 3 slices. "
        "The difference to independent is within two standard errors: it may be noise."
    )


def test_the_verdict_notes_that_all_differences_are_clear():
    table = {"smoothing": {1: -0.50, 2: -0.60}, "filtering": {1: -0.60, 2: -0.71}}
    assert verdict(compare(scores_of(table), [1, 2], {})).endswith(
        "All others are worse by more than two standard errors."
    )


def test_a_single_method_is_compared_with_nothing():
    assert "no other method" in verdict(compare(scores_of({"filtering": {1: -0.5}}), [1], {}))
