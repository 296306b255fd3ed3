"""A whole evaluation: its files, how it continues after an interruption, and its errors."""

import csv
import json
import shutil

import numpy as np
import pytest
from evaluation.corpora import SETTINGS, tiny_counts
from observers import RecordingObserver, StepObserver

import wordtide
from wordtide.errors import OutputError, SettingsError
from wordtide.evaluation import evaluate as evaluating
from wordtide.evaluation.evaluate import evaluate
from wordtide.evaluation.scores import METHODS
from wordtide.figures.method_figures import read_scores

FILES = {
    *("scores.csv", "summary.csv", "displacements.csv", "motion.csv", "settings.json"),
    *("likelihood.png", "likelihood.svg", "displacement.png", "report.html", "header.json", "models"),
}


@pytest.fixture(scope="module")
def counts():
    return tiny_counts()


@pytest.fixture(scope="module")
def evaluation(counts, tmp_path_factory):
    """All methods on six slices, two of them left out."""
    return evaluate(
        counts, tmp_path_factory.mktemp("evaluated") / "report", methods=METHODS, holdout=0.3, **SETTINGS
    )


@pytest.fixture
def report(evaluation, tmp_path):
    """A copy of the evaluation's folder that a test may change."""
    return shutil.copytree(evaluation.path, tmp_path / "report")


def rows_of(evaluation, name):
    with open(evaluation.path / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_folder_holds_the_report_and_the_models(evaluation):
    assert {path.name for path in evaluation.path.iterdir()} == FILES


def test_nothing_is_left_beside_the_folder(evaluation):
    assert [path.name for path in evaluation.path.parent.iterdir()] == ["report"]


def test_models_are_named_by_their_methods(evaluation):
    assert [wordtide.load(evaluation.path / "models" / method).method for method in METHODS] == list(METHODS)


def test_smoothing_is_fitted_without_the_slices_left_out(evaluation, counts):
    times = wordtide.load(evaluation.path / "models" / "smoothing").times
    assert times.tolist() == [time for t, time in enumerate(counts.times) if t not in evaluation.held_out]


def test_filtering_processes_all_slices(evaluation, counts):
    assert wordtide.load(evaluation.path / "models" / "filtering").times.tolist() == counts.times.tolist()


def test_scores_have_the_columns_that_the_figure_reads(evaluation):
    assert list(rows_of(evaluation, "scores.csv")[0]) == ["method", "time", "log_likelihood", "pairs"]


def test_scores_are_read_back_as_they_were_written(evaluation):
    found = read_scores(evaluation.path / "scores.csv")["log_likelihood"]
    assert found.tolist() == [score.log_likelihood for score in evaluation.scores]


def test_smoothing_predicts_the_slices_left_out(evaluation, counts):
    times = [score.time for score in evaluation.scores if score.method == "smoothing (posterior)"]
    assert times == counts.times[evaluation.held_out].tolist()


def test_filtering_predicts_all_slices_but_the_first(evaluation, counts):
    assert [score.time for score in evaluation.scores if score.method == "filtering"] == counts.times[
        1:
    ].tolist()


def test_all_methods_are_compared_on_the_same_slices(evaluation):
    assert {row["slices"] for row in evaluation.summary} == {2}


def test_every_fit_has_its_training_time(evaluation):
    rows = rows_of(evaluation, "summary.csv")
    found = {row["method"]: float(row["seconds"]) for row in rows if row["method"] in METHODS}
    assert found == json.loads((evaluation.path / "models" / "seconds.json").read_text())


def test_predictions_are_better_than_zero_vectors(evaluation):
    assert all(row["mean"] > np.log(0.5) for row in evaluation.summary)


def test_displacements_are_measured_for_all_methods_that_move(evaluation):
    assert [row["method"] for row in rows_of(evaluation, "motion.csv")] == [
        name for name in METHODS if name != "static"
    ]


def test_the_settings_list_the_slices_left_out(evaluation, counts):
    settings = json.loads((evaluation.path / "settings.json").read_text())
    assert [one["label"] for one in settings["held_out"]] == [counts.labels[t] for t in evaluation.held_out]


def test_the_page_needs_no_other_file(evaluation):
    page = (evaluation.path / "report.html").read_text()
    assert page.count('src="') == page.count('src="data:image/png;base64,') == 2


def test_a_second_evaluation_has_the_same_scores(evaluation, counts, tmp_path):
    again = evaluate(counts, tmp_path / "again", methods=METHODS, holdout=0.3, **SETTINGS)
    assert again.scores == evaluation.scores


def test_existing_models_are_not_fitted_again(report, counts):
    listener = RecordingObserver()
    evaluate(counts, report, methods=METHODS, holdout=0.3, observer=listener, **SETTINGS)
    assert [stage[0] for stage in listener.stages] == ["scoring"]


def test_a_report_made_again_has_the_same_bytes(evaluation, report, counts):
    evaluate(counts, report, methods=METHODS, holdout=0.3, **SETTINGS)
    names = sorted(FILES - {"models"})
    assert [
        name for name in names if (report / name).read_bytes() != (evaluation.path / name).read_bytes()
    ] == []


def test_a_method_can_be_added(counts, tmp_path):
    evaluate(counts, tmp_path / "report", methods=["filtering"], **SETTINGS)
    found = evaluate(counts, tmp_path / "report", methods=["filtering", "static"], **SETTINGS)
    assert [row["method"] for row in found.summary] == ["filtering", "filtering (posterior)", "static"]


def test_a_stopped_evaluation_keeps_its_finished_models_and_continues(counts, tmp_path, monkeypatch):
    real, fitted = evaluating.fit, []

    def stopped(*arguments, **options):
        if len(fitted) == 1:
            raise KeyboardInterrupt
        fitted.append(options["method"])
        return real(*arguments, **options)

    monkeypatch.setattr(evaluating, "fit", stopped)
    options = {"methods": ["filtering", "warm-start"], **SETTINGS}
    with pytest.raises(KeyboardInterrupt):
        evaluate(counts, tmp_path / "report", **options)
    monkeypatch.setattr(evaluating, "fit", real)
    listener = RecordingObserver()
    evaluate(counts, tmp_path / "report", observer=listener, **options)
    assert [stage[0] for stage in listener.stages] == ["warm-start", "scoring"]


def test_a_stopped_fit_continues_from_its_checkpoint(counts, tmp_path):
    class Impatient(StepObserver):
        def stepped(self, done, status):
            if done == 3:
                raise KeyboardInterrupt

    options = {"methods": ["warm-start"], "checkpoint_every": 0.0, **SETTINGS}
    with pytest.raises(KeyboardInterrupt):
        evaluate(counts, tmp_path / "report", observer=Impatient(), **options)
    listener = RecordingObserver()
    evaluate(counts, tmp_path / "report", observer=listener, **options)
    assert "resuming from the checkpoint, after step 2" in listener.messages


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"dim": 2}, "with dim = 3, not 2"),
        ({"seed": 1}, "with seed = 0, not 1"),
        ({"holdout": 0.5}, "with another holdout="),
    ],
)
def test_an_evaluation_with_other_settings_is_not_continued(report, counts, other, named):
    with pytest.raises(OutputError, match=named):
        evaluate(counts, report, **{"holdout": 0.3, **SETTINGS, **other})


