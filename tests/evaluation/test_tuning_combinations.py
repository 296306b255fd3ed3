"""Lists of values, their combinations, and splits: the search space, and invalid ones."""

import numpy as np
import pytest

from wordtide.errors import SettingsError
from wordtide.evaluation.tuning.search_space import LISTED, checked_grid, combinations_of, splits_for, varied


def grid_of(method="smoothing", **lists):
    return checked_grid(lists, method, own_window=4)


def test_all_values_are_combined_and_the_last_list_changes_fastest():
    found = combinations_of(grid_of(diffusion=[0.1, 0.2], dim=[5, 6]))
    assert [(one.diffusion, one.dim) for one in found] == [(0.1, 5), (0.1, 6), (0.2, 5), (0.2, 6)]


def test_what_has_no_list_has_its_default_and_the_window_of_the_counts():
    grid = grid_of(dim=[5, 6])
    assert grid == {
        "diffusion": [1e-3],
        "dim": [5, 6],
        "prior_variance": ["auto"],
        "negative_ratio": [1.0],
        "window": [4],
    }


def test_without_any_list_three_diffusion_constants_are_compared():
    assert grid_of()["diffusion"] == [1e-4, 1e-3, 1e-2]


def test_a_single_value_of_another_setting_leaves_diffusion_to_be_searched():
    assert varied(grid_of(dim=[5])) == ["diffusion"]


def test_a_single_diffusion_constant_stays_alone():
    assert varied(grid_of(diffusion=[0.1])) == []


def test_numbers_of_numpy_become_those_of_python():
    grid = grid_of(dim=np.array([5, 6]), diffusion=np.array([0.5, 1]))
    assert [type(value) for name in ("dim", "diffusion") for value in grid[name]] == [int, int, float, float]


def test_every_combination_has_a_unique_name():
    found = combinations_of(
        grid_of(
            diffusion=[0.1, 1, 1e-5],
            dim=[1, 11],
            prior_variance=[1, "auto"],
            negative_ratio=[1, 5],
            window=[1, 4],
        )
    )
    assert len({one.file_name for one in found}) == 48


def test_names_show_values_as_typed():
    (one,) = combinations_of(grid_of(diffusion=[1e-3], prior_variance=[100]))
    assert one.shown(LISTED) == "diffusion 0.001, dim 100, prior variance 100, negative ratio 1, window 4"


@pytest.mark.parametrize(
    ("lists", "problem"),
    [
        ({"dim": []}, "dim= has no values"),
        ({"dim": [5, ""]}, "dim= has an empty value"),
        ({"dim": [5, 5]}, "dim= has the value 5 twice"),
        ({"diffusion": [1, 1.0]}, "diffusion= has the value 1 twice"),
        ({"diffusion": ["fast"]}, "diffusion='fast' is not a number"),
        ({"diffusion": ["auto"]}, "diffusion='auto' would use the slices"),
        ({"prior_variance": ["big"]}, "prior_variance='big' is not a number"),
        ({"negative_ratio": [True]}, "negative_ratio=True is not a number"),
        ({"dim": [5.5]}, "dim=5.5 is not a whole number"),
        ({"window": [2.0]}, "window=2.0 is not a whole number"),
        ({"window": [0]}, "window=0 is out of range"),
        ({"seed": [1, 2]}, "'seed' cannot be tuned"),
    ],
)
def test_lists_that_cannot_be_searched_are_refused(lists, problem):
    with pytest.raises(SettingsError, match=problem):
        grid_of(**lists)


def test_diffusion_is_refused_for_a_method_without_it():
    with pytest.raises(SettingsError, match="diffusion= has no effect on the method warm-start"):
        grid_of("warm-start", diffusion=[0.1, 0.2])


def test_a_method_without_diffusion_needs_a_list():
    with pytest.raises(SettingsError, match="nothing to choose for the method static"):
        grid_of("static")


def test_splits_differ():
    splits = splits_for("smoothing", 30, 5, 0.1, seed=0).left_out
    assert len({tuple(left_out) for left_out in splits}) == 5


def test_fewer_splits_are_the_first_of_more():
    assert (
        splits_for("smoothing", 30, 2, 0.1, seed=3).left_out
        == splits_for("smoothing", 30, 6, 0.1, seed=3).left_out[:2]
    )


def test_a_small_corpus_has_as_many_splits_as_there_are():
    assert sorted(splits_for("smoothing", 5, 10, 0.2, seed=0).left_out) == [[1], [2], [3]]


def test_a_sequential_method_predicts_all_slices_but_the_first():
    (one,) = splits_for("filtering", 4, None, None, seed=0).planned(combinations_of(grid_of(diffusion=[0.1])))
    assert (one.slices, one.left_out, one.split) == ([1, 2, 3], [], None)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("magic", 9, None, None), "There is no method 'magic'"),
        (("smoothing", 9, 0, None), "splits=0 is out of range"),
        (("smoothing", 9, 1.5, None), "splits=1.5 is out of range"),
        (("smoothing", 9, None, 0.0), "holdout=0.0 is not a share"),
        (("smoothing", 9, None, 0.9), "would leave out 8 of 9 slices"),
        (("smoothing", 2, None, None), "There are 2 slices"),
        (("filtering", 9, 3, None), "splits= does not apply to filtering"),
        (("filtering", 9, None, 0.1), "holdout= does not apply to filtering"),
        (("filtering", 1, None, None), "There is 1 slice, but tuning needs at least 2"),
    ],
)
def test_impossible_splits_are_refused(options, problem):
    with pytest.raises(SettingsError, match=problem):
        splits_for(*options, seed=0)
