"""Figures of curves and histograms: what is drawn, that nothing is cut off or overlaps, and what is refused."""

import io
import itertools

import numpy as np
import pandas as pd
import pytest
from embeddings.models import TIMES, model_of
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba

from wordtide.errors import SettingsError, UnknownWordError
from wordtide.figures.similarity import curves_of, day_of, similarity_figure, similarity_of, support
from wordtide.figures.style import BLACK, END_COLOUR, METHOD_COLOURS, START_COLOUR, _EndLabels, save_figure, styled
from wordtide.figures.timeline import Panel, timeline_figure, timeline_of

YEARS = np.linspace(1800.0, 2000.0, 41)
HOSTILE = ["$x^", "$\\frac{$", "\u0645\u0631\u062d\u0628\u0627", "\U0001f600", "</text>", "_" * 200, "a\x00b"]


def curve_of(other, first, last, observed=None, band=0.1):
    heights = np.linspace(first, last, len(YEARS))
    return (other, YEARS, heights, heights - band, heights + band, observed)


def panel_of(word="word", starts=("left one", "left two"), ends=("right one", "right two"), halfway=(1880.0, 1920.0)):
    return Panel(
        word,
        [curve_of(other, 0.9 - 0.01 * n, 0.1 + 0.1 * n) for n, other in enumerate(starts)],
        [curve_of(other, 0.1 + 0.1 * n, 0.9 - 0.01 * n) for n, other in enumerate(ends)],
        halfway,
    )


def table_of(*lines, times=YEARS, **columns):
    """Lines are (method, word, other, height, has a band)."""
    parts = []
    for method, word, other, height, band in lines:
        heights = height + 0.05 * np.sin(times)
        reach = 0.1 if band else np.nan
        parts.append(
            pd.DataFrame(
                {"time": times, "word": word, "other": other, "similarity": heights, "low": heights - reach}
                | {"high": heights + reach, "occurrences": 3, "other_occurrences": 2, "method": method}
                | columns
            )
        )
    return pd.concat(parts, ignore_index=True)


def drawn(figure):
    with styled():
        FigureCanvasAgg(figure).draw()
    return figure


def names_in(axes, side):
    return [text.get_text() for art in axes.artists if isinstance(art, _EndLabels) and art.side == side for text in art.texts]


def curves_in(axes):
    return [art for art in axes.collections if isinstance(art, LineCollection) and art.zorder in (2, 3)]


def shown_panels(figure):
    return [axes for axes in figure.axes if axes.axison]


def assert_all_text_is_inside(figure):
    renderer = figure.canvas.get_renderer()
    frame = figure.bbox
    for axes in shown_panels(figure):
        texts = [text for art in axes.artists if isinstance(art, _EndLabels) for text in art.texts]
        first, last = axes.get_xlim()
        ticks = [
            label for label, place in zip(axes.get_xticklabels(), axes.get_xticks(), strict=True) if first <= place <= last
        ]
        for text in (axes.title, *texts, *ticks):
            box = text.get_window_extent(renderer)
            assert frame.x0 - 1 <= box.x0, text.get_text()
            assert box.x1 <= frame.x1 + 1, text.get_text()
            assert frame.y0 - 1 <= box.y0, text.get_text()
            assert box.y1 <= frame.y1 + 1, text.get_text()


def test_start_words_are_named_at_the_left_and_end_words_at_the_right():
    axes = timeline_figure([panel_of()]).axes[0]
    assert set(names_in(axes, "left")) == {"left one", "left two"}
    assert set(names_in(axes, "right")) == {"right one", "right two"}


def test_a_word_near_at_both_ends_is_black_and_named_on_both_sides():
    axes = timeline_figure([panel_of(starts=("both", "left"), ends=("right", "both"))]).axes[0]
    colours = [tuple(art.get_colors()[0]) for art in curves_in(axes)]
    assert colours == [to_rgba(colour) for colour in (BLACK, START_COLOUR, END_COLOUR, BLACK)]
    assert "both" in names_in(axes, "left")
    assert "both" in names_in(axes, "right")


@pytest.mark.parametrize("halfway", [(1880.0, 1920.0), None])
def test_the_half_way_interval_is_shaded_where_it_is_known(halfway):
    patches = timeline_figure([panel_of(halfway=halfway)]).axes[0].patches
    assert [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in patches] == ([halfway] if halfway else [])


@pytest.mark.parametrize("number", [1, 2, 3, 10, 12])
def test_no_text_of_a_timeline_is_cut_off(number):
    words = ("transportation", "accomplishment", "encouragement", "it", "representatives")
    figure = drawn(timeline_figure([panel_of(f"word{n}", words, tuple(word[::-1] for word in words)) for n in range(number)]))
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
    names = min(text.get_window_extent(renderer).x0 for art in axes.artists if art.side == "left" for text in art.texts)
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


