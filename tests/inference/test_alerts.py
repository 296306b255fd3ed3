"""Alerts are written once, whenever the process that writes them dies."""

import pytest

from wordtide.errors import SettingsError
from wordtide.inference.alerts import AlertFile, AlertRule

LINES = [f'{{"slice": "1900", "word": "{word}"}}' for word in ("mill", "café", "milling")]
WHOLE = "".join(f"{line}\n" for line in LINES).encode()
BEFORE = ["", '{"slice": "1850", "word": "mill"}\n']


@pytest.mark.parametrize("before", BEFORE)
def test_whatever_part_of_the_alerts_is_there_the_rest_is_added(tmp_path, before):
    path = tmp_path / "alerts"
    for there in range(len(WHOLE) + 1):
        path.write_bytes(before.encode() + WHOLE[:there])
        AlertFile(path, tmp_path / "told").write("1900", LINES)
        assert path.read_bytes() == before.encode() + WHOLE


def test_a_torn_line_of_another_program_is_ended(tmp_path):
    path = tmp_path / "alerts"
    path.write_text('{"other": 1')
    AlertFile(path, tmp_path / "told").write("1900", LINES)
    assert path.read_bytes() == b'{"other": 1\n' + WHOLE


def test_a_slice_without_alerts_is_told_too_and_adds_nothing(tmp_path):
    path = tmp_path / "alerts"
    path.write_bytes(WHOLE)
    alerts = AlertFile(path, tmp_path / "told")
    alerts.write("1900", [])
    assert (path.read_bytes(), alerts.is_told("1900"), alerts.is_told("1901")) == (WHOLE, True, False)


@pytest.mark.parametrize("wrong", [{"threshold": float("nan")}, {"min_occurrences": 0}, {"neighbors": 0}], ids=str)
def test_rules_that_make_no_sense_are_refused(wrong):
    with pytest.raises(SettingsError, match="out of range"):
        AlertRule(**wrong)
