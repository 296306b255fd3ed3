"""`wordtide count --group-field`, as typed: the summary, `info`, the dry run, skipped rows and lone documents."""

import json

import pytest
from cli.command_line import run


@pytest.fixture
def speeches(tmp_path):
    rows = [
        {"date": "1990", "text": "Taxes fall and wages rise.", "party": "R"},
        {"date": "1991", "text": "Wages rise.", "party": "R"},
        {"date": "1990", "text": "Wages fall and taxes rise again.", "party": " D"},
        {"date": "1992", "text": "Taxes fall.", "party": "D"},
        {"date": "1992", "text": "Taxes fall.", "party": None},
        {"date": "1992", "text": "Taxes rise.", "party": "r"},
    ]
    path = tmp_path / "speeches.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def counted(speeches, tmp_path):
    counts = tmp_path / "counts"
    return run("count", speeches, "-o", counts, "--group-field", "party", "--skip-bad"), counts


def test_the_summary_lists_groups_and_skipped_rows(counted):
    done, _ = counted
    assert done.code == 0
    assert "3 groups: D 8 words, R 7 words, r 2 words" in done.err
    assert "skipped 1 row: no group" in done.err
    assert "columns date, text, party" in done.err


def test_a_group_with_a_single_document_is_a_warning(counted):
    done, _ = counted
    assert done.err.count("warning:") == 1
    assert "warning: the group 'r' has a single document" in done.err


def test_info_lists_groups(counted):
    _, counts = counted
    assert "8 (D), 7 (R), 2 (r)" in run("info", counts, "--check").out
    assert json.loads(run("info", counts, "--format", "json").out)["groups"] == {"D": 8, "R": 7, "r": 2}


def test_a_dry_run_lists_groups(speeches):
    done = run("count", speeches, "--group-field", "party", "--dry-run")
    assert "3 groups: D 8 words, R 7 words, r 2 words" in done.out
    assert "bad: 1 row, no group; the first:" in done.out
    report = run("count", speeches, "--group-field", "party", "--dry-run", "--report", "json").out
    assert json.loads(report)["groups"] == {"D": 8, "R": 7, "r": 2}


def test_merging_shows_groups_and_refuses_counts_without(counted, speeches, tmp_path):
    _, counts = counted
    for name, options in {"more": ("--group-field", "party"), "plain": ()}.items():
        run("count", speeches, "-o", tmp_path / name, "--vocabulary", counts, "--skip-bad", *options)
    done = run("merge", counts, tmp_path / "more", "-o", tmp_path / "merged")
    assert "3 groups: D 16 words, R 14 words, r 4 words" in done.err
    done = run("merge", counts, tmp_path / "plain", "-o", tmp_path / "nothing")
    assert done.code == 2
    assert f"{counts} has groups and {tmp_path / 'plain'} has none." in done.err
