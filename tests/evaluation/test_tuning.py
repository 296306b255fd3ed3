"""A whole tuning: its scores and files, how it continues after an interruption, and its errors."""

import csv
import json
import math
import shutil

import numpy as np
import pytest
from evaluation.corpora import tiny_counts
from observers import RecordingObserver, StepObserver
from oracles.model import negative_matrix
from scipy.special import expit

import wordtide
from wordtide.errors import FolderError, OutputError, SettingsError
from wordtide.evaluation import evaluate as evaluating
from wordtide.evaluation.folder import exclusive_use
from wordtide.evaluation.scores import held_out_slices, predict_by_interpolation, without_slices
from wordtide.evaluation.tuning.search_space import LISTED
from wordtide.evaluation.tuning.tune import tune
from wordtide.inference.problem import PairSettings, problem_of

SHARED = {"threads": 1, "max_steps": 2}
OPTIONS = {
    "grid": {"diffusion": [1e-3, 1e-1], "negative_ratio": [1, 5]},
    "splits": 2,
    "holdout": 0.3,
    "dim": 3,
    **SHARED,
}


@pytest.fixture(scope="module")
def counts():
    return tiny_counts()


@pytest.fixture(scope="module")
def tuning(counts, tmp_path_factory):
    """Four combinations on six slices, two of them left out, twice."""
    return tune(counts, tmp_path_factory.mktemp("tuned") / "tuning", **OPTIONS)


@pytest.fixture
def folder(tuning, tmp_path):
    """A copy of the tuning's folder that a test may change."""
    return shutil.copytree(tuning.path, tmp_path / "tuning")


