"""The map of words over time: panels, trails and names, and the words and times that are on it."""

from xml.etree import ElementTree

import numpy as np
import pytest
from embeddings.models import model_of
from figures.boxes import boxes_of, no_two_overlap
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.text import Annotation

from wordtide.errors import SettingsError, UnknownWordError
from wordtide.figures import style
from wordtide.figures.map_figure import map_figure, map_of, map_slices
from wordtide.figures.style import save_figure

#: The first bytes of a file of each format.
BEGINNINGS = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "pdf": b"%PDF-"}
HOSTILE = ["$x^2$", "a$b", "</script>", "漢字", "😀", "שלום", "\x07", "__proto__"]
WORDS = [f"word{number}" for number in range(60)]
TITLES = ["1800", "1850", "1900", "1950"]


def layout_of(slices=4, words=60, seed=0):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((words, 2)) + 0.02 * np.cumsum(
        generator.standard_normal((slices, words, 2)), axis=0
    )


def panels_of(figure):
    return [axes for axes in figure.axes if axes.get_title()]


def names_in(axes):
    return [text for text in axes.texts if isinstance(text, Annotation)]


def trails_in(axes):
    return [collection for collection in axes.collections if isinstance(collection, LineCollection)]


def model_with(words=30):
    return model_of("smoother", {f"word{number}": [0, 2, 4, 5, 7] for number in range(words)} | {"rare": [3]})


@pytest.fixture(scope="module")
def plain():
    """The panels of a map without chosen names."""
    return panels_of(map_figure(layout_of(), WORDS, TITLES))


@pytest.fixture(scope="module")
def all_named():
    """A map on which all words should be named."""
    return map_figure(layout_of(), WORDS, TITLES, labelled=WORDS)


@pytest.fixture(scope="module")
def names_in_a_crowd():
    """The names in the first panel of a map on which all words but one are at one place."""
    layout = 1e-6 * layout_of()
    layout[:, -1] = 1.0
    figure = map_figure(layout, WORDS, TITLES, labelled=WORDS)
    return {text.get_text() for text in names_in(panels_of(figure)[0])}


@pytest.fixture(scope="module")
def mapped():
    """The figure and the rows of a model's map at two times."""
    return map_of(model_with(), times=[1851, 1861])


def test_there_is_a_panel_for_each_time(plain):
    assert [axes.get_title() for axes in plain] == TITLES


def test_all_panels_have_the_same_limits(plain):
    assert len({(axes.get_xlim(), axes.get_ylim()) for axes in plain}) == 1


def test_every_word_is_inside_the_limits(plain):
    low, high = np.array([plain[0].get_xlim(), plain[0].get_ylim()]).T
    assert ((layout_of() > low) & (layout_of() < high)).all()


def test_the_first_panel_has_no_trails(plain):
    assert trails_in(plain[0]) == []


def test_trails_lead_from_the_panel_before():
    layout = layout_of()
    trails = trails_in(panels_of(map_figure(layout, WORDS, TITLES, labelled=["word7"]))[2])[-1]
    np.testing.assert_allclose(trails.get_segments()[0], layout[1:3, 7])


def test_far_trails_have_another_color_than_near_ones():
    layout = layout_of()
    layout[1, 5] += 2.0
    trails = trails_in(panels_of(map_figure(layout, WORDS, TITLES))[1])[0]
    furthest, nearest = trails.get_colors()[-1][:3], trails.get_colors()[0][:3]
    assert np.abs(furthest - nearest).max() > 0.3


def test_the_labelled_words_are_named_in_each_panel():
    figure = map_figure(layout_of(), WORDS, TITLES, labelled=["word3", "word9"])
    assert [{text.get_text() for text in names_in(axes)} for axes in panels_of(figure)] == 4 * [
        {"word3", "word9"}
    ]


def test_names_do_not_collide_even_if_all_words_are_asked_for(all_named):
    assert all(no_two_overlap(boxes_of(all_named, names_in(axes))) for axes in panels_of(all_named))


def test_names_stay_inside_their_panel(all_named):
    renderer = FigureCanvasAgg(all_named).get_renderer()
    for axes in panels_of(all_named):
        frame = axes.get_window_extent(renderer)
        assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes_of(all_named, names_in(axes)))


def test_where_words_crowd_the_first_ones_are_named(names_in_a_crowd):
    assert "word0" in names_in_a_crowd


