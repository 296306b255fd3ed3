"""Distances that words move, and their histograms."""

import numpy as np
import pytest
from embeddings.models import model_of
from matplotlib.backends.backend_agg import FigureCanvasAgg

from wordtide.errors import SettingsError
from wordtide.figures.method_figures import displacement_figure, displacement_rows, displacements
from wordtide.figures.style import styled


def moving(scale, deltas=range(1, 11), size=400, seed=0):
    generator = np.random.default_rng(seed)
    return {delta: scale * delta * generator.gamma(4.0, size=size) for delta in deltas}


def test_distances_are_between_the_means_of_two_slices():
    model = model_of("smoother")
    found = displacements(model, start=float(model.times[1]), deltas=[2, 4])
    words = [word for word in model.words if (model.occurrences(word)[[1, 3, 5]] > 0).all()]
    assert 0 < len(words) < len(model.words)
    for delta in (2, 4):
        expected = [
            np.linalg.norm(model.mean(word, model.times[1]) - model.mean(word, model.times[1 + delta]))
            for word in words
        ]
        assert found[delta] == pytest.approx(expected, rel=1e-5)


def test_the_default_start_is_the_last_that_enough_slices_follow():
    model = model_of("smoother")
    last = displacements(model, start=float(model.times[4]), deltas=range(1, 4))
    assert (displacements(model, deltas=range(1, 4))[3] == last[3]).all()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"deltas": range(1, 11)}, "8 slices"),
        ({"start": 1845.5, "deltas": [1]}, "No slice lies at 1845.5"),
        ({"start": 1862.9, "deltas": [1, 3]}, "slice 6 is followed by 1 slice, not 3"),
    ],
)
def test_what_cannot_be_measured_is_refused(asked, message):
    with pytest.raises(SettingsError, match=message):
        displacements(model_of("smoother"), **asked)


def test_rows_hold_quantiles_by_method_and_delta():
    rows = displacement_rows(
        {"smoothing": {1: np.arange(101.0)}, "independent": {1: np.zeros(5), 3: np.ones(5)}}
    )
    assert [(row["method"], row["delta"], row["words"]) for row in rows] == [
        ("smoothing", 1, 101),
        ("independent", 1, 5),
        ("independent", 3, 5),
    ]
    assert [rows[0][name] for name in ("mean", "q05", "q25", "median", "q75", "q95")] == pytest.approx(
        [50, 5, 25, 50, 75, 95]
    )


def test_there_is_a_panel_per_method_with_a_histogram_per_delta():
    figure = displacement_figure({"smoothing": moving(0.01), "independent": moving(1.0)})
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["smoothing", "independent"]
    assert [len(axes.patches) for axes in figure.axes] == [10, 10]
    assert [[text.get_text() for text in axes.texts] for axes in figure.axes] == [
        ["\u03b4 = 1", "\u03b4 = 10"]
    ] * 2


def test_a_histogram_holds_all_words_that_move():
    figure = displacement_figure({"smoothing": moving(0.01, size=500)})
    assert sum(stair.get_data().values.sum() for stair in figure.axes[0].patches) == pytest.approx(
        10.0, abs=0.02
    )


def test_words_that_do_not_move_are_counted_beside_the_axis():
    distances = moving(0.01)
    distances[3][:100] = 0.0
    assert (
        displacement_figure({"m": distances}).axes[0].get_title(loc="right")
        == "up to 25% of words do not move"
    )


def test_a_single_delta_is_named_once():
    assert [text.get_text() for text in displacement_figure({"m": moving(0.1, [2])}).axes[0].texts] == [
        "\u03b4 = 2"
    ]


@pytest.mark.parametrize("distances", [{}, {"static": {1: np.zeros(4)}}, {"m": {1: np.zeros(0)}}])
def test_nothing_to_draw_is_refused(distances):
    with pytest.raises(SettingsError):
        displacement_figure(distances)


def test_names_are_inside_the_picture():
    figure = displacement_figure({"smoothing": moving(0.001), "$warm_": moving(0.3)})
    with styled():
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
    renderer = canvas.get_renderer()
    for axes in figure.axes:
        for text in (*axes.texts, axes.title):
            box = text.get_window_extent(renderer)
            assert figure.bbox.x0 - 1 <= box.x0
            assert box.x1 <= figure.bbox.x1 + 1