def rows_of(folder, name):
    with open(folder / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def looped(part, u, v, shift):
    """Eq. 2 over the number of pairs, pair by pair."""
    positive, negative = part.positive_matrix().toarray(), negative_matrix(part)
    total = 0.0
    for i in range(len(part)):
        for j in range(len(part)):
            probability = expit(u[i] @ v[j] + shift)
            total += positive[i, j] * math.log(probability) + negative[i, j] * math.log1p(-probability)
    return total / (positive.sum() + negative.sum())


@pytest.mark.parametrize("ratio", [1.0, 5.0])
def test_a_score_is_that_of_a_fit_without_the_slices_on_pairs_of_the_default_ratio(tuning, counts, ratio):
    left_out = held_out_slices(len(counts), 0.3, 1)
    settings = {"dim": 3, "diffusion": 0.1, "negative_ratio": ratio, **SHARED}
    model = wordtide.fit(without_slices(counts, left_out), **settings)
    part = problem_of(counts, PairSettings(tied=True)).slices[left_out[0]]
    prediction = predict_by_interpolation(model, counts.times, left_out[0], part.words.astype(np.int64))
    wanted = (0.1, ratio, 2, left_out[0])
    (found,) = (
        row["log_likelihood"]
        for row in tuning.scores
        if (row["diffusion"], row["negative_ratio"], row["split"], row["slice"]) == wanted
    )
    assert found == pytest.approx(looped(part, prediction.u, prediction.v, math.log(ratio)), rel=1e-5)


def test_all_combinations_are_scored_on_the_same_slices_and_pairs(tuning):
    by_fit = {}
    for row in tuning.scores:
        by_fit.setdefault((row["diffusion"], row["negative_ratio"]), []).append(
            (row["split"], row["slice"], row["pairs"])
        )
    assert len(by_fit) == 4
    assert all(found == by_fit[1e-3, 1.0] for found in by_fit.values())


def test_the_first_split_is_that_of_an_evaluation_with_the_same_seed(tuning, counts):
    assert tuning.splits.left_out[0] == held_out_slices(len(counts), 0.3, 0)


def test_the_folder_holds_the_tables_and_the_records_of_fits(tuning):
    assert {path.name for path in tuning.path.iterdir()} == {
        *("header.json", "settings.json", "scores.csv", "summary.csv", "fits")
    }


def test_nothing_is_left_beside_the_folder(tuning):
    assert [path.name for path in tuning.path.parent.iterdir()] == ["tuning"]


def test_scores_have_a_row_for_each_fit_and_slice(tuning):
    rows = rows_of(tuning.path, "scores.csv")
    columns = [
        "diffusion",
        "dim",
        "prior_variance",
        "negative_ratio",
        "window",
        "split",
        "slice",
        "time",
        "log_likelihood",
    ]
    assert (len(rows), list(rows[0])) == (4 * 2 * 2, [*columns, "pairs"])


def test_scores_are_read_back_as_they_were_written(tuning):
    found = [float(row["log_likelihood"]) for row in rows_of(tuning.path, "scores.csv")]
    assert found == [row["log_likelihood"] for row in tuning.scores]


def test_the_summary_has_a_row_for_each_combination(tuning):
    found = [(row["diffusion"], row["negative_ratio"]) for row in rows_of(tuning.path, "summary.csv")]
    assert found == [("0.001", "1.0"), ("0.001", "5.0"), ("0.1", "1.0"), ("0.1", "5.0")]


def test_fits_have_their_training_time(tuning):
    records = [json.loads(path.read_text()) for path in (tuning.path / "fits").iterdir()]
    for row in tuning.summary:
        own = [one["seconds"] for one in records if all(one[name] == row[name] for name in LISTED)]
        assert len(own) == 2
        assert row["seconds"] == pytest.approx(np.mean(own))


def test_the_settings_list_the_slices_left_out(tuning, counts):
    told = json.loads((tuning.path / "settings.json").read_text())["splits"]
    assert [[one["label"] for one in split] for split in told] == [
        [counts.labels[t] for t in split] for split in tuning.splits.left_out
    ]


def test_every_fit_is_announced(counts, tmp_path):
    listener = RecordingObserver()
    tune(counts, tmp_path / "tuning", grid={"dim": [2, 3]}, splits=2, observer=listener, **SHARED)
    told = [message for message in listener.messages if message.startswith("fit ")]
    assert told == [
        *("fit 1 of 4: dim 2, split 1", "fit 2 of 4: dim 2, split 2"),
        *("fit 3 of 4: dim 3, split 1", "fit 4 of 4: dim 3, split 2"),
    ]


def test_a_sequential_method_is_fitted_once_and_predicts_all_slices_but_the_first(counts, tmp_path):
    listener = RecordingObserver()
    found = tune(
        counts, tmp_path / "tuning", grid={"dim": [2, 3]}, method="filtering", observer=listener, **SHARED
    )
    assert [stage[0] for stage in listener.stages].count("filtering") == 2
    assert [(row["dim"], row["split"], row["slice"]) for row in found.scores] == [
        (dim, None, t) for dim in (2, 3) for t in range(1, 6)
    ]


@pytest.mark.parametrize("method", ["static", "warm-start", "independent"])
def test_other_methods_can_be_tuned(counts, tmp_path, method):
    found = tune(counts, tmp_path / "tuning", grid={"dim": [2, 3]}, method=method, **SHARED)
    for row in found.summary:
        own = [score["log_likelihood"] for score in found.scores if score["dim"] == row["dim"]]
        assert row["slices"] == len(own)
        assert row["mean"] == pytest.approx(np.mean(own))


def test_a_finished_tuning_is_not_repeated(folder, tuning, counts):
    listener = RecordingObserver()
    again = tune(counts, folder, observer=listener, **OPTIONS)
    assert (listener.stages, listener.messages) == ([], ["8 of 8 fits are already finished"])
    assert again.summary == tuning.summary


def test_tables_made_again_have_the_same_bytes(folder, tuning, counts):
    tune(counts, folder, **OPTIONS)
    names = ("scores.csv", "summary.csv", "settings.json")
    assert [name for name in names if (folder / name).read_bytes() != (tuning.path / name).read_bytes()] == []


def test_an_additional_value_leaves_finished_fits_alone(folder, counts):
    listener = RecordingObserver()
    more = {**OPTIONS, "grid": {"diffusion": [1e-3, 1e-1, 1.0], "negative_ratio": [1, 5]}}
    found = tune(counts, folder, observer=listener, **more)
    fitted = [message for message in listener.messages if message.startswith("fit ")]
    assert (len(fitted), all("diffusion 1," in message for message in fitted)) == (4, True)
    assert len(found.summary) == 6


def test_additional_splits_leave_finished_fits_alone(folder, counts):
    listener = RecordingObserver()
    tune(counts, folder, observer=listener, **{**OPTIONS, "splits": 3})
    fitted = [message for message in listener.messages if message.startswith("fit ")]
    assert (len(fitted), all(message.endswith("split 3") for message in fitted)) == (4, True)


def test_a_tuning_that_was_stopped_between_fits_ends_with_the_same_scores(
    counts, tuning, tmp_path, monkeypatch
):
    real, fitted = evaluating.fit, []

    def stopped(*arguments, **options):
        if len(fitted) == 3:
            raise KeyboardInterrupt
        fitted.append(options["output"])
        return real(*arguments, **options)

    monkeypatch.setattr(evaluating, "fit", stopped)
    with pytest.raises(KeyboardInterrupt):
        tune(counts, tmp_path / "tuning", **OPTIONS)
    monkeypatch.setattr(evaluating, "fit", real)
    listener = RecordingObserver()
    tune(counts, tmp_path / "tuning", observer=listener, **OPTIONS)
    assert "3 of 8 fits are already finished" in listener.messages
    assert (tmp_path / "tuning" / "scores.csv").read_bytes() == (tuning.path / "scores.csv").read_bytes()


def test_a_stopped_fit_continues_from_its_checkpoint_to_the_same_scores(counts, tmp_path):
    class Impatient(StepObserver):
        """Presses Ctrl-C in the smoothing of the first fit; what prepares it has no checkpoint."""

        def stepped(self, done, status):
            if self.stage_name == "smoothing" and done == 3:
                raise KeyboardInterrupt

    options = {
        "grid": {"dim": [2, 3]},
        "splits": 1,
        "checkpoint_every": 0.0,
        "threads": 1,
        "max_steps": 6,
        "tolerance": 0.0,
    }
    whole = tune(counts, tmp_path / "whole", **options)
    with pytest.raises(KeyboardInterrupt):
        tune(counts, tmp_path / "tuning", observer=Impatient(), **options)
    listener = RecordingObserver()
    resumed = tune(counts, tmp_path / "tuning", observer=listener, **options)
    assert "resuming from the checkpoint, after step 2" in listener.messages
    assert resumed.scores == whole.scores


def test_two_processes_do_not_make_fits_in_one_folder(folder, counts):
    with exclusive_use(folder), pytest.raises(OutputError, match="Another process is working in"):
        tune(counts, folder, **{**OPTIONS, "splits": 3})


def test_a_damaged_record_is_named_with_its_remedy(folder, counts):
    record = sorted((folder / "fits").iterdir())[0]
    record.write_text(record.read_text()[:-40])
    with pytest.raises(FolderError, match="is damaged") as caught:
        tune(counts, folder, **OPTIONS)
    assert str(record) in caught.value.problem


def test_a_record_of_other_slices_is_refused(folder, counts):
    record = sorted((folder / "fits").iterdir())[0]
    content = json.loads(record.read_text())
    content["scores"].pop()
    record.write_text(json.dumps(content))
    with pytest.raises(FolderError, match="it describes other slices"):
        tune(counts, folder, **OPTIONS)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"seed": 1}, "with seed = 0, not 1"),
        ({"holdout": 0.2}, "with holdout = 0.3, not 0.2"),
        ({"method": "static", "grid": {"negative_ratio": [1, 5]}}, "with method = smoothing, not static"),
        ({"max_steps": 3}, "with max_steps = 2, not 3"),
        ({"precision": "float64"}, "with precision = float32, not float64"),
    ],
)
def test_a_tuning_with_other_settings_is_not_continued(folder, counts, other, named):
    with pytest.raises(OutputError, match=named):
        tune(counts, folder, **{**OPTIONS, **other})


