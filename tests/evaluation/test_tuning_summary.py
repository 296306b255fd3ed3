"""The table of a tuning, and the sentences that sum it up."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from evaluation.corpora import tiny_counts

from wordtide.evaluation.scores import SliceScore
from wordtide.evaluation.tuning.ranking import COLUMNS, shown_rows, tuning_summary, tuning_verdict
from wordtide.evaluation.tuning.search_space import Splits, checked_grid, combinations_of
from wordtide.evaluation.tuning.tune import Tuning
from wordtide.inference.settings import resolve

#: (slice, score) of each diffusion constant; slice 4 was left out twice.
SCORES = {
    1e-4: [(2, -0.60), (4, -0.70), (4, -0.80), (5, -0.50)],
    1e-3: [(2, -0.50), (4, -0.60), (4, -0.70), (5, -0.42)],
    1e-2: [(2, -0.45), (4, -0.80), (4, -0.80), (5, -0.42)],
}


@pytest.fixture(scope="module")
def counts():
    counts = tiny_counts()
    counts.path = Path("my counts")
    return counts


def tuning_of(counts, lists, scores, seconds, method="smoothing", **settings):
    """A tuning with these scores, a list of (slice, score) per combination, and seconds per combination."""
    grid = checked_grid(lists, method, counts.window)
    combinations = combinations_of(grid)
    found = {
        one: [SliceScore(method, t, 1900.0 + t, value, 10.0) for t, value in table]
        for one, table in zip(combinations, scores, strict=True)
    }
    rows = tuning_summary(found, {one: [taken] for one, taken in zip(combinations, seconds, strict=True)})
    fits = {one: resolve({"method": method, **settings, **one.fit_values()}) for one in combinations}
    splits = Splits(method, 6, 2, 0.3, [[2, 4], [4, 5]])
    return Tuning(rows, [], grid, splits, fits, dict.fromkeys(grid["window"], counts), Path("tuning"))


@pytest.fixture(scope="module")
def three(counts):
    return tuning_of(counts, {"diffusion": list(SCORES)}, SCORES.values(), [3.0, 2.0, None])


def told(tuning):
    return " ".join(tuning_verdict(tuning))


def test_rows_have_all_columns_in_order(three):
    assert tuple(three.summary[0]) == COLUMNS


def test_a_slice_left_out_twice_counts_once(three):
    assert (three.summary[0]["mean"], three.summary[0]["slices"]) == (pytest.approx(-1.85 / 3), 3)


def test_the_standard_error_is_over_distinct_slices(three):
    # means of the slices -0.60, -0.75, -0.50, whose mean is -1.85 / 3
    squares = sum((value + 1.85 / 3) ** 2 for value in (-0.60, -0.75, -0.50))
    assert three.summary[0]["standard_error"] == pytest.approx(math.sqrt(squares / 2 / 3))


def test_the_error_of_a_difference_is_paired(three):
    # slice by slice -0.10, -0.10, -0.08
    squares = 2 * (0.02 / 3) ** 2 + (0.04 / 3) ** 2
    assert three.summary[0]["difference_error"] == pytest.approx(math.sqrt(squares / 2 / 3))


def test_verdicts_tell_the_best_the_worse_and_what_may_be_noise(three):
    # 0.01 is 0.033 behind the best, with a standard error of 0.06
    assert [row["verdict"] for row in three.summary] == ["worse", "best", "may be as good"]


def test_the_difference_of_the_best_is_zero(three):
    assert (three.summary[1]["difference"], three.summary[1]["difference_error"]) == (0.0, None)


def test_times_that_are_not_known_are_none(three):
    assert [row["seconds"] for row in three.summary] == [3.0, 2.0, None]


def test_no_difference_is_clear_from_one_slice(counts):
    tuning = tuning_of(counts, {"dim": [2, 3]}, [[(2, -0.9)], [(2, -0.1)]], [1, 1])
    assert [row["verdict"] for row in tuning.summary] == ["may be as good", "best"]
    assert "A single slice cannot show what is noise" in told(tuning)


def test_equal_scores_may_be_as_good(counts):
    tuning = tuning_of(counts, {"dim": [2, 3]}, [[(2, -0.5), (3, -0.6)]] * 2, [1, 1])
    assert [row["verdict"] for row in tuning.summary] == ["best", "may be as good"]


def test_the_sentences_name_the_best_the_noise_and_the_command(three):
    assert tuning_verdict(three) == [
        "diffusion 0.001 predicts best: -0.5233 per pair over 3 slices.",
        "The difference to diffusion 0.01 is within two standard errors: it may be noise. "
        "More --splits reduce the errors; finished fits are kept.",
        "To fit diffusion 0.001: wordtide fit 'my counts' -o model --diffusion 0.001",
    ]


def dims(counts, seconds):
    scores = [[(2, -0.5), (3, -0.62)], [(2, -0.52), (3, -0.59)]]
    return tuning_of(counts, {"diffusion": [0.01], "dim": [2, 3]}, scores, seconds)


def test_the_fastest_of_those_that_may_be_as_good_is_recommended(counts):
    sentences = tuning_verdict(dims(counts, [1.0, 4.0]))
    assert "Of these dim 2 is the fastest: 1 s per fit instead of 4 s." in sentences
    assert sentences[-1] == "To fit dim 2: wordtide fit 'my counts' -o model --dim 2 --diffusion 0.01"


def test_slightly_faster_fits_are_not_recommended(counts):
    assert tuning_verdict(dims(counts, [3.9, 4.0]))[-1].startswith("To fit dim 3: ")


def test_clear_differences_are_reported_as_such(counts):
    tuning = tuning_of(counts, {"dim": [2, 3]}, [[(2, -0.5), (3, -0.6)], [(2, -0.7), (3, -0.81)]], [1, 1])
    assert "All others are worse by more than two standard errors." in told(tuning)


def test_a_single_combination_is_compared_with_nothing(counts):
    assert told(tuning_of(counts, {"diffusion": [0.01]}, [[(2, -0.5), (3, -0.6)]], [1])).startswith(
        "diffusion 0.01, dim 100 reaches -0.5500 per pair over 2 slices. To fit"
    )


@pytest.mark.parametrize(
    ("name", "values", "best", "hint"),
    [
        ("diffusion", [1e-4, 1e-3, 1e-2], 2, "The best --diffusion is the largest of the list: try 0.1 too"),
        (
            "diffusion",
            [1e-2, 1e-3, 1e-4],
            2,
            "The best --diffusion is the smallest of the list: try 1e-05 too",
        ),
        ("dim", [2, 4, 8], 2, "The best --dim is the largest of the list: try 16 too"),
        ("window", [2, 4, 8], 2, "The best --window is the largest of the list: try 16 too"),
        (
            "prior_variance",
            [1, 10, "auto"],
            1,
            "The best --prior-variance is the largest of the list: try 100 too",
        ),
    ],
)
def test_a_best_value_at_the_edge_of_its_list_gets_a_hint(counts, name, values, best, hint):
    scores = [[(2, -0.5), (3, -0.6)] if place == best else [(2, -0.7), (3, -0.81)] for place in range(3)]
    assert hint in told(tuning_of(counts, {name: values}, scores, [1, 1, 1]))


@pytest.mark.parametrize(
    ("name", "values", "best"),
    [
        ("diffusion", [1e-4, 1e-3, 1e-2], 1),
        ("prior_variance", [1, 10, "auto"], 2),
        ("dim", [1, 2, 3], 0),
        ("diffusion", [1e4, 1e5, 1e6], 2),
    ],
)
def test_no_hint_where_there_is_nothing_further(counts, name, values, best):
    scores = [[(2, -0.5), (3, -0.6)] if place == best else [(2, -0.7), (3, -0.81)] for place in range(3)]
    assert "of the list" not in told(tuning_of(counts, {name: values}, scores, [1, 1, 1]))


def test_no_more_dimensions_than_words_are_suggested(counts):
    words = len(counts.words)
    scores = [[(2, -0.7), (3, -0.81)], [(2, -0.5), (3, -0.6)]]
    assert f"try {words} too" in told(tuning_of(counts, {"dim": [2, words - 1]}, scores, [1, 1]))


def test_the_command_has_all_settings_that_are_not_the_default(counts):
    scores = [[(2, -0.5), (3, -0.6)]]
    tuning = tuning_of(counts, {"diffusion": [0.01]}, scores, [1], method="filtering", seed=4)
    assert tuning_verdict(tuning)[-1].endswith("-o model --method filtering --diffusion 0.01 --seed 4")


def test_the_command_uses_the_counts_of_the_best_window(counts):
    scores = [[(2, -0.7), (3, -0.81)], [(2, -0.5), (3, -0.6)]]
    tuning = tuning_of(counts, {"window": [4, 8]}, scores, [1, 1])
    other = tiny_counts()
    other.path = Path("tuning/counts-8")
    found = replace(tuning, counts={4: counts, 8: other})
    assert tuning_verdict(found)[-1] == "To fit window 8: wordtide fit tuning/counts-8 -o model"


def test_rows_show_settings_as_typed_and_four_digits(three):
    row = shown_rows(three.summary, ["diffusion"])[0]
    assert [row[name] for name in ("diffusion", "mean", "difference", "seconds")] == [
        "0.0001",
        "-0.6167",
        "-0.0933",
        3,
    ]


def test_the_best_row_shows_no_difference(three):
    assert shown_rows(three.summary, ["diffusion"])[1]["difference"] == ""