def test_where_words_crowd_some_are_not_named(names_in_a_crowd):
    assert len(names_in_a_crowd) < len(WORDS)


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


@pytest.mark.parametrize("stretch", [(1.0, 1.0), (3.0, 1.0), (1.0, 3.0)])
def test_panels_fill_the_height_of_the_figure(stretch):
    figure = map_figure(layout_of() * stretch, WORDS, TITLES)
    figure.draw_without_rendering()
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    used = max(box.y1 for box in boxes) - min(box.y0 for box in boxes)
    assert used > 0.85 * figure.bbox.height


def test_a_layout_without_motion_can_be_drawn(tmp_path):
    still = np.repeat(layout_of(1), 4, axis=0)
    figure = map_figure(still, WORDS, TITLES)
    for axes in panels_of(figure)[1:]:
        for trails in trails_in(axes):
            assert all(np.ptp(trail, axis=0).max() == 0.0 for trail in trails.get_segments())
    assert save_figure(figure, tmp_path / "still.png").read_bytes().startswith(BEGINNINGS["png"])


@pytest.mark.parametrize("ending", [ending.removeprefix(".") for ending in style.ENDINGS])
def test_hostile_words_are_drawn_as_they_are(tmp_path, ending):
    words = [*HOSTILE, *WORDS[len(HOSTILE) :]]
    figure = map_figure(layout_of(), words, ["$1$", *TITLES[1:]], labelled=HOSTILE)
    content = save_figure(figure, tmp_path / f"map.{ending}").read_bytes()
    assert content.startswith(BEGINNINGS[ending])
    if ending == "svg":
        drawn = {
            text.text for text in ElementTree.fromstring(content).iter("{http://www.w3.org/2000/svg}text")
        }
        assert {style.printable(word) for word in HOSTILE} <= drawn


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


@pytest.mark.parametrize(
    "times", [[], [1861, 1854], [1854, 1854], [1851.0 + number for number in range(7)]], ids=str
)
def test_times_out_of_order_or_too_many_are_refused(times):
    with pytest.raises(SettingsError):
        map_slices(model_with(), times)


def test_the_map_of_a_model_has_a_row_for_each_word_and_time(mapped):
    _, rows = mapped
    assert [(row["word"], row["time"]) for row in rows[:3]] == [
        ("word0", 1851.5),
        ("word0", 1861.0),
        ("word1", 1851.5),
    ]


def test_rows_of_the_map_are_where_its_points_are(mapped):
    figure, rows = mapped
    drawn = np.concatenate([axes.collections[-2].get_offsets() for axes in panels_of(figure)])
    listed = [[row["x"], row["y"]] for time in (1851.5, 1861.0) for row in rows if row["time"] == time]
    np.testing.assert_allclose(drawn, listed)


def test_the_same_seed_gives_the_same_map(mapped):
    assert map_of(model_with(), times=[1851, 1861])[1] == mapped[1]


def test_the_map_holds_the_most_frequent_words():
    # occurrences grow with the number of the word
    assert {row["word"] for row in map_of(model_with(), top=12)[1]} == {
        f"word{number}" for number in range(18, 30)
    }


def test_labelled_words_are_on_the_map_though_they_are_rare():
    assert "word0" in {row["word"] for row in map_of(model_with(), top=12, labelled=["word0"])[1]}


def test_titles_are_dates():
    figure, _ = map_of(model_with(), times=[1851, 1853.3])
    assert [axes.get_title() for axes in panels_of(figure)] == ["1851", "1853.3"]


def test_too_few_words_make_no_map():
    with pytest.raises(SettingsError, match="too few"):
        map_of(model_with(), top=2)


def test_a_word_that_is_not_there_is_refused():
    with pytest.raises(UnknownWordError):
        map_of(model_with(), labelled=["nowhere"])


def test_the_same_figure_has_the_same_bytes_in_every_format(tmp_path):
    for n in (1, 2):
        figure = map_figure(layout_of(), WORDS, TITLES)
        for ending in ("png", "svg", "pdf", "PNG"):
            save_figure(figure, tmp_path / f"{n}.{ending}", dpi=60)
    for ending in ("png", "svg", "pdf", "PNG"):
        assert (tmp_path / f"1.{ending}").read_bytes() == (tmp_path / f"2.{ending}").read_bytes()
