"""`wordtide tune` as typed: what it prints and writes, how it resumes after a kill, what it rejects."""

import csv
import io
import json
import shutil
import signal
import subprocess

import pytest
from cli.command_line import dying_command, listing, run
from evaluation.corpora import LAW, STEAM, tiny_counts

import wordtide
from wordtide.evaluation.tuning import tune as tuning

SMALL = ("--threads", 1, "--splits", 2, "--holdout", 0.2)
LISTS = ("--diffusion", "0.001,1", "--dim", "2,3")
HALF = ("--diffusion", "0.001", "--dim", "2,3")
#: After the third fit, before its scores are kept.
MOMENT = ("wordtide.evaluation.tuning.tune", "save_record", 3)


@pytest.fixture(scope="module")
def tuned(counts, tmp_path_factory):
    """A finished tuning: its folder, and how the command ended."""
    place = tmp_path_factory.mktemp("tuned") / "tuning"
    return place, run("tune", counts, "-o", place, *LISTS, *SMALL)


def test_it_ends_well(tuned):
    assert tuned[1].code == 0, tuned[1].err


def test_the_table_has_the_settings_that_vary_and_a_row_for_each_combination(tuned):
    header, *rows = tuned[1].out.splitlines()
    assert header.split()[:3] == ["diffusion", "dim", "mean"]
    assert [tuple(row.split()[:2]) for row in rows] == [
        ("0.001", "2"),
        ("0.001", "3"),
        ("1", "2"),
        ("1", "3"),
    ]


def test_one_row_is_the_best(tuned):
    assert sum(row.rstrip().endswith("  best") for row in tuned[1].out.splitlines()) == 1


def test_standard_error_ends_with_the_verdict_the_command_to_type_and_the_place(counts, tuned):
    place, done = tuned
    *_, command, written = done.err.splitlines()
    assert "predicts best" in done.err
    assert f": wordtide fit {counts} -o model --dim " in command
    assert written == f"written to {place}"


