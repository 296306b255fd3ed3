"""The map of words over time, and the look that it shares with all figures: names beside lines, and files written whole."""

import os
import warnings

import matplotlib as mpl
import numpy as np
import pytest
from embeddings.models import model_of
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

from wordtide.errors import OutputError, SettingsError, UnknownWordError
from wordtide.figures import style
from wordtide.figures.map_figure import map_figure, map_of, map_slices
from wordtide.figures.style import check_figure_path, end_labels, method_style, save_figure, spread_apart, styled

HOSTILE = ["$x^2$", "a$b", "</script>", "漢字", "😀", "שלום", "\x07", "__proto__"]
WORDS = [f"word{number}" for number in range(60)]
TITLES = ["1800", "1850", "1900", "1950"]


def layout_of(slices=4, words=60, seed=0):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((words, 2)) + 0.02 * np.cumsum(generator.standard_normal((slices, words, 2)), axis=0)


def panels_of(figure):
    return [axes for axes in figure.axes if axes.get_title()]


def names_in(axes):
    return [text for text in axes.texts if isinstance(text, Annotation)]


def boxes_of(figure, texts):
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    return [Text.get_window_extent(text, renderer) for text in texts]  # without the line that leads to it


def no_two_overlap(boxes):
    return not any(one.overlaps(other) for number, one in enumerate(boxes) for other in boxes[:number])


def trails_in(axes):
    return [collection for collection in axes.collections if isinstance(collection, LineCollection)]


def model_with(words=30):
    return model_of("smoother", {f"word{number}": [0, 2, 4, 5, 7] for number in range(words)} | {"rare": [3]})


def test_there_is_a_panel_for_each_time():
    figure = map_figure(layout_of(), WORDS, TITLES)
    assert [axes.get_title() for axes in panels_of(figure)] == TITLES


def test_all_panels_have_the_same_limits():
    panels = panels_of(map_figure(layout_of(), WORDS, TITLES))
    assert len({(axes.get_xlim(), axes.get_ylim()) for axes in panels}) == 1


def test_every_word_is_inside_the_limits():
    layout = layout_of()
    axes = panels_of(map_figure(layout, WORDS, TITLES))[0]
    low, high = np.array([axes.get_xlim(), axes.get_ylim()]).T
    assert ((layout > low) & (layout < high)).all()


def test_the_first_panel_has_no_trails():
    assert trails_in(panels_of(map_figure(layout_of(), WORDS, TITLES))[0]) == []


def test_trails_lead_from_the_panel_before():
    layout = layout_of()
    trails = trails_in(panels_of(map_figure(layout, WORDS, TITLES, labelled=["word7"]))[2])[-1]
    np.testing.assert_allclose(trails.get_segments()[0], layout[1:3, 7])


def test_far_trails_have_another_colour_than_near_ones():
    layout = layout_of()
    layout[1, 5] += 2.0
    trails = trails_in(panels_of(map_figure(layout, WORDS, TITLES))[1])[0]
    furthest, nearest = trails.get_colors()[-1][:3], trails.get_colors()[0][:3]
    assert np.abs(furthest - nearest).max() > 0.3


def test_the_labelled_words_are_named_in_each_panel():
    figure = map_figure(layout_of(), WORDS, TITLES, labelled=["word3", "word9"])
    assert [{text.get_text() for text in names_in(axes)} for axes in panels_of(figure)] == 4 * [{"word3", "word9"}]


def test_names_do_not_collide_even_if_all_words_are_asked_for():
    figure = map_figure(layout_of(), WORDS, TITLES, labelled=WORDS)
    assert all(no_two_overlap(boxes_of(figure, names_in(axes))) for axes in panels_of(figure))


def test_names_stay_inside_their_panel():
    figure = map_figure(layout_of(), WORDS, TITLES, labelled=WORDS)
    renderer = FigureCanvasAgg(figure).get_renderer()
    for axes in panels_of(figure):
        frame = axes.get_window_extent(renderer)
        assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes_of(figure, names_in(axes)))


def test_where_words_crowd_the_first_ones_are_named():
    layout = 1e-6 * layout_of()
    layout[:, -1] = 1.0
    figure = map_figure(layout, WORDS, TITLES, labelled=WORDS)
    assert "word0" in {text.get_text() for text in names_in(panels_of(figure)[0])}


def test_where_words_crowd_some_are_not_named():
    layout = 1e-6 * layout_of()
    layout[:, -1] = 1.0
    figure = map_figure(layout, WORDS, TITLES, labelled=WORDS)
    assert len(names_in(panels_of(figure)[0])) < len(WORDS)


def test_without_a_choice_the_words_that_moved_furthest_are_named():
    layout = layout_of()
    layout[2:, 5] += 2.0
    figure = map_figure(layout, WORDS, TITLES)
    assert "word5" in {text.get_text() for text in names_in(panels_of(figure)[0])}


def test_frequent_words_have_larger_points():
    sizes = np.ones(60)
    sizes[4] = 1000.0
    cloud = panels_of(map_figure(layout_of(), WORDS, TITLES, sizes=sizes))[0].collections[0]
    assert cloud.get_sizes().argmax() == 4


@pytest.mark.parametrize("slices", [1, 2, 6])
def test_other_numbers_of_panels_can_be_drawn(slices):
    figure = map_figure(layout_of(slices), WORDS, [str(number) for number in range(slices)])
    assert len(panels_of(figure)) == slices


def test_a_layout_without_motion_can_be_drawn(tmp_path):
    still = np.repeat(layout_of(1), 4, axis=0)
    assert save_figure(map_figure(still, WORDS, TITLES), tmp_path / "still.png").stat().st_size > 0


