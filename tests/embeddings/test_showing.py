"""Models and answers in notebooks: their numbers, and the escaping of text from outside."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from embeddings.models import KINDS, PLACES, model_of, well_known

import wordtide
from wordtide.embeddings.frames import AnswerFrame
from wordtide.embeddings.notebook import answer_html, result_html, table_html
from wordtide.embeddings.sketches import bars, curve, span_of, stretch, whisker
from wordtide.evaluation.comparison import COLUMNS
from wordtide.evaluation.evaluate import Evaluation
from wordtide.evaluation.tuning.tune import Tuning

pytestmark = pytest.mark.filterwarnings("ignore::wordtide.NoteWarning")
EVIL = '<script>alert("1")</script>'
SLY = "'\"><img src=x onerror=alert(1)>"
ALLOWED = {
    *("div", "b", "table", "thead", "tbody", "tr", "th", "td", "bdi", "br", "p", "details", "summary"),
    *("svg", "line", "circle", "rect", "polyline", "polygon", "g"),
}


class Reader(HTMLParser):
    """Collects tags, attributes and texts, and checks that what opens is closed."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.texts, self.open = set(), set(), [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}
        if tag != "br":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(self.texts)


def every_display(model, word, other):
    yield model
    yield model.neighbors(word)
    yield model.neighbors_over_time(word)
    yield model.similarity(word, other)
    yield model.changed(min_occurrences=0)
    yield model.story(word)
    yield model.axis([word], [other], ["gaps"])
    yield model.analogy(word)
    if model.kind != "point":
        yield model.surprises("last")


@pytest.mark.parametrize("kind", KINDS)
def test_words_and_labels_with_markup_are_shown_as_text(kind):
    places = {{"always": EVIL, "middle": SLY}.get(word, word): slices for word, slices in PLACES.items()}
    model = well_known(kind, places, labels=[f"<b onclick=x>{t}</b>" for t in range(8)])
    for shown in every_display(model, EVIL, SLY):
        html = shown._repr_html_()
        reader = Reader(html)
        assert reader.tags <= ALLOWED
        assert not {name for name in reader.attributes if name.startswith("on") or name in ("src", "href")}
        assert "<script" not in html
    card = Reader(model._repr_html_())
    assert EVIL in card.text
    assert "<b onclick=x>0</b>" in card.text


def test_the_card_of_a_model_shows_its_size_method_and_words():
    card = Reader(model_of("smoother")._repr_html_()).text
    for fact in (
        "smoothing (natural)",
        "8, from slice 0 to slice 7",
        "-0.3333 per pair",
        "0.05 per year",
        "always",
    ):
        assert fact in card


def test_the_card_of_a_model_without_posterior_notes_missing_intervals():
    assert "no posterior" in model_of("point")._repr_html_()
    assert "no posterior" not in model_of("filter")._repr_html_()


def test_a_story_begins_with_its_sentence_and_has_the_three_periods():
    story = well_known("smoother").story("always")
    text = Reader(story._repr_html_()).text
    assert story.attrs["sentence"] in text
    for period in ("start", "half-way", "end"):
        assert period in text
    assert text.index(story.attrs["sentence"]) < text.index("start")


def test_a_table_has_the_names_and_numbers_of_the_data_frame():
    table = well_known("smoother").neighbors("always")
    text = Reader(table._repr_html_()).text
    assert len(table) == 5
    for name in table.columns:
        assert name in text
    for word, low in zip(table["word"], table["low"], strict=True):
        assert word in text
        assert f"{low:.3f}" in text


@pytest.mark.parametrize(
    "column",
    [
        *("since", "until", "halfway_from", "halfway_to"),
    ],
)
def test_the_dates_of_words_that_changed_are_shown_as_years(column):
    table = well_known("smoother").changed(min_occurrences=1, by="low")
    shown = Reader(table_html({column: table[column].tolist()})).texts
    assert len(table) == 5
    assert [text for text in shown if text.strip()] == [column, *(str(int(date)) for date in table[column])]


def test_a_similarity_over_time_is_a_curve_with_a_band_and_its_rows():
    html = model_of("smoother").similarity("always", "gaps")._repr_html_()
    assert html.count("<polyline") == 1
    assert html.count("<polygon") == 1
    assert "8 rows" in Reader(html).text
    assert "<polygon" not in model_of("point").similarity("always", "gaps")._repr_html_()