def test_a_word_without_neighbours_is_refused_by_name():
    with pytest.raises(SettingsError, match="near 'lonely'"):
        timeline_figure([Panel("lonely", [], [])])


def test_a_curve_is_faint_where_the_words_do_not_occur():
    observed = YEARS < 1900.0
    panel = Panel("word", [curve_of("other", 0.9, 0.1, observed)], [])
    (line,) = curves_in(timeline_figure([panel]).axes[0])
    strengths = [colour[3] for colour in line.get_colors()]
    assert strengths[0] == 1.0
    assert strengths[-1] < 0.5


def test_the_pieces_of_a_curve_join_without_a_gap():
    observed = np.random.default_rng(0).random(len(YEARS)) < 0.5
    (line,) = curves_in(timeline_figure([Panel("word", [curve_of("other", 0.9, 0.1, observed)], [])]).axes[0])
    pieces = [path.vertices for path in line.get_paths()]
    assert len(pieces) > 5
    assert all((one[-1] == other[0]).all() for one, other in itertools.pairwise(pieces))
    assert (pieces[0][0, 0], pieces[-1][-1, 0]) == (YEARS[0], YEARS[-1])


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
    curves = [(name, years, heights, heights, heights) for name, heights in (("wild", wild), ("unknown", unknown))]
    assert names_in(timeline_figure([Panel("word", curves, [])]).axes[0], "left") == ["wild"]


def test_a_figure_of_running_means_says_so():
    years = np.linspace(1800.0, 2000.0, 200)
    wild = 0.5 + 0.3 * (-1.0) ** np.arange(200)
    assert (
        timeline_figure([Panel("word", [("other", years, wild, wild, wild)], [])]).get_supylabel()
        == "similarity (running means)"
    )
    assert timeline_figure([panel_of()]).get_supylabel() == "similarity"


def test_support_is_exact_where_slices_are_far_apart():
    observed = np.array([True, False, True])
    assert support(np.array([0.0, 50.0, 100.0]), observed).tolist() == [1.0, 0.0, 1.0]


def test_support_is_a_share_where_slices_are_dense():
    times = np.arange(1000.0)
    assert support(times, times % 2 == 0) == pytest.approx(0.5, abs=0.05)


def test_a_curve_that_is_nowhere_known_gets_no_name():
    unknown = ("nowhere", YEARS, np.full(41, np.nan), np.full(41, np.nan), np.full(41, np.nan))
    axes = drawn(timeline_figure([Panel("word", [unknown, curve_of("known", 0.5, 0.6)], [])])).axes[0]
    assert names_in(axes, "left") == ["known"]


def test_the_panels_of_a_model_are_the_words_that_changed_most():
    model = model_of("smoother", seed=3)
    words = list(model.changed(TIMES[0], TIMES[-1], top=3, min_occurrences=20)["word"])
    panels = timeline_of(model, top=3)
    assert [panel.word for panel in panels] == words
    assert timeline_figure(panels).axes[0].get_title() == words[0]


def test_a_panel_runs_between_the_two_times():
    (panel,) = timeline_of(model_of("smoother", seed=3), ["always"], since=1851.6, until=1861.5)
    assert all(curve.times.tolist() == [1851.6, 1851.75, 1854.0, 1860.125, 1861.0, 1861.5] for curve in panel.starts)


@pytest.mark.parametrize("kind", ["smoother", "point"])
def test_only_a_posterior_gives_a_half_way_interval(kind):
    (panel,) = timeline_of(model_of(kind, seed=3), ["always"])
    assert (panel.halfway is None) == (kind == "point")


def test_an_unknown_word_of_a_timeline_is_refused():
    with pytest.raises(UnknownWordError, match="alway"):
        timeline_of(model_of("smoother"), ["alway"])


@pytest.mark.parametrize("asked", [{"top": 13}, {"words": ["always"] * 13}, {"words": []}, {"since": "last", "until": "first"}])
def test_a_timeline_that_cannot_be_drawn_is_refused_before_the_work(asked):
    with pytest.raises(SettingsError):
        timeline_of(model_of("smoother"), **asked)


def test_several_methods_give_a_panel_per_pair_with_a_line_per_method():
    pairs = [("oil", "gas"), ("oil", "war"), ("men", "women")]
    methods = [("smoothing", 0.8, True), ("independent", 0.3, False)]
    table = table_of(*((method, *pair, height, band) for method, height, band in methods for pair in pairs))
    panels = shown_panels(similarity_figure(table))
    assert [axes.get_title() for axes in panels] == ["oil \u2013 gas", "oil \u2013 war", "men \u2013 women"]
    for axes in panels:
        assert names_in(axes, "right") == ["independent", "smoothing"]
        drawn_colours = {tuple(art.get_colors()[0]) for art in curves_in(axes)}
        assert drawn_colours == {to_rgba(METHOD_COLOURS[method]) for method in ("independent", "smoothing")}


