"""Scores on planted worlds: right on tables made by hand, and telling on a small world that is fitted."""

import math

import numpy as np
import pytest
from simulation import (
    Cast,
    Findings,
    Plan,
    PlantedWord,
    findings_of,
    model_world,
    score_findings,
    score_model,
    score_table,
    template_world,
)

import wordtide
from wordtide.errors import InputError, SettingsError


def planted(word, kind, date_from=1900.0, date_to=1900.0):
    return PlantedWord(word, kind, date_from, date_to, (), (), 1e-3)


PLAN = Plan(
    planted=(
        planted("drifter", "drift", 1900.0, 1920.0),
        planted("jumper", "jump", 1930.0, 1930.0),
        planted("gone", "vanish"),
    ),
    decoys=(planted("riser", "up"), planted("faller", "down")),
    stable=(planted("rock", "stable"), planted("stone", "stable")),
)
TABLE = {
    "drifter": 0.9,
    "jumper": 0.5,
    "riser": 0.6,
    "faller": 0.1,
    "rock": 0.2,
    "stone": 0.5,
    "the": 0.7,
    "gone": 3.0,
}


def value(rows, kind, score):
    (found,) = [row.value for row in rows if (row.kind, row.score) == (kind, score)]
    return found


@pytest.mark.parametrize(
    ("kind", "score", "expected"),
    [
        ("drift", "auc", 1.0),
        ("jump", "auc", 2.5 / 4),
        ("planted", "auc", 6.5 / 8),
        ("planted", "auc against decoys", 3 / 4),
        ("planted", "auc against stable", 3.5 / 4),
        ("jump", "auc against others", 0.0),
        ("drift", "average precision", 1.0),
        ("jump", "average precision", 1 / 5),
        ("planted", "average precision", (1 + 2 / 5) / 2),
        ("drift", "worst rank", 1.0),
        ("jump", "worst rank", 5.0),
        ("planted", "worst rank", 5.0),
        ("planted", "share in top 2", 1 / 2),
        ("all", "ranked", 7.0),
    ],
)
def test_ranks_of_a_table_made_by_hand(kind, score, expected):
    assert value(score_table(PLAN, TABLE), kind, score) == pytest.approx(expected)


def test_a_planted_word_without_a_score_comes_last():
    table = {word: score for word, score in TABLE.items() if word != "drifter"}
    assert value(score_table(PLAN, table), "drift", "worst rank") == 7.0
    assert value(score_table(PLAN, table | {"drifter": math.nan}), "drift", "auc") == 0.0


def test_other_words_are_left_out_of_ranks_where_they_move():
    plan = Plan(planted=PLAN.planted, decoys=PLAN.decoys, stable=PLAN.stable, others_stand_still=False)
    assert value(score_table(plan, TABLE), "jump", "worst rank") == 4.0
    assert math.isnan(value(score_table(plan, TABLE), "planted", "auc against others"))


def test_any_growing_function_of_a_table_has_the_same_scores():
    rows = score_table(PLAN, {word: math.exp(5.0 * score) - 100.0 for word, score in TABLE.items()})
    assert rows == score_table(PLAN, TABLE)


def test_the_number_of_words_at_the_top_can_be_chosen():
    assert value(score_findings(PLAN, Findings(TABLE), top=5), "planted", "share in top 5") == 1.0


def test_date_errors_are_years_from_the_date_half_way():
    rows = score_table(PLAN, TABLE, {"drifter": 1913.0, "jumper": 1925.0, "rock": 1800.0})
    assert value(rows, "drift", "date error, median") == 3.0
    assert value(rows, "jump", "date error, mean") == 5.0
    assert value(rows, "planted", "date error, mean") == 4.0


def test_words_without_a_date_are_told():
    rows = score_table(PLAN, TABLE, {"drifter": 1913.0, "jumper": math.nan})
    assert value(rows, "planted", "dated") == 0.5
    assert value(rows, "planted", "date error, mean") == 3.0
    assert math.isnan(value(rows, "jump", "date error, mean"))


def test_coverage_and_width_of_intervals_made_by_hand():
    halfway = {"drifter": (1905.0, 1915.0), "jumper": (1931.0, 1935.0)}
    rows = score_findings(PLAN, Findings(TABLE, {"drifter": 1910.0, "jumper": 1933.0}, halfway))
    assert value(rows, "drift", "halfway coverage") == 1.0
    assert value(rows, "jump", "halfway coverage") == 0.0
    assert value(rows, "planted", "halfway coverage") == 0.5
    assert value(rows, "planted", "halfway width, median") == 7.0


