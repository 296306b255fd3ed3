"""Alerts report a word that jumped and no other, and are written once, whenever their writer is killed."""

import json

import numpy as np
import pytest
from embeddings.models import model_of
from watched_world import JUMP, JUMPER, copy_of, make_model, rows

import wordtide
from wordtide.errors import SettingsError
from wordtide.questions.surprise import LEAST_COMPARED
from wordtide.streaming.alerts import AlertFile, find_alerts
from wordtide.streaming.settings import AlertRule

LINES = [f'{{"slice": "1900", "word": "{word}"}}' for word in ("mill", "café", "milling")]
WHOLE = "".join(f"{line}\n" for line in LINES).encode()
BEFORE = ["", '{"slice": "1850", "word": "mill"}\n']


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("fitted"))


def alerts_by_day(folder, days, **world):
    """The alerts of the default rule, day by day."""
    found = {}
    for day in days:
        wordtide.load(folder).update(rows(day, **world), threads=1)
        found[day] = [
            json.loads(line) for line in find_alerts(wordtide.load(folder), AlertRule(), "start", "end")
        ]
    return found


@pytest.fixture(scope="module")
def jumping(fitted, tmp_path_factory):
    """The alerts of the days around a jump."""
    return alerts_by_day(copy_of(fitted, tmp_path_factory.mktemp("jumping")), range(4, JUMP + 6))


def test_the_day_on_which_a_word_jumps_alerts_for_that_word_only(jumping):
    assert [alert["word"] for alert in jumping[JUMP]] == [JUMPER]


def test_the_day_before_a_jump_does_not_alert(jumping):
    assert jumping[JUMP - 1] == []


def test_a_word_that_jumped_stops_alerting(jumping):
    assert not any(jumping[day] for day in range(JUMP + 3, JUMP + 6))


def test_an_alert_has_the_facts_of_the_slice_and_neighbors_before_and_after(jumping):
    (alert,) = jumping[JUMP]
    assert alert["score"] >= AlertRule().threshold == 4.0
    assert alert["occurrences"] >= AlertRule().min_occurrences == 20
    assert alert["compared"] >= LEAST_COMPARED
    assert all(near["word"].startswith("mill") for near in alert["before"])
    assert any(near["word"].startswith("king") for near in alert["after"])


def test_ordinary_days_do_not_alert(fitted, tmp_path):
    found = alerts_by_day(copy_of(fitted, tmp_path), range(4, 14), jump=99)
    assert [alert["word"] for alerts in found.values() for alert in alerts] == []


def test_a_slice_with_too_few_words_for_scores_does_not_alert():
    few = model_of("filter", {f"word{n}": [6, 7] for n in range(LEAST_COMPARED - 1)}, values=np.full(38, 50))
    assert find_alerts(few, AlertRule(), "start", "end") == []


@pytest.mark.parametrize("before", BEFORE)
def test_partly_written_alerts_are_completed(tmp_path, before):
    path = tmp_path / "alerts"
    for there in range(len(WHOLE) + 1):
        path.write_bytes(before.encode() + WHOLE[:there])
        AlertFile(path, tmp_path / "told").write("1900", LINES)
        assert path.read_bytes() == before.encode() + WHOLE


def test_a_torn_line_of_another_program_is_terminated(tmp_path):
    path = tmp_path / "alerts"
    path.write_text('{"other": 1')
    AlertFile(path, tmp_path / "told").write("1900", LINES)
    assert path.read_bytes() == b'{"other": 1\n' + WHOLE


def test_a_slice_without_alerts_is_complete(tmp_path):
    path = tmp_path / "alerts"
    path.write_bytes(WHOLE)
    alerts = AlertFile(path, tmp_path / "told")
    alerts.write("1900", [])
    assert (path.read_bytes(), alerts.is_complete("1900"), alerts.is_complete("1901")) == (WHOLE, True, False)


@pytest.mark.parametrize(
    "wrong", [{"threshold": float("nan")}, {"min_occurrences": 0}, {"neighbors": 0}], ids=str
)
def test_invalid_alert_rules_are_rejected(wrong):
    with pytest.raises(SettingsError, match="out of range"):
        AlertRule(**wrong)