def test_an_evaluation_of_other_counts_is_not_continued(report):
    with pytest.raises(OutputError, match="holds an evaluation of other counts"):
        evaluate(tiny_counts(more="The mill is by the law."), report, holdout=0.3, **SETTINGS)


def test_a_folder_that_exists_is_refused_without_resuming(report, counts):
    with pytest.raises(OutputError, match="exists already"):
        evaluate(counts, report, holdout=0.3, resume=False, **SETTINGS)


def test_overwriting_starts_over(report, counts):
    evaluate(counts, report, methods=["filtering"], overwrite=True, **{**SETTINGS, "dim": 2})
    assert sorted(path.name for path in (report / "models").iterdir()) == ["filtering", "seconds.json"]


def test_a_folder_of_the_user_is_never_replaced(counts, tmp_path):
    (tmp_path / "letters").mkdir()
    with pytest.raises(OutputError, match="not a folder made by wordtide"):
        evaluate(counts, tmp_path / "letters", overwrite=True, **SETTINGS)


def test_three_slices_are_enough(tmp_path):
    found = evaluate(tiny_counts(3), tmp_path / "report", methods=["smoothing", "filtering"], **SETTINGS)
    assert found.held_out == [1]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"methods": ["smoothing", "magic"]}, "There is no method 'magic'"),
        ({"methods": []}, "No method was given"),
        ({"methods": ["static", "static"]}, "given twice"),
        ({"method": "static"}, "no setting 'method'"),
        ({"holdout": 0.0}, "not a share of the slices"),
        ({"holdout": 1.0}, "not a share of the slices"),
        ({"holdout": 0.9}, "would leave out 5 of 6 slices"),
        ({"diffusion": "auto"}, "would use the slices"),
        ({"dim": 1000}, "larger than the vocabulary"),
        ({"threads": 0}, "threads=0 is out of range"),
        ({"preset": "paper-magic"}, "There is no preset"),
        ({"magic": 1}, "There is no setting 'magic'"),
        ({"seed": -1}, "seed=-1 is out of range"),
    ],
)
def test_invalid_requests_are_refused_before_anything_is_written(counts, tmp_path, options, problem):
    with pytest.raises(SettingsError, match=problem):
        evaluate(counts, tmp_path / "report", **{**SETTINGS, **options})
    assert list(tmp_path.iterdir()) == []


def test_two_slices_are_too_few(tmp_path):
    with pytest.raises(SettingsError, match="There are 2 slices, and an evaluation needs at least 3"):
        evaluate(tiny_counts(2), tmp_path / "report", **SETTINGS)