def test_alarms_are_intervals_that_begin_above_zero():
    intervals = {
        "drifter": (0.1, 0.5),
        "jumper": (0.0, 0.5),
        "riser": (0.2, 0.3),
        "faller": (0.0, 1.0),
        "the": (0.0, 0.1),
    }
    rows = score_findings(PLAN, Findings(TABLE, changes=intervals))
    assert value(rows, "planted", "alarms") == 0.5
    assert value(rows, "decoys", "alarms") == 0.5
    assert value(rows, "up", "alarms") == 1.0
    assert value(rows, "stable", "alarms") == 0.0
    assert value(rows, "others", "alarms") == 0.0


def test_coverage_of_changes_counts_the_words_with_a_known_change():
    plan = Plan(
        planted=PLAN.planted,
        decoys=PLAN.decoys,
        stable=PLAN.stable,
        changes={"rock": 0.0, "drifter": 0.8, "the": 0.3},
    )
    intervals = {"rock": (0.0, 0.1), "drifter": (0.1, 0.7), "jumper": (0.2, 0.4)}
    assert value(score_findings(plan, Findings(TABLE, changes=intervals)), "all", "change coverage") == 0.5


def test_an_empty_table_is_refused():
    with pytest.raises(InputError):
        score_table(PLAN, {})


@pytest.fixture(scope="module")
def world():
    cast = Cast(4, 4, 1, 1, 3, 3, 3, 8)
    return template_world(
        seed=3,
        tokens=60_000,
        vocabulary=500,
        slices=12,
        topics=8,
        cast=cast,
        uneven=4.0,
        frequencies=(1e-3, 3e-3),
    )


@pytest.fixture(scope="module")
def counts(world):
    return wordtide.count(world.documents)


@pytest.fixture(scope="module")
def smoothed(counts):
    return wordtide.fit(counts, dim=12, threads=1)


def test_smoothing_finds_planted_words(world, smoothed):
    rows = score_model(world, smoothed)
    assert value(rows, "planted", "auc") > 0.95
    assert value(rows, "planted", "auc against others") > 0.95
    assert value(rows, "planted", "share in top 8") >= 0.75


def test_smoothing_raises_few_false_alarms(world, smoothed):
    rows = score_model(world, smoothed)
    assert value(rows, "planted", "alarms") >= 0.75
    assert value(rows, "decoys", "alarms") <= 1 / 9
    assert value(rows, "stable", "alarms") <= 1 / 8
    assert value(rows, "others", "alarms") < 0.02


def test_smoothing_dates_planted_words(world, smoothed):
    rows = score_model(world, smoothed)
    span = smoothed.times[-1] - smoothed.times[0]
    assert value(rows, "planted", "dated") == 1.0
    assert value(rows, "planted", "date error, median") < span / 6
    assert value(rows, "planted", "halfway coverage") >= 0.75


def test_a_baseline_has_ranks_and_dates_but_no_intervals(world, counts):
    rows = score_model(world, wordtide.fit(counts, dim=12, method="warm-start", threads=1))
    assert 0.0 <= value(rows, "planted", "auc") <= 1.0
    assert value(rows, "planted", "dated") == 1.0
    assert not {row.score for row in rows} & {"alarms", "halfway coverage", "change coverage"}


def test_scores_of_a_model_are_the_columns_of_its_own_table(world, smoothed):
    table = smoothed.changed("first", "last", top=len(smoothed.words), by="change", min_occurrences=0)
    by_change, by_low = (findings_of(smoothed, world, by) for by in ("change", "low"))
    assert len(table) > 400
    assert [by_change.scores[word] for word in table["word"]] == pytest.approx(table["change"].tolist())
    assert [by_low.changes[word][0] for word in table["word"]] == pytest.approx(table["low"].tolist())


def test_smoothing_finds_planted_words_in_counts_from_the_model():
    world = model_world(seed=4, pairs=4e5, vocabulary=80, slices=10, dim=6, cast=Cast(3, 3, 1, 1, 2, 2, 2, 4))
    rows = score_model(world, wordtide.fit(world.counts, threads=1, **world.settings))
    assert value(rows, "planted", "auc") > 0.8
    assert value(rows, "planted", "date error, median") < 4.0
    assert 0.0 < value(rows, "all", "change coverage") <= 1.0


def test_an_unknown_ranking_is_refused(world, smoothed):
    with pytest.raises(SettingsError):
        score_model(world, smoothed, by="luck")


def test_a_model_of_one_slice_is_refused(world, counts):
    with pytest.raises(SettingsError):
        score_model(world, wordtide.fit(counts, dim=4, method="static", threads=1))


def test_values_of_all_scores_are_plain_numbers(world, smoothed):
    assert all(
        isinstance(row.value, float) and not isinstance(row.value, np.generic)
        for row in score_model(world, smoothed)
    )
