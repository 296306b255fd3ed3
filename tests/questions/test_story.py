"""The story of a word: a sentence with dates and intervals, complete facts, and neighbours at three times."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from embeddings.models import KINDS, TIMES, WORDS, crowd, diffusion_of, model_of
from oracles.questions import YEARS, is_inferred, planted

from wordtide.api import DynamicEmbeddings
from wordtide.errors import SettingsError
from wordtide.model.verdicts import SHAPES, Dynamics
from wordtide.questions.effect import VERDICT
from wordtide.questions.movement import change_of, movement, shown_halfway
from wordtide.questions.neighbors import neighbors
from wordtide.questions.story import SentenceParts, degrees, sentence, story
from wordtide.questions.vectors import vectors_of

COLUMNS = [
    "period",
    "time",
    "word",
    "similarity",
    "low",
    "high",
    "probability",
    "occurrences",
    "faint",
    "inferred",
]
FACTS = [
    "sentence", "word", "since", "until", "change", "low", "high", "halfway", "halfway_from", "halfway_to", "from", "to",
    "occurrences",
    *VERDICT,
]  # fmt: skip
MODELS = {kind: model_of(kind) for kind in KINDS}
each_kind = pytest.mark.parametrize("kind", KINDS)
uncertain = pytest.mark.parametrize("kind", ["filter", "smoother"])
PLOT = {
    **{"word": "mover", "start": "1900", "end": "1911", "lost": "old", "gained": "new"},
    **{"when": "it jumped in 1905", "judged": True, "change": 0.5, "low": 0.1, "high": 1.0},
}
NAMES = ["mover", "stayer", *(f"{topic}{n}" for topic in ("old", "new") for n in range(4))]


def topics(kind):
    """A word that goes from an old topic to a new one in 1905 or 1906, at right angles; and one that stays."""
    generator = np.random.default_rng(0)
    old, new = 4.0 * np.eye(2, 8)
    path = np.where(np.arange(12)[:, None] < 6, old, new)
    near = [topic + generator.standard_normal((4, 1, 8)) + np.zeros((1, 12, 1)) for topic in (old, new)]
    means = np.concatenate([[path, np.tile(old, (12, 1))], *near])
    return planted(kind, means, {"smoother": 100.0, "filter": 0.01, "point": None}[kind], words=NAMES)


def hazy():
    """As `topics`, and known so badly that nothing can be said of movement."""
    posterior = topics("smoother").fitted.posterior
    return planted(
        "smoother", posterior.mean_u.reshape(10, 12, 8), 0.01, words=NAMES, constant=1.0, prior_variance=20.0
    )


@uncertain
def test_the_sentence_tells_from_what_to_what_between_which_dates_and_how_sure(kind):
    facts = story(topics(kind), "mover", "first", "last").facts
    lost, gained = (", ".join(facts[name].split(", ")[:3]) for name in ("from", "to"))
    low, turned, high = (degrees(facts[name]) for name in ("low", "change", "high"))
    assert {name[:3] for name in facts["from"].split(", ")} <= {"old", "sta"}
    assert {name[:3] for name in facts["to"].split(", ")} == {"new"}
    low_date, date, high_date = (int(facts[name]) for name in ("date_low", "date", "date_high"))
    when = {
        "jump": f"it jumped in {date}" + (f" ({low_date} to {high_date})" if low_date < high_date else ""),
        "gradual": f"gradually from {low_date} to {high_date}",
    }[facts["verdict"]]
    assert 1904.5 < facts["date_low"] < 1905.6 < facts["date_high"] < 1907.0
    assert facts["sentence"] == (
        f"mover moved from {lost} (1900) to {gained} (1911); {when}; turned by {turned} ({low} to {high})."
    )
    assert 0.0 < facts["low"] < facts["change"] < facts["high"]


@pytest.mark.parametrize(
    ("shape", "when"),
    [
        ("jump", "; it jumped in 1905 (1903 to 1907);"),
        ("gradual", "; gradually from 1903 to 1907;"),
        ("two jumps", "; it jumped twice, in 1905 and 1909;"),
        ("burst", "; it jumped in 1905 and came back in 1909;"),
    ],
)
def test_the_sentence_says_how_a_word_changed(shape, when):
    model = topics("smoother")
    found = {name: values.copy() for name, values in vars(model.dynamics).items()}
    dates = {"date_low": 1903.4, "date": 1905.8, "date_high": 1907.2}
    if shape in ("two jumps", "burst"):
        dates["second_date"] = 1909.3
    for name, value in {"shape": SHAPES.index(shape), "correlation": 0.95, **dates}.items():
        found[name][0] = value
    judged = DynamicEmbeddings(replace(model.fitted, dynamics=Dynamics(**found)))
    answer = story(judged, "mover", "first", "last")
    assert when in answer.facts["sentence"]
    between = {row["time"] for row in answer.rows() if row["period"] == "half-way"}
    expected = {"jump": {1906.0}, "gradual": {1906.0}}  # the slice nearest to the date of the verdict
    assert between == expected.get(shape, {1908.0})  # or between its two dates


def test_a_word_that_changed_by_its_verdict_is_not_said_to_have_turned_by_nothing():
    """The weak lower bound of the angle is left out."""
    plot = {**PLOT, "low": 0.0, "judged": True}
    assert sentence(SentenceParts(**plot)).endswith("; it jumped in 1905; turned by 60° (at most 90°).")
    assert "(30° to 90°)" in sentence(SentenceParts(**{**plot, "low": 1.0 - math.cos(math.pi / 6.0)}))


def test_the_sentence_of_a_baseline_has_no_intervals():
    facts = story(topics("point"), "mover", "first", "last").facts
    lost, gained = (", ".join(facts[name].split(", ")[:3]) for name in ("from", "to"))
    expected = f"mover moved from {lost} (1900) to {gained} (1911); half-way in 1905; turned by 90°."
    assert facts["sentence"] == expected
    for name in ("low", "high", "halfway_from", "halfway_to"):
        assert math.isnan(facts[name])


def test_the_sentence_of_a_word_within_the_noise_says_that_it_may_not_have_moved():
    facts = story(hazy(), "stayer", "first", "last").facts
    assert facts["low"] == 0.0
    start = "stayer may not have moved at all between 1900 and 1911, and turned by at most "
    high = round(math.degrees(math.acos(1.0 - facts["high"])))
    assert facts["sentence"].startswith(f"{start}{high}°. Near it: ")


@each_kind
def test_the_sentence_of_a_word_that_is_nowhere_says_so(kind):
    answer = story(MODELS[kind], "never")
    assert answer.facts["sentence"] == "never: nothing is known of its place in 1850 or in 1870."
    assert len(answer) == 0


def test_the_sentence_of_a_word_without_neighbours_can_be_read():
    sentence = story(model_of("smoother", {"alone": list(range(8))}), "alone", "first", "last").facts[
        "sentence"
    ]
    assert "no word that is well known (1850)" in sentence
    assert "no word that is well known (1870)" in sentence


@each_kind
@pytest.mark.parametrize("word", WORDS)
def test_the_facts_are_complete(kind, word):
    model = MODELS[kind]
    facts = story(model, word, "first", "last").facts
    assert list(facts) == FACTS
    assert facts["word"] == word
    assert facts["occurrences"] == sum(model.occurrences(word))
    number, chosen = np.array([WORDS.index(word)]), vectors_of(model)
    asked = chosen, number, TIMES[0], TIMES[-1]
    change = change_of(*asked, movement(*asked))
    expected = [change.expected[0], change.low[0], change.high[0]]
    dates = vars(shown_halfway(model, chosen, number, TIMES[0], TIMES[-1])[0]).values()
    expected += [math.nan] * 3 if change.low[0] == 0 else dates  # a word within the noise has no date
    found = [facts[name] for name in ("change", "low", "high", "halfway", "halfway_from", "halfway_to")]
    np.testing.assert_allclose(found, expected)


@each_kind
def test_rows_and_facts_can_be_written_as_json(kind):
    for word in ("always", "never"):
        answer = story(MODELS[kind], word)
        assert json.loads(json.dumps(list(answer.rows()), allow_nan=False)) == list(answer.rows())
        assert json.loads(json.dumps(answer.facts))["word"] == word


@each_kind
def test_neighbours_are_given_at_the_start_halfway_and_at_the_end(kind):
    model = topics(kind)
    answer = story(model, "mover", "first", "last", top=3)
    assert list(answer.columns) == COLUMNS
    assert answer.columns["period"] == ["start"] * 3 + ["half-way"] * 3 + ["end"] * 3
    assert answer.columns["time"][:3] + answer.columns["time"][-3:] == [1900.0] * 3 + [1911.0] * 3
    assert set(answer.columns["time"][3:6]) <= {1905.0, 1906.0}
    for period, time in (("start", 1900.0), ("end", 1911.0)):
        rows = [row["word"] for row in answer.rows() if row["period"] == period]
        assert rows == neighbors(model, "mover", time, 3).columns["word"]


@each_kind
def test_a_story_begins_and_ends_when_it_is_told_to(kind):
    facts = story(topics(kind), "mover", "1902", 1909.0).facts
    assert (facts["since"], facts["until"]) == (1902.0, 1909.0)
    assert "(1902)" in facts["sentence"]
    assert "(1909)" in facts["sentence"]


@each_kind
def test_by_itself_a_story_begins_and_ends_where_the_word_occurs(kind):
    facts = story(MODELS[kind], "middle").facts
    assert (facts["since"], facts["until"]) == (TIMES[2], TIMES[5])


@each_kind
def test_by_itself_a_story_leaves_out_a_few_stray_uses_at_either_end(kind):
    uses = np.ones((10, 12), dtype=np.int64)
    uses[0] = [
        3,
        0,
        1,
        9,
        9,
        9,
        9,
        9,
        9,
        9,
        2,
        2,
    ]  # the fifth use is in slice 3, the fifth to last in slice 9
    places = {name: np.flatnonzero(times).tolist() for name, times in zip(NAMES, uses, strict=True)}
    facts = story(model_of(kind, places, diffusion_of(YEARS), values=uses[uses > 0]), "mover").facts
    assert (facts["since"], facts["until"]) == (1903.0, 1909.0)


@each_kind
def test_neighbours_that_do_not_occur_near_the_time_are_marked(kind):
    model = crowd(kind)
    answer = story(model, "word7", top=30)
    asked = zip(answer.columns["word"], answer.columns["time"], strict=True)
    expected = [is_inferred(model, word, time) for word, time in asked]
    assert answer.columns["inferred"] == expected
    assert set(expected) == {False, True}


def test_one_note_names_all_periods_without_neighbours():
    model = model_of("smoother", {"alone": list(range(8))}, values=np.full(8, 20))
    answer = story(model, "alone")
    assert len(answer) == 0
    (note,) = answer.notes
    assert note.startswith("No other word is well known in 1850, 1861 or 1870: there is too little text.")


@each_kind
def test_a_story_with_neighbours_in_every_period_has_no_notes(kind):
    assert story(topics(kind), "mover").notes == []


@each_kind
@pytest.mark.parametrize("word", ["once", "never"])
def test_the_story_of_a_word_of_one_slice_or_none_is_that_of_the_whole_time(kind, word):
    facts = story(MODELS[kind], word).facts
    assert (facts["since"], facts["until"]) == (TIMES[0], TIMES[-1])


@each_kind
def test_a_story_told_from_after_a_words_last_slice_goes_on_to_the_last_of_all(kind):
    assert story(MODELS[kind], "early", since=TIMES[4]).facts["until"] == TIMES[-1]
    assert story(MODELS[kind], "late", until=TIMES[4]).facts["since"] == TIMES[0]


@each_kind
def test_a_story_outside_the_data_is_noted(kind):
    assert "after the last slice" in story(MODELS[kind], "always", until=1890).notes[0]


@each_kind
@pytest.mark.parametrize(("since", "until"), [("last", "first"), (1860, 1860), ("last", None)])
def test_a_story_in_which_no_time_passes_is_refused(kind, since, until):
    with pytest.raises(SettingsError, match="Give a later time"):
        story(MODELS[kind], "always", since, until)


@each_kind
def test_a_story_without_neighbours_to_tell_is_refused(kind):
    with pytest.raises(SettingsError, match="Give 1 or more"):
        story(MODELS[kind], "always", top=0)


@each_kind
def test_a_model_of_one_slice_has_no_story(kind):
    means = np.random.default_rng(0).standard_normal((3, 1, 4))
    with pytest.raises(SettingsError, match="Give a later time"):
        story(planted(kind, means, times=np.array([1900.0])), "w0")