@pytest.mark.parametrize("ending", style.ENDINGS)
def test_hostile_words_are_drawn_as_they_are(tmp_path, ending):
    words = [*HOSTILE, *WORDS[len(HOSTILE) :]]
    figure = map_figure(layout_of(), words, ["$1$", *TITLES[1:]], labelled=HOSTILE)
    assert save_figure(figure, tmp_path / f"map.{ending}").stat().st_size > 0


def test_a_dollar_sign_does_not_start_a_formula():
    words = ["$x^2$", *WORDS[1:]]
    names = names_in(panels_of(map_figure(layout_of(), words, TITLES, labelled=["$x^2$"]))[0])
    assert [(text.get_text(), text.get_parse_math()) for text in names] == [("$x^2$", False)]


@pytest.mark.parametrize(
    "changed",
    [
        {"layout": layout_of(3)},
        {"words": WORDS[:-1]},
        {"layout": np.full((4, 60, 2), np.nan)},
        {"layout": layout_of(7), "times": list("1234567")},
        {"sizes": np.ones(3)},
        {"sizes": -np.ones(60)},
        {"labelled": ["elsewhere"]},
    ],
    ids=["times", "words", "not finite", "many panels", "sizes", "negative sizes", "label"],
)
def test_what_does_not_fit_together_is_refused(changed):
    with pytest.raises(SettingsError):
        map_figure(**{"layout": layout_of(), "words": WORDS, "times": TITLES} | changed)


def test_the_times_of_a_map_are_spread_over_the_model():
    assert map_slices(model_with()) == [1850.25, 1854.0, 1862.9, 1870.5]


def test_times_of_a_map_can_be_given():
    assert map_slices(model_with(), [1854, 1861.0]) == [1854.0, 1861.0]


@pytest.mark.parametrize("times", [[], [1861, 1854], [1854, 1854], [1851.0 + number for number in range(7)]], ids=str)
def test_times_out_of_order_or_too_many_are_refused(times):
    with pytest.raises(SettingsError):
        map_slices(model_with(), times)


def test_the_map_of_a_model_has_a_row_for_each_word_and_time():
    _, rows = map_of(model_with(), times=[1851, 1861])
    assert [(row["word"], row["time"]) for row in rows[:3]] == [("word0", 1851.5), ("word0", 1861.0), ("word1", 1851.5)]


def test_rows_of_the_map_are_where_its_points_are():
    figure, rows = map_of(model_with(), times=[1851, 1861])
    drawn = np.concatenate([axes.collections[-2].get_offsets() for axes in panels_of(figure)])
    listed = [[row["x"], row["y"]] for time in (1851.5, 1861.0) for row in rows if row["time"] == time]
    np.testing.assert_allclose(drawn, listed)


def test_the_same_seed_gives_the_same_map():
    assert map_of(model_with(), seed=3)[1] == map_of(model_with(), seed=3)[1]


def test_the_map_holds_the_words_asked_for():
    words = [f"word{number}" for number in range(12)]
    assert {row["word"] for row in map_of(model_with(), words=words)[1]} == set(words)


def test_the_map_holds_the_most_frequent_words():
    # occurrences grow with the number of the word
    assert {row["word"] for row in map_of(model_with(), top=12)[1]} == {f"word{number}" for number in range(18, 30)}


def test_labelled_words_are_on_the_map_though_they_are_rare():
    assert "word0" in {row["word"] for row in map_of(model_with(), top=12, labelled=["word0"])[1]}


def test_titles_are_dates():
    figure, _ = map_of(model_with(), times=[1851, 1853.3])
    assert [axes.get_title() for axes in panels_of(figure)] == ["1851", "1853"]


def test_too_few_words_make_no_map():
    with pytest.raises(SettingsError, match="too few"):
        map_of(model_with(), words=["word1", "word2"])


def test_a_word_that_is_not_there_is_refused():
    with pytest.raises(UnknownWordError):
        map_of(model_with(), labelled=["nowhere"])


def lines_with_names(values, side="right"):
    with styled():
        figure = Figure(figsize=(3.0, 2.0))
        axes = figure.subplots()
        for value in values:
            axes.plot([0.0, 1.0], [value, value])
        end_labels(axes, [(1.0, value, f"at {value}", style.BLUE) for value in values], side)
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


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "PNG"])
def test_a_figure_made_anew_gives_the_same_bytes(tmp_path, ending):
    first, second = (save_figure(map_figure(layout_of(), WORDS, TITLES), tmp_path / f"{n}.{ending}") for n in (1, 2))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("name", ["figure.jpg", "figure", "figure.", ".png"])
def test_an_unknown_ending_is_refused_with_those_that_are_known(tmp_path, name):
    with pytest.raises(SettingsError, match=r"\.png, \.svg or \.pdf"):
        check_figure_path(tmp_path / name)


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(OutputError, match="mkdir -p"):
        check_figure_path(tmp_path / "missing" / "figure.png")


def test_a_folder_is_not_written_over(tmp_path):
    (tmp_path / "figure.png").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
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


def test_known_methods_differ_in_colour_and_dashes():
    styles = [method_style(method) for method in style.METHOD_COLOURS]
    assert len({colour for colour, _ in styles}) == len({dashes for _, dashes in styles}) == len(styles)


def test_unknown_methods_differ_from_known_ones_and_each_other():
    styles = {method_style(name, number) for number, name in enumerate("abcdefgh")}
    assert len(styles | {method_style(method) for method in style.METHOD_COLOURS}) == 8 + len(style.METHOD_COLOURS)