def test_the_command_to_type_works(counts, tuned, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = tuned[1].err.splitlines()[-2].partition(": wordtide ")[2]
    assert run(*line.split(), "--threads", 1).code == 0


def test_without_a_name_the_folder_stands_beside_the_counts(tmp_path):
    tiny_counts(3).save(tmp_path / "counts")
    done = run("tune", f"{tmp_path / 'counts'}/", "--dim", "2,3", "--threads", 1)
    assert listing(tmp_path) == ["counts", "counts-tuning"]
    assert done.err.endswith(f"written to {tmp_path / 'counts-tuning'}\n")


@pytest.mark.parametrize("format", ["csv", "json"])
def test_the_table_can_be_read_by_programs(counts, tuned, format):
    done = run("tune", counts, "-o", tuned[0], *LISTS, *SMALL, "--format", format)
    rows = json.loads(done.out) if format == "json" else list(csv.DictReader(io.StringIO(done.out)))
    assert [(float(row["diffusion"]), int(row["dim"]), int(row["window"])) for row in rows] == [
        *((0.001, 2, 4), (0.001, 3, 4)),
        *((1.0, 2, 4), (1.0, 3, 4)),
    ]


def test_the_printed_table_is_the_one_in_the_folder(counts, tuned):
    done = run("tune", counts, "-o", tuned[0], *LISTS, *SMALL, "--format", "csv")
    assert done.out == (tuned[0] / "summary.csv").read_text()


@pytest.fixture(scope="module")
def undisturbed(counts, tuned, tmp_path_factory):
    """The folder of half of that tuning, which nothing disturbed."""
    place = shutil.copytree(tuned[0], tmp_path_factory.mktemp("undisturbed") / "tuning")
    run("tune", counts, "-o", place, *HALF, *SMALL)
    return place


@pytest.fixture(scope="module")
def killed(counts, tmp_path_factory):
    """A tuning killed in the middle: its exit, the next run of the same command, and the folder."""
    place = tmp_path_factory.mktemp("killed") / "tuning"
    typed = ("tune", counts, "-o", place, *HALF, *SMALL)
    died = subprocess.run(dying_command(*MOMENT, *typed), capture_output=True, timeout=200, check=False)
    return died.returncode, run(*typed), place


def test_the_process_died_of_the_signal(killed):
    assert killed[0] == -signal.SIGKILL


def test_the_same_command_goes_on_after_a_kill(killed):
    assert killed[1].code == 0, killed[1].err
    assert "2 of 4 fits are already finished" in killed[1].err


def test_a_tuning_that_was_killed_ends_with_the_same_scores(killed, undisturbed):
    assert (killed[2] / "scores.csv").read_bytes() == (undisturbed / "scores.csv").read_bytes()


def test_a_tuning_that_was_killed_leaves_nothing_else(killed, undisturbed):
    assert listing(killed[2]) == listing(undisturbed)
    assert len(listing(killed[2] / "fits")) == 4


def test_ctrl_c_says_that_finished_fits_are_kept(counts, tmp_path, monkeypatch):
    def stopped(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(tuning, "score_slices", stopped)
    done = run("tune", counts, "-o", tmp_path / "tuning", *LISTS, *SMALL)
    assert (done.code, "Finished fits are kept" in done.err) == (130, True)


def test_windows_are_counted_from_the_texts(tmp_path):
    (tmp_path / "texts").mkdir()
    for k in range(4):
        (tmp_path / "texts" / f"19{k}0.txt").write_text(STEAM * (4 - k) + LAW * (k + 1))
    wordtide.count(tmp_path / "texts", output=tmp_path / "counts")
    options = ("--window", "2,4", "--texts", tmp_path / "texts", "--dim", 2, "--splits", 1, "--threads", 1)
    done = run("tune", tmp_path / "counts", *options)
    assert done.code == 0, done.err
    assert [row.split()[0] for row in done.out.splitlines()] == ["window", "2", "4"]
    assert "counting again with window 2" in done.err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--dim", "2,,3"), "--dim has an empty value."),
        (("--dim", ""), "--dim has an empty value."),
        (("--dim", "2,2"), "--dim has the value 2 twice."),
        (("--dim", "2,x"), "--dim 'x' is not a number."),
        (("--dim", "2,2.5"), "--dim 2.5 is not a whole number."),
        (("--dim", "2,10000"), "--dim 10000 is larger than the vocabulary"),
        (("--diffusion", "auto"), "--diffusion auto would use the slices that are to be predicted."),
        (("--diffusion", "0.1,nan"), "--diffusion nan is out of range."),
        (("--prior-variance", "1,wide"), "--prior-variance 'wide' is not a number."),
        (("--holdout", 0), "--holdout 0.0 is not a share of the slices."),
        (("--splits", 0), "--splits 0 is out of range."),
        (("--method", "magic"), "There is no method 'magic'."),
        (("--method", "filtering", "--splits", 2), "--splits does not apply to filtering"),
        (
            ("--method", "static", "--diffusion", "0.1,1"),
            "--diffusion has no effect on the method static.",
        ),
        (("--window", "2,4"), "--window 2 requires counting the texts again."),
        (("--texts", "sotu"), "--texts is only for other windows."),
        (("--window", "2,4", "--texts", "sotu", "--max-expansion", 0), "--max-expansion 0 is out of range."),
    ],
)
def test_bad_options_end_with_2_and_one_message_and_leave_nothing(counts, tmp_path, options, problem):
    dim = () if "--dim" in options else ("--dim", "2")
    done = run("tune", counts, "-o", tmp_path / "tuning", *dim, *options)
    assert (done.code, problem in done.err, len(done.err.splitlines())) == (2, True, 2), done.err
    assert listing(tmp_path) == []


def test_texts_that_are_not_there_end_with_3(counts, tmp_path):
    done = run(
        "tune", counts, "-o", tmp_path / "tuning", "--dim", 2, "--window", "2,4", "--texts", tmp_path / "none"
    )
    assert (done.code, listing(tmp_path)) == (3, [])


def test_counts_that_are_not_there_end_with_5(tmp_path):
    assert run("tune", tmp_path / "nothing").code == 5


def test_an_output_in_the_way_ends_with_4(counts, tmp_path):
    (tmp_path / "tuning").write_text("a letter")
    done = run("tune", counts, "-o", tmp_path / "tuning", *LISTS)
    assert (done.code, (tmp_path / "tuning").read_text()) == (4, "a letter")


def test_a_tuning_of_other_counts_ends_with_4(tuned, tmp_path):
    tiny_counts(more="The mill is by the law.").save(tmp_path / "other")
    done = run("tune", tmp_path / "other", "-o", tuned[0], *LISTS, *SMALL)
    assert (done.code, "holds a tuning of other counts." in done.err) == (4, True)


def test_a_finished_tuning_is_not_touched_without_resuming(counts, tuned):
    done = run("tune", counts, "-o", tuned[0], *LISTS, *SMALL, "--no-resume")
    assert (done.code, "exists already" in done.err) == (4, True)
