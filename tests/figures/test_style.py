"""The look that all figures share: colors, and files written whole or not at all."""

import os
import warnings

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from wordtide.errors import OutputError, SettingsError
from wordtide.figures import style
from wordtide.figures.style import check_figure_path, method_style, save_figure, styled


@pytest.mark.parametrize("name", ["figure.jpg", "figure", "figure.", ".png"])
def test_an_unknown_ending_is_refused_with_those_that_are_known(tmp_path, name):
    with pytest.raises(SettingsError, match=r"\.png, \.svg or \.pdf"):
        check_figure_path(tmp_path / name)


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(OutputError, match="mkdir -p"):
        check_figure_path(tmp_path / "missing" / "figure.png")


def test_a_folder_is_not_written_over(tmp_path):
    (tmp_path / "figure.png").mkdir()
    with pytest.raises(OutputError, match="is not a file"):
        check_figure_path(tmp_path / "figure.png")


def test_a_name_that_is_too_long_is_an_output_error(tmp_path):
    with pytest.raises(OutputError):
        save_figure(Figure(), tmp_path / f"{300 * 'x'}.png")


def test_a_figure_replaces_the_one_before(tmp_path):
    (tmp_path / "figure.svg").write_text("old")
    save_figure(Figure(), tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_a_failed_write_leaves_what_was_there_and_nothing_else(tmp_path, monkeypatch):
    (tmp_path / "figure.png").write_text("old")

    def fail(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OutputError, match="disk is full"):
        save_figure(Figure(), tmp_path / "figure.png")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"figure.png": "old"}


def test_the_look_leaves_no_trace():
    before = dict(mpl.rcParams)
    with styled():
        pass
    assert dict(mpl.rcParams) == before


def test_the_look_is_the_same_whatever_was_set_before():
    with mpl.rc_context({"lines.marker": "o", "font.size": 30.0}), styled():
        assert (mpl.rcParams["lines.marker"], mpl.rcParams["font.size"]) == ("None", 8.0)


def test_warnings_of_others_are_still_heard():
    with styled(), pytest.warns(UserWarning, match="something else"):
        warnings.warn("something else", UserWarning, stacklevel=1)


def test_known_methods_differ_in_color_and_dashes():
    styles = [method_style(method) for method in style.METHOD_COLORS]
    assert len({color for color, _ in styles}) == len({dashes for _, dashes in styles}) == len(styles)


def test_unknown_methods_differ_from_known_ones_and_each_other():
    styles = {method_style(name, number) for number, name in enumerate("abcdefgh")}
    assert len(styles | {method_style(method) for method in style.METHOD_COLORS}) == 8 + len(
        style.METHOD_COLORS
    )
