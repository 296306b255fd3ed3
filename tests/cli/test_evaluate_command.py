"""`wordtide evaluate` as a user types it: what it prints, what it writes, and how it refuses."""

import csv
import io
import json

import pytest
from cli.command_line import run

from wordtide.evaluation import evaluate as evaluating

SMALL = ("--dim", 3, "--threads", 1)


@pytest.fixture(scope="module")
def evaluated(counts, tmp_path_factory):
    """A report folder and the run that made it."""
    place = tmp_path_factory.mktemp("evaluated") / "report"
    return place, run("evaluate", counts, "-o", place, "--holdout", 0.3, *SMALL)


def test_a_good_evaluation_ends_with_0(evaluated):
    assert evaluated[1].code == 0, evaluated[1].err


def test_the_table_has_a_row_for_each_method_and_posterior(evaluated):
    rows = [line.split("  ")[0] for line in evaluated[1].out.splitlines()[1:]]
    assert rows == [
        *("smoothing", "smoothing (posterior)", "filtering", "filtering (posterior)"),
        *("warm-start", "independent"),
    ]


def test_standard_error_ends_with_the_verdict_and_the_page(evaluated):
    place, done = evaluated
    told, written = done.err.splitlines()[-2:]
    assert "predicts best" in told
    assert written == f"written to {place / 'report.html'}"


def test_the_report_is_there(evaluated):
    assert (evaluated[0] / "report.html").is_file()


@pytest.mark.parametrize("format", ["csv", "json"])
def test_the_summary_can_be_read_by_programs(counts, evaluated, format):
    done = run("evaluate", counts, "-o", evaluated[0], "--holdout", 0.3, *SMALL, "--format", format)
    rows = json.loads(done.out) if format == "json" else list(csv.DictReader(io.StringIO(done.out)))
    assert [int(row["all_slices"]) for row in rows] == [2, 2, 5, 5, 5, 5]


def test_settings_reach_the_models(counts, tmp_path):
    options = ("--methods", "filtering", "--diffusion", 0.01, "--prior-variance", 2, "--seed", 4)
    run("evaluate", counts, "-o", tmp_path / "report", *SMALL, *options)
    settings = json.loads((tmp_path / "report" / "settings.json").read_text())["settings"]
    assert [settings[name] for name in ("dim", "diffusion", "prior_variance", "seed")] == [3, 0.01, 2.0, 4]


def test_ctrl_c_says_that_finished_models_are_kept(counts, tmp_path, monkeypatch):
    def stopped(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluating, "score_models", stopped)
    done = run("evaluate", counts, "-o", tmp_path / "report", "--methods", "filtering", *SMALL)
    assert (done.code, "Finished models are kept" in done.err) == (130, True)
    assert (tmp_path / "report" / "models" / "filtering").is_dir()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--methods", "magic"), "There is no method 'magic'."),
        (("--methods", "smoothing,,static"), "has an empty name."),
        (("--holdout", 0), "--holdout 0.0 is not a share of the slices."),
        (("--holdout", 0.95), "would leave out 6 of 6 slices, but the first and the last must stay."),
        (("--preset", "magic"), "There is no preset 'magic'."),
        (("--dim", 10_000), "--dim 10000 is larger than the vocabulary"),
    ],
)
def test_bad_options_end_with_2_and_one_message(counts, tmp_path, options, problem):
    done = run("evaluate", counts, "-o", tmp_path / "report", *options)
    assert done.code == 2
    assert done.err.startswith("wordtide: ")
    assert problem in done.err
    assert len(done.err.splitlines()) == 2


def test_counts_that_are_not_there_end_with_5(tmp_path):
    assert run("evaluate", tmp_path / "nothing", "-o", tmp_path / "report").code == 5


def test_an_output_in_the_way_ends_with_4(counts, tmp_path):
    (tmp_path / "report").write_text("a letter")
    done = run("evaluate", counts, "-o", tmp_path / "report", *SMALL)
    assert (done.code, (tmp_path / "report").read_text()) == (4, "a letter")


def test_a_finished_report_is_not_touched_without_resuming(counts, evaluated):
    done = run("evaluate", counts, "-o", evaluated[0], "--holdout", 0.3, *SMALL, "--no-resume")
    assert done.code == 4
    assert "exists already" in done.err