def test_one_model_gives_a_panel_per_word_with_a_line_per_other_word():
    table = table_of(("m", "oil", "gas", 0.8, True), ("m", "oil", "war", 0.2, True))
    (axes,) = shown_panels(similarity_figure(table.drop(columns="method")))
    assert (axes.get_title(), names_in(axes, "right")) == ("oil", ["war", "gas"])


def test_a_method_without_intervals_has_no_band():
    table = table_of(("smoothing", "a", "b", 0.8, True), ("independent", "a", "b", 0.3, False))
    axes = similarity_figure(table).axes[0]
    bands = [art for art in axes.collections if not isinstance(art, LineCollection)]
    assert [tuple(band.get_facecolor()[0][:3]) for band in bands] == [to_rgba(METHOD_COLOURS["smoothing"])[:3]]


def test_many_bands_become_whiskers():
    figure = similarity_figure(table_of(*(("m", "a", f"b{n}", 0.1 * n, True) for n in range(5))))
    assert not any("FillBetween" in type(art).__name__ for art in figure.axes[0].collections)
    upright = [art for art in figure.axes[0].collections if isinstance(art, LineCollection) and art.zorder == 1.5]
    assert [len(art.get_paths()) for art in upright] == [5] * 5


def test_the_band_of_a_word_not_seen_does_not_flatten_the_curve():
    heights = np.full(41, 0.5)
    seen = YEARS > 1900.0
    reach = np.where(seen, 0.05, 30.0)
    table = {"time": YEARS, "word": ["a"] * 41, "other": ["b"] * 41, "similarity": heights, "low": heights - reach}
    table |= {"high": heights + reach, "occurrences": seen.astype(int)}
    bottom, top = similarity_figure(table).axes[0].get_ylim()
    assert 0.3 < bottom < 0.45
    assert 0.55 < top < 0.7


def test_a_data_frame_and_a_dict_of_lists_give_the_same_picture(tmp_path):
    frame = table_of(("smoothing", "a", "b", 0.8, True), ("independent", "a", "b", 0.3, False))
    pictures = [io.BytesIO(), io.BytesIO()]
    for table, picture in zip((frame, {name: frame[name].tolist() for name in frame}), pictures, strict=True):
        with styled():
            similarity_figure(table).savefig(picture, format="png", dpi=50)
    assert pictures[0].getvalue() == pictures[1].getvalue()


def test_rows_of_a_table_may_come_in_any_order():
    table = table_of(("m", "a", "b", 0.8, True))
    mixed = table.sample(frac=1.0, random_state=1)
    assert (curves_of(mixed)["m", "a", "b"].similarity == curves_of(table)["m", "a", "b"].similarity).all()


@pytest.mark.parametrize("others", [0, 8])
def test_no_line_or_too_many_lines_are_refused(others):
    lines = [("m", "a", f"b{n}", 0.5, True) for n in range(others)]
    table = table_of(*lines) if lines else {"time": [], "word": [], "other": [], "similarity": []}
    with pytest.raises(SettingsError):
        similarity_figure(table)


def test_a_single_slice_is_a_dot():
    axes = drawn(similarity_figure(table_of(("m", "a", "b", 0.8, True), times=np.array([1900.0])))).axes[0]
    assert any(len(art.get_offsets()) == 1 and art.get_sizes().size for art in axes.collections if hasattr(art, "get_sizes"))


def test_a_short_time_has_days_for_ticks():
    figure = drawn(similarity_figure(table_of(("m", "a", "b", 0.8, True), times=np.linspace(2016.1, 2016.9, 40))))
    assert "2016-07-02" in [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert_all_text_is_inside(figure)


@pytest.mark.parametrize(("year", "day"), [(2016.0, "2016-01-01"), (2016.5, "2016-07-02"), (1850.999, "1850-12-31")])
def test_a_float_year_is_a_day(year, day):
    assert day_of(year) == day


def test_the_table_of_several_models_holds_the_similarity_of_each():
    models = {"one": model_of("smoother", seed=1), "two": model_of("point", seed=2)}
    table = similarity_of(models, [("always", "gaps"), ("gaps", "late")])
    curves = curves_of(table)
    assert list(curves) == [(name, *pair) for name in models for pair in (("always", "gaps"), ("gaps", "late"))]
    expected = models["two"].similarity("gaps", "late")["similarity"].to_numpy()
    assert curves["two", "gaps", "late"].similarity == pytest.approx(expected)
    assert np.isnan(curves["two", "gaps", "late"].low).all()