def test_a_tuning_of_other_counts_is_not_continued(folder):
    with pytest.raises(OutputError, match="holds a tuning of other counts"):
        tune(tiny_counts(more="The mill is by the law."), folder, **OPTIONS)


def test_a_folder_that_exists_is_refused_without_resuming(folder, counts):
    with pytest.raises(OutputError, match="exists already"):
        tune(counts, folder, resume=False, **OPTIONS)


def test_overwriting_starts_over(folder, counts):
    tune(counts, folder, grid={"dim": [2, 3]}, splits=1, overwrite=True, **SHARED)
    assert len(list((folder / "fits").iterdir())) == 2


def test_a_folder_of_the_user_is_never_replaced(counts, tmp_path):
    (tmp_path / "letters").mkdir()
    with pytest.raises(OutputError, match="not a folder made by wordtide"):
        tune(counts, tmp_path / "letters", overwrite=True, **OPTIONS)


def test_fewer_splits_than_requested_are_reported(tmp_path):
    listener = RecordingObserver()
    found = tune(tiny_counts(3), tmp_path / "tuning", grid={"dim": [2, 3]}, observer=listener, **SHARED)
    assert (
        found.splits.left_out,
        "--splits 3: this corpus has only 1 different split" in listener.messages,
    ) == (
        [[1]],
        True,
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"grid": {"dim": [2, 1000]}}, "dim=1000 is larger than the vocabulary"),
        ({"grid": {"dim": [0, 2]}}, "dim=0 is out of range"),
        ({"grid": {"diffusion": [1e-3, float("nan")]}}, "diffusion=nan is out of range"),
        ({"grid": {"dim": [2]}, "dim": 3}, "dim is given twice"),
        ({"method": "magic"}, "There is no method 'magic'"),
        ({"splits": 0}, "splits=0 is out of range"),
        ({"holdout": 1.0}, "not a share of the slices"),
        ({"seed": -1}, "seed=-1 is out of range"),
        ({"magic": 1}, "There is no setting 'magic'"),
        ({"threads": 0}, "threads=0 is out of range"),
        ({"grid": {"window": [4, 8]}}, "window=8 requires counting the texts again"),
        ({"texts": "sotu"}, "texts= is only for other windows"),
    ],
)
def test_invalid_requests_are_refused_before_anything_is_written(counts, tmp_path, options, problem):
    dim = {} if "dim" in options.get("grid", {}) else {"dim": 2}
    with pytest.raises(SettingsError, match=problem):
        tune(counts, tmp_path / "tuning", **{**dim, **SHARED, **options})
    assert list(tmp_path.iterdir()) == []
