"""The figure of similarity: a panel per pair with a line per method, or a panel per word."""

import io

import numpy as np
import pytest
from embeddings.models import model_of
from figures.lines import YEARS, assert_all_text_is_inside, curves_in, drawn, names_in, shown_panels, table_of
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba

from wordtide.errors import SettingsError
from wordtide.figures.curves import curves_of
from wordtide.figures.similarity_figure import similarity_figure, similarity_of
from wordtide.figures.style import METHOD_COLORS, styled


def test_several_methods_give_a_panel_per_pair_with_a_line_per_method():
    pairs = [("oil", "gas"), ("oil", "war"), ("men", "women")]
    methods = [("smoothing", 0.8, True), ("independent", 0.3, False)]
    table = table_of(*((method, *pair, height, band) for method, height, band in methods for pair in pairs))
    panels = shown_panels(similarity_figure(table))
    assert [axes.get_title() for axes in panels] == ["oil \u2013 gas", "oil \u2013 war", "men \u2013 women"]
    for axes in panels:
        assert names_in(axes, "right") == ["independent", "smoothing"]
        drawn_colors = {tuple(art.get_colors()[0]) for art in curves_in(axes)}
        assert drawn_colors == {to_rgba(METHOD_COLORS[method]) for method in ("independent", "smoothing")}


def test_one_model_gives_a_panel_per_word_with_a_line_per_other_word():
    table = table_of(("m", "oil", "gas", 0.8, True), ("m", "oil", "war", 0.2, True))
    (axes,) = shown_panels(similarity_figure(table.drop(columns="method")))
    assert (axes.get_title(), names_in(axes, "right")) == ("oil", ["war", "gas"])


def test_a_method_without_intervals_has_no_band():
    table = table_of(("smoothing", "a", "b", 0.8, True), ("independent", "a", "b", 0.3, False))
    axes = similarity_figure(table).axes[0]
    bands = [art for art in axes.collections if not isinstance(art, LineCollection)]
    assert [tuple(band.get_facecolor()[0][:3]) for band in bands] == [to_rgba(METHOD_COLORS["smoothing"])[:3]]


def test_bands_that_would_cover_each_other_become_whiskers():
    figure = similarity_figure(table_of(*(("m", "a", f"b{n}", 0.1 * n, True) for n in range(5))))
    assert not any("FillBetween" in type(art).__name__ for art in figure.axes[0].collections)
    upright = [
        art for art in figure.axes[0].collections if isinstance(art, LineCollection) and art.zorder == 1.5
    ]
    assert [len(art.get_paths()) for art in upright] == [4] * 5


def test_bands_that_lie_apart_stay_bands():
    figure = similarity_figure(table_of(*(("m", "a", f"b{n}", 0.3 * n, True) for n in range(3))))
    assert sum("FillBetween" in type(art).__name__ for art in figure.axes[0].collections) == 3


def test_a_single_band_stays_a_band_however_wide():
    table = table_of(("m", "a", "b", 0.0, True)).assign(low=-1.0, high=1.0)
    assert any("FillBetween" in type(art).__name__ for art in similarity_figure(table).axes[0].collections)


def test_the_band_of_a_word_not_seen_does_not_flatten_the_curve():
    heights = np.full(41, 0.5)
    seen = YEARS > 1900.0
    reach = np.where(seen, 0.05, 30.0)
    table = {
        "time": YEARS,
        "word": ["a"] * 41,
        "other": ["b"] * 41,
        "similarity": heights,
        "low": heights - reach,
    }
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


@pytest.mark.parametrize("others", [0, 8])
def test_no_line_or_too_many_lines_are_refused(others):
    lines = [("m", "a", f"b{n}", 0.5, True) for n in range(others)]
    table = table_of(*lines) if lines else {"time": [], "word": [], "other": [], "similarity": []}
    with pytest.raises(SettingsError):
        similarity_figure(table)


def test_a_single_slice_is_a_dot():
    axes = drawn(similarity_figure(table_of(("m", "a", "b", 0.8, True), times=np.array([1900.0])))).axes[0]
    assert any(
        len(art.get_offsets()) == 1 and art.get_sizes().size
        for art in axes.collections
        if hasattr(art, "get_sizes")
    )


def test_a_short_time_has_days_for_ticks():
    figure = drawn(
        similarity_figure(table_of(("m", "a", "b", 0.8, True), times=np.linspace(2016.1, 2016.9, 40)))
    )
    assert "2016-07-02" in [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert_all_text_is_inside(figure)


def test_the_table_of_several_models_holds_the_similarity_of_each():
    models = {"one": model_of("smoother", seed=1), "two": model_of("point", seed=2)}
    table = similarity_of(models, [("always", "gaps"), ("gaps", "late")])
    curves = curves_of(table)
    assert list(curves) == [
        (name, *pair) for name in models for pair in (("always", "gaps"), ("gaps", "late"))
    ]
    expected = models["two"].similarity("gaps", "late")["similarity"].to_numpy()
    assert curves["two", "gaps", "late"].similarity == pytest.approx(expected)
    assert np.isnan(curves["two", "gaps", "late"].low).all()
