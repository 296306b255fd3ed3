"""Scores of methods over time: reading them, and the figure."""

import numpy as np
import pytest

from wordtide.errors import InputError, SettingsError
from wordtide.figures.curves import running_mean
from wordtide.figures.labels import _EndLabels
from wordtide.figures.method_figures import likelihood_figure, read_scores
from wordtide.figures.style import METHOD_COLORS, save_figure

HEADER = "method,time,log_likelihood,pairs\n"
YEARS = np.arange(1900.0, 1950.0)


def scores_of(**means):
    generator = np.random.default_rng(0)
    return {
        "method": [method for method in means for _ in YEARS],
        "time": np.tile(YEARS, len(means)),
        "log_likelihood": np.concatenate(
            [mean + 0.01 * generator.standard_normal(len(YEARS)) for mean in means.values()]
        ),
        "pairs": np.full(len(YEARS) * len(means), 1000.0),
    }


def written(tmp_path, text):
    path = tmp_path / "scores.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def names_in(figure):
    return [
        text.get_text() for art in figure.axes[0].artists if isinstance(art, _EndLabels) for text in art.texts
    ]


def test_scores_are_read_by_the_names_of_columns(tmp_path):
    path = written(
        tmp_path,
        "pairs,note,time,method,log_likelihood\n10,x,1900.5,filtering,-2.25\n20,,1901,smoothing,-2\n",
    )
    scores = read_scores(path)
    assert scores["method"] == ["filtering", "smoothing"]
    assert [scores[name].tolist() for name in ("time", "log_likelihood", "pairs")] == [
        [1900.5, 1901],
        [-2.25, -2],
        [10, 20],
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (HEADER, "no row"),
        ("method,time,pairs\na,1,2\n", "line 1: there is no column log_likelihood"),
        (HEADER + "a,1900,-2,5\na,1901,oops,5\n", "line 3: log_likelihood is 'oops'"),
        (HEADER + "a,1900,nan,5\n", "line 2: log_likelihood is 'nan'"),
        (HEADER + "a,1900,-inf,5\n", "line 2: log_likelihood is '-inf'"),
        (HEADER + "a,,-2,5\n", "line 2: time is ''"),
        (HEADER + "a,1900,-2,0\n", "line 2: pairs is 0, not above 0"),
        (HEADER + ",1900,-2,5\n", "line 2: the method has no name"),
        (HEADER + "\n\na,1900,-2\n", "line 4: the row has 3 fields, the header 4"),
        (
            HEADER + "a,1900,-2,5\nb,1900,-2,5\na,1900,-3,5\n",
            "line 4: a has a score for 1900 in line 2 already",
        ),
        (HEADER + 'a,1900,-2,"5\n', "line 2: "),
        (HEADER.encode() + b"\xff,1900,-2,5\n", "not a text file in UTF-8"),
    ],
)
def test_bad_scores_are_refused_with_file_line_and_remedy(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(InputError) as error:
        read_scores(path)
    assert str(path) in error.value.problem
    assert message in error.value.problem
    assert error.value.remedy


@pytest.mark.parametrize(("name", "problem"), [("missing.csv", "does not exist"), (".", "is a folder")])
def test_a_file_that_cannot_be_read_is_refused(tmp_path, name, problem):
    with pytest.raises(InputError, match=problem):
        read_scores(tmp_path / name)


def test_a_byte_order_mark_and_windows_line_ends_are_no_harm(tmp_path):
    path = written(tmp_path, ("\ufeff" + HEADER + "a,1900,-2,5\n").replace("\n", "\r\n"))
    assert read_scores(path)["method"] == ["a"]


def test_each_line_is_named_with_its_mean_over_the_slices_that_all_predict():
    scores = {
        "method": ["a", "a", "a", "b", "b"],
        "time": [1900.0, 1901.0, 1902.0, 1901.0, 1902.0],
        "log_likelihood": [-9.0, -1.0, -2.0, -3.0, -4.0],
        "pairs": [1.0, 3000.0, 1000.0, 5.0, 7.0],
    }
    assert sorted(names_in(likelihood_figure(scores))) == ["a (mean -1.500)", "b (mean -3.500)"]


def test_methods_that_predict_no_slice_in_common_are_named_without_means():
    scores = {
        "method": ["a", "b"],
        "time": [1900.0, 1901.0],
        "log_likelihood": [-1.0, -2.0],
        "pairs": [1.0, 1.0],
    }
    assert sorted(names_in(likelihood_figure(scores))) == ["a", "b"]


def test_methods_have_their_colors_and_a_thin_and_a_strong_line():
    axes = likelihood_figure(scores_of(smoothing=-1.9, independent=-2.5)).axes[0]
    expected = [METHOD_COLORS[method] for method in ("smoothing", "smoothing", "independent", "independent")]
    assert [line.get_color() for line in axes.lines] == expected
    assert axes.lines[0].get_linewidth() < axes.lines[1].get_linewidth()


def test_the_running_mean_of_a_constant_is_the_constant():
    assert running_mean(YEARS, np.full(50, -2.5), np.arange(1.0, 51.0)) == pytest.approx(-2.5)


def test_the_running_mean_weighs_slices_by_their_pairs():
    times = np.array([0.0, 1.0, 100.0])
    assert running_mean(times, np.array([-1.0, -2.0, -9.0]), np.array([3.0, 1.0, 5.0])) == pytest.approx(
        [-1.25, -1.25, -9.0]
    )


def test_rows_may_come_in_any_order():
    scores = scores_of(a=-2.0)
    order = np.random.default_rng(1).permutation(len(YEARS))
    mixed = {"method": scores["method"]} | {
        name: scores[name][order] for name in ("time", "log_likelihood", "pairs")
    }
    heights = [likelihood_figure(table).axes[0].lines[1].get_ydata() for table in (scores, mixed)]
    assert heights[0] == pytest.approx(heights[1])


def test_no_scores_are_refused():
    with pytest.raises(SettingsError, match="no scores"):
        likelihood_figure({"method": [], "time": [], "log_likelihood": [], "pairs": []})


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_any_name_of_a_method_can_be_drawn(tmp_path, ending):
    figure = likelihood_figure(scores_of(**{"$\\bad{": -2.0, "\U0001f600" * 40: -2.1, "one": -2.1}))
    assert save_figure(figure, tmp_path / f"figure.{ending}").stat().st_size > 1000