def test_notes_are_shown():
    note = model_of("smoother").similarity("always", "gaps", times=[1990])
    assert note.attrs["notes"][0] in Reader(note._repr_html_()).text


def test_an_answer_is_a_data_frame_and_derived_frames_are_plain():
    answer = well_known("smoother").neighbors("always")
    assert isinstance(answer, pd.DataFrame)
    for derived in (
        answer.head(2),
        answer[["word", "low"]],
        answer.sort_values("low"),
        answer.copy(),
        pd.concat([answer, answer]),
    ):
        assert type(derived) is pd.DataFrame


def test_an_edited_answer_is_still_shown():
    answer = AnswerFrame(model_of("smoother").similarity("always", "gaps"))
    answer["time"] = "some day"
    answer["low"] = None
    answer[EVIL] = EVIL
    assert "<script" not in answer._repr_html_()
    assert "some day" in answer._repr_html_()


def test_long_tables_show_the_number_of_omitted_rows():
    html = table_html({"word": [f"w{n}" for n in range(1000)]})
    assert "w39<" in html
    assert "w40<" not in html
    assert "and 960 more rows" in html


def test_missing_values_are_empty_cells():
    html = answer_html({"word": ["a"], "similarity": [0.5], "low": [float("nan")], "high": [None]}, {})
    assert "nan" not in html.lower()
    assert "None" not in html
    assert "<circle" in html


def test_a_result_without_rows_is_shown_too():
    assert "all said" in result_html(["all said"], [])


def test_an_evaluation_shows_its_verdict_and_its_table(tmp_path):
    row = dict.fromkeys(COLUMNS, 1.0) | {
        "method": "smoothing",
        "mean": -0.604,
        "difference_error": None,
        "wins": 3,
        "slices": 4,
    }
    other = dict.fromkeys(COLUMNS, 0.01) | {
        "method": "filtering",
        "mean": -0.646,
        "difference": -0.04,
        "seconds": None,
    }
    text = Reader(Evaluation([], [row, other], [1], tmp_path)._repr_html_()).text
    assert "smoothing predicts best: -0.6040 per pair" in text
    assert "-0.646" in text
    assert "difference_error" in text


def test_a_tuning_shows_its_table(tmp_path):
    rows = [{"dim": 10, "mean": -0.61, "verdict": "best"}, {"dim": 20, "mean": -0.62, "verdict": "worse"}]
    text = Reader(Tuning(rows, [], {}, [], {}, {}, tmp_path)._repr_html_()).text
    assert "-0.610" in text
    assert "worse" in text


def test_a_whisker_spans_its_interval_in_proportion():
    html = whisker(0.25, 0.5, 1.0, (0.0, 1.0))
    assert re.findall(r'x[12]="([\d.]+)"', html) == ["22.0", "76.0"]
    assert 'cx="40.0"' in html
    assert whisker(0.0, float("nan"), 1.0, (0.0, 1.0)) == ""


def test_bars_that_would_overlap_are_added_up():
    times = np.linspace(1900.0, 2000.0, 5000)
    html = bars(times, np.ones(5000))
    assert html.count("<rect") == 120
    assert bars(np.array([1900.0]), np.array([3.0])).count("<rect") == 1


def test_sketches_of_one_moment_or_of_missing_values_are_drawn():
    one, nothing = np.array([1900.0]), np.array([np.nan])
    assert "<polyline" in curve(one, one, one, one, (0.0, 0.0))
    assert "<polyline" in curve(one, nothing, nothing, nothing, (0.0, 0.0))
    assert stretch(1900.0, 1950.0, float("nan"), float("nan")) == ""
    assert "<rect" in stretch(1900.0, 1950.0, 1890.0, 1910.0)
    assert span_of([float("nan")], []) == (0.0, 0.0)


def test_a_fitted_model_has_a_card():
    texts = [
        (year, f"the {power} drives the mill")
        for year in ("1850", "1900", "1950")
        for power in ("wheel", "engine")
    ]
    model = wordtide.fit(wordtide.count(texts), dim=4, threads=1)
    text = Reader(model._repr_html_()).text
    assert "3, from 1850 to 1950" in text
    assert "30 in all" in text
