"""The page of a report: its tables and figures, and the escaping of text from outside."""

from wordtide.evaluation.report import report_page

ROW = {
    **{
        "method": "smoothing",
        "mean": -0.5,
        "standard_error": 0.01,
        "difference": 0.0,
        "difference_error": None,
        "wins": 3,
    },
    **{"slices": 4, "mean_of_all": -0.5, "standard_error_of_all": 0.01, "all_slices": 4, "seconds": 12.34},
}
MOTION = {
    **{
        "method": "smoothing",
        "words": 1200,
        "slices": 7,
        "first_distance": 0.1,
        "last_distance": 0.5,
        "directedness": 5.0,
    },
    "relative_step": None,
}


def page_of(label="1900", rows=(ROW,), motion=(MOTION,), pictures=None):
    facts = {
        **{
            "wordtide": "1.0",
            "slices": 40,
            "first_slice": label,
            "last_slice": "1940",
            "words": 1000,
            "pairs": 12345.6,
        },
        **{"held_out": [{"label": label}], "settings": {"dim": 100, "negative_contexts": None}},
    }
    return report_page(facts, rows, motion, {"likelihood.png": b"picture"} if pictures is None else pictures)


def test_numbers_stand_in_the_table():
    assert "<td>smoothing</td><td>-0.5000</td><td>0.0100</td><td>0.0000</td><td></td><td>3</td>" in page_of()


def test_training_times_have_one_decimal():
    assert "<td>12.3</td>" in page_of()


def test_figures_are_inside_the_page():
    assert 'src="data:image/png;base64,cGljdHVyZQ=="' in page_of()


def test_a_figure_that_was_not_made_is_left_out():
    assert "<img" not in page_of(pictures={})


def test_labels_are_escaped():
    page = page_of(label="<script>alert(1)</script>")
    assert "<script>" not in page
    assert page.count("&lt;script&gt;") == 2


def test_the_table_of_motion_states_the_number_of_slices():
    assert "<th>after 7 slices</th>" in page_of()


def test_without_motion_the_page_gives_the_reason():
    assert "No word occurs in all of the compared slices" in page_of(motion=())
