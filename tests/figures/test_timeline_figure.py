"""The figure of words that changed: what is drawn, that nothing is cut off or overlaps, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from embeddings.models import TIMES, model_of, well_known
from embeddings.moving_words import drawn as drawn_words
from figures.lines import (
    YEARS,
    assert_all_text_is_inside,
    curve_of,
    curves_in,
    drawn,
    names_in,
    panel_of,
    shown_panels,
)
from matplotlib.colors import to_rgba
from observers import RecordingObserver

from wordtide.api import DynamicEmbeddings
from wordtide.embeddings.dynamics import dynamics_of
from wordtide.errors import SettingsError, UnknownWordError
from wordtide.figures.style import BLACK, END_COLOR, START_COLOR, save_figure
from wordtide.figures.timeline_figure import Change, Panel, timeline_figure, timeline_of

HOSTILE = ["$x^", "$\\frac{$", "\u0645\u0631\u062d\u0628\u0627", "\U0001f600", "</text>", "_" * 200, "a\x00b"]


def test_start_words_are_named_at_the_left_and_end_words_at_the_right():
    axes = timeline_figure([panel_of()]).axes[0]
    assert set(names_in(axes, "left")) == {"left one", "left two"}
    assert set(names_in(axes, "right")) == {"right one", "right two"}


def test_a_word_near_at_both_ends_is_black_and_named_on_both_sides():
    axes = timeline_figure([panel_of(starts=("both", "left"), ends=("right", "both"))]).axes[0]
    colors = [tuple(art.get_colors()[0]) for art in curves_in(axes)]
    assert colors == [to_rgba(color) for color in (BLACK, START_COLOR, END_COLOR, BLACK)]
    assert "both" in names_in(axes, "left")
    assert "both" in names_in(axes, "right")


@pytest.mark.parametrize("halfway", [(1880.0, 1920.0), None])
def test_the_half_way_interval_is_shaded_where_it_is_known(halfway):
    patches = timeline_figure([panel_of(halfway=halfway)]).axes[0].patches
    assert [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in patches] == (
        [halfway] if halfway else []
    )


@pytest.mark.parametrize(
    ("shape", "course"),
    [
        ("jump", [(1890.0, 0.0), (1890.0, 1.0)]),
        ("gradual", [(1880.0, 0.0), (1920.0, 1.0)]),
        ("two jumps", [(1890.0, 0.0), (1890.0, 0.5), (1910.0, 0.5), (1910.0, 1.0)]),
        ("burst", [(1890.0, 0.0), (1890.0, 1.0), (1910.0, 1.0), (1910.0, 0.0)]),
    ],
)
def test_a_jump_is_a_step_with_a_dated_mark_and_a_gradual_change_a_slope(shape, course):
    change = Change(shape, 1880.0, 1890.0, 1920.0, 1910.0, "as it is said")
    figure = drawn(timeline_figure([replace(panel_of(), change=change)]))
    axes = figure.axes[0]
    assert change.course() == course
    outline = {
        tuple(corner) for shade in axes.collections for path in shade.get_paths() for corner in path.vertices
    }
    assert set(course) <= outline
    marks = [line.get_xdata().tolist() for line in axes.lines if line.get_transform() != axes.transData]
    assert marks == ([[1880.0, 1920.0], [1890.0]] if shape == "jump" else [])
    assert "as it is said" in [text.get_text() for text in axes.texts]
    assert not axes.patches  # the half-way interval is left out
    assert_all_text_is_inside(figure)


def test_the_panel_of_a_word_with_a_verdict_tells_its_change():
    model = drawn_words("smoother")[0]
    model = DynamicEmbeddings(replace(model, dynamics=dynamics_of(model)))
    jump, ramp, still = timeline_of(model, ["jumps", "ramps", "still"])
    assert jump.change.shape == "jump"
    assert jump.change.caption.startswith("it jumped in 190")
    assert ramp.change.caption.startswith("gradually from 190")
    assert still.change is None
    assert jump.halfway is None


@pytest.mark.parametrize("number", [1, 2, 3, 10, 12])
def test_no_text_of_a_timeline_is_cut_off(number):
    words = ("transportation", "accomplishment", "encouragement", "it", "representatives")
    figure = drawn(
        timeline_figure(
            [panel_of(f"word{n}", words, tuple(word[::-1] for word in words)) for n in range(number)]
        )
    )
    assert len(shown_panels(figure)) == number
    assert_all_text_is_inside(figure)


def test_names_in_a_panel_do_not_overlap():
    axes = drawn(timeline_figure([panel_of(starts="abcde", ends="fghij") for _ in range(10)])).axes[0]
    for art in axes.artists:
        heights = sorted(text.get_position()[1] for text in art.texts)
        assert np.diff(heights).min() >= 7.0 * axes.figure.dpi / 72.0


def test_names_of_the_left_do_not_cover_the_scale():
    figure = drawn(timeline_figure([panel_of(starts=("transportation", "a"))]))
    renderer = figure.canvas.get_renderer()
    axes = figure.axes[0]
    names = min(
        text.get_window_extent(renderer).x0
        for art in axes.artists
        if art.side == "left"
        for text in art.texts
    )
    ticks = [tick for tick in axes.get_yticklabels() if tick.get_text()]
    assert max(tick.get_window_extent(renderer).x1 for tick in ticks) < names


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_any_word_can_be_drawn(tmp_path, ending):
    figure = timeline_figure([panel_of(word, HOSTILE[:5], HOSTILE[2:]) for word in HOSTILE])
    assert save_figure(figure, tmp_path / f"figure.{ending}").stat().st_size > 1000


@pytest.mark.parametrize("number", [0, 13])
def test_too_many_or_no_panels_are_refused(number):
    with pytest.raises(SettingsError, match="1 to 12"):
        timeline_figure([panel_of()] * number)


def test_a_word_without_neighbors_is_refused_by_name():
    with pytest.raises(SettingsError, match="near 'lonely'"):
        timeline_figure([Panel("lonely", [], [])])


def test_a_curve_that_jumps_is_drawn_as_its_running_mean():
    years = np.linspace(1800.0, 2000.0, 200)
    wild = 0.5 + 0.3 * (-1.0) ** np.arange(200)
    (line,) = curves_in(timeline_figure([Panel("word", [("other", years, wild, wild, wild)], [])]).axes[0])
    assert np.concatenate([path.vertices for path in line.get_paths()])[:, 1] == pytest.approx(0.5, abs=0.06)


def test_a_curve_that_moves_smoothly_is_drawn_as_it_is():
    (line,) = curves_in(timeline_figure([Panel("word", [curve_of("other", 0.9, 0.1)], [])]).axes[0])
    assert line.get_paths()[0].vertices[::2, 1] == pytest.approx(np.linspace(0.9, 0.1, len(YEARS)))


def test_an_unknown_curve_beside_one_that_jumps_is_no_harm():
    years = np.linspace(1800.0, 2000.0, 200)
    wild, unknown = 0.5 + 0.3 * (-1.0) ** np.arange(200), np.full(200, np.nan)
    curves = [
        (name, years, heights, heights, heights) for name, heights in (("wild", wild), ("unknown", unknown))
    ]
    assert names_in(timeline_figure([Panel("word", curves, [])]).axes[0], "left") == ["wild"]


def test_a_figure_of_running_means_says_so():
    years = np.linspace(1800.0, 2000.0, 200)
    wild = 0.5 + 0.3 * (-1.0) ** np.arange(200)
    assert (
        timeline_figure([Panel("word", [("other", years, wild, wild, wild)], [])]).get_supylabel()
        == "similarity (running means)"
    )
    assert timeline_figure([panel_of()]).get_supylabel() == "similarity"


def test_a_curve_that_is_nowhere_known_gets_no_name():
    unknown = ("nowhere", YEARS, np.full(41, np.nan), np.full(41, np.nan), np.full(41, np.nan))
    axes = drawn(timeline_figure([Panel("word", [unknown, curve_of("known", 0.5, 0.6)], [])])).axes[0]
    assert names_in(axes, "left") == ["known"]


def test_the_panels_of_a_model_are_the_words_that_changed_most():
    model = well_known("smoother")
    words = list(model.changed(TIMES[0], TIMES[-1], top=3, min_occurrences=20)["word"])
    assert len(words) == 3
    panels = timeline_of(model, top=3)
    assert [panel.word for panel in panels] == words
    assert timeline_figure(panels).axes[0].get_title() == words[0]


def test_a_panel_runs_between_the_two_times():
    (panel,) = timeline_of(model_of("smoother", seed=3), ["always"], since=1851.6, until=1861.5)
    assert all(
        curve.times.tolist() == [1851.6, 1851.75, 1854.0, 1860.125, 1861.0, 1861.5] for curve in panel.starts
    )


@pytest.mark.parametrize("kind", ["smoother", "point"])
def test_only_a_posterior_gives_a_half_way_interval(kind):
    """The interval of a word without a verdict."""
    model = model_of(kind, seed=3)
    if model.dynamics is not None:
        unsure = replace(model.dynamics, shape=np.full(len(model.words), -1.0))
        model = DynamicEmbeddings(replace(model.fitted, dynamics=unsure))
    (panel,) = timeline_of(model, ["always"])
    assert panel.change is None
    assert (panel.halfway is None) == (kind == "point")


def test_the_years_asked_for_are_ticks():
    (panel,) = timeline_of(model_of("smoother", seed=3), ["always"], since=1850, until=1870)
    axes = drawn(timeline_figure([panel])).axes[0]
    first, last = axes.get_xlim()
    assert (first, last) == (1850, 1871)
    assert {1850, 1870} <= set(axes.get_xticks())


def test_the_observer_of_a_timeline_counts_words():
    observer = RecordingObserver()
    timeline_of(model_of("smoother", seed=3), ["always", "gaps", "late"], observer=observer)
    assert observer.stages == [["drawing", 3, 3, 0]]


def test_words_of_one_figure_have_the_neighbors_they_have_alone():
    model = model_of("smoother", seed=3)
    together = timeline_of(model, ["always", "gaps", "late"])
    alone = [timeline_of(model, [word])[0] for word in ("always", "gaps", "late")]
    assert [[curve.other for curve in (*panel.starts, *panel.ends)] for panel in together] == [
        [curve.other for curve in (*panel.starts, *panel.ends)] for panel in alone
    ]


def test_neighbors_of_a_panel_are_those_of_the_model():
    model = well_known("smoother")
    (panel,) = timeline_of(model, ["always"])
    assert len(panel.ends) == 5
    assert [curve.other for curve in panel.ends] == model.neighbors("always", "last", top=5)["word"].tolist()


def test_an_unknown_word_of_a_timeline_is_refused():
    with pytest.raises(UnknownWordError, match="alway"):
        timeline_of(model_of("smoother"), ["alway"])


@pytest.mark.parametrize(
    "asked", [{"top": 13}, {"words": ["always"] * 13}, {"words": []}, {"since": "last", "until": "first"}]
)
def test_a_timeline_that_cannot_be_drawn_is_refused_before_the_work(asked):
    with pytest.raises(SettingsError):
        timeline_of(model_of("smoother"), **asked)
