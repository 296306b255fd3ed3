"""What commands print: only data on standard output, messages on standard error, formats that parse."""

import csv
import io
import json
import os
import subprocess

import pytest
from cli.command_line import command, run, run_process

import wordtide

TEXTS = {
    "1850-03-04.txt": "Steam power drives the mill. Steam engines are strong, said “he”.",
    "1862-12-01.txt": "In giving freedom to the slave, we assure freedom to the free. Steam is not named twice.",
    "1950-07-02.txt": 'Atomic energy drives engines.\nÉnergie atomique, with a comma and a "quote".',
}


@pytest.fixture(scope="module")
def speeches(tmp_path_factory):
    folder = tmp_path_factory.mktemp("speeches")
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def counts(speeches, tmp_path_factory):
    target = tmp_path_factory.mktemp("printed") / "counts"
    assert run("count", speeches, "-o", target, "--examples", "3").code == 0
    return target


@pytest.fixture(scope="module")
def good_run(speeches, tmp_path_factory):
    return run_process("count", speeches, "-o", tmp_path_factory.mktemp("good") / "counts")


@pytest.fixture(scope="module")
def bad_run(tmp_path_factory):
    return run_process("count", "nowhere.txt", "-o", tmp_path_factory.mktemp("bad") / "counts")


def test_count_prints_nothing_on_standard_output(good_run):
    assert (good_run.code, good_run.out) == (0, "")


def test_count_tells_documents_words_slices_and_vocabulary_on_standard_error(good_run):
    talk = ("3 documents", "3 slices from 1850 to 1950", "vocabulary", "written to")
    assert [piece for piece in talk if piece not in good_run.err] == []


def test_an_error_of_a_real_process_has_its_exit_code_and_leaves_standard_output_empty(bad_run):
    assert (bad_run.code, bad_run.out) == (3, "")


def test_an_error_of_a_real_process_is_two_lines_on_standard_error(bad_run):
    assert bad_run.err == "wordtide: nowhere.txt does not exist.\n  Check the path.\n"


def test_a_real_process_reads_json_lines_from_standard_input(tmp_path):
    run_process("count", "-", "-o", tmp_path / "counts", stdin=b'{"date": "1862", "text": "Steam power."}\n')
    assert wordtide.Counts.load(tmp_path / "counts").words == ["power", "steam"]


def test_a_bad_line_on_standard_input_is_named_by_its_number(tmp_path):
    rows = b'{"date": "1862", "text": "Steam power."}\n{"date": "soon", "text": "x"}\n'
    assert "line 2: " in run_process("count", "-", "-o", tmp_path / "counts", stdin=rows).err


def test_empty_standard_input_is_named(tmp_path):
    done = run_process("count", "-", "-o", tmp_path / "counts")
    assert (done.code, "holds no rows" in done.err) == (3, True)


def test_file_names_that_are_not_utf_8_do_not_break_a_run(tmp_path):
    folder = os.fsencode(tmp_path) + b"/speeches"
    os.mkdir(folder)
    with open(folder + b"/1862_caf\xe9.txt", "wb") as file:
        file.write(b"Steam power.")
    done = run(
        "count", tmp_path / "speeches", "-o", tmp_path / "counts", "--every", "document", "--examples", "1"
    )
    assert (done.code, done.err.count("Traceback")) == (0, 0)


def test_file_names_with_markup_are_printed_as_they_are(tmp_path):
    assert "[bold]x[/bold].txt" in run("count", "[bold]x[/bold].txt", "-o", tmp_path / "counts").err


def test_info_prints_a_table_on_standard_output(counts):
    done = run("info", counts)
    assert (done.code, done.err, "1862-12-01" in done.out) == (0, "", True)


def test_info_as_json_parses(counts):
    answer = json.loads(run("info", counts, "--format", "json").out)
    assert [row["slice"] for row in answer["slices"]] == ["1850", "1862", "1950"]


def test_info_as_json_tells_the_settings(counts):
    assert json.loads(run("info", counts, "--format", "json").out)["settings"]["examples"] == 3


def test_info_as_json_tells_dates_tokens_active_words_and_pairs(counts):
    loaded = wordtide.Counts.load(counts)
    rows = json.loads(run("info", counts, "--format", "json").out)["slices"]
    assert [(row["date"], row["tokens"], row["active_words"], row["pairs"]) for row in rows] == [
        (
            str(loaded.dates[t]),
            int(loaded.tokens[t]),
            int(loaded.active_words()[t]),
            int(loaded.stored_pairs()[t]),
        )
        for t in range(3)
    ]


def test_info_as_csv_parses_with_one_row_a_slice(counts):
    rows = list(csv.DictReader(io.StringIO(run("info", counts, "--format", "csv").out)))
    assert [row["slice"] for row in rows] == ["1850", "1862", "1950"]


def test_info_as_csv_agrees_with_json(counts):
    rows = list(csv.DictReader(io.StringIO(run("info", counts, "--format", "csv").out)))
    answer = json.loads(run("info", counts, "--format", "json").out)["slices"]
    assert [{name: str(value) for name, value in row.items()} for row in answer] == rows


def test_info_in_a_real_process_writes_json_only_to_standard_output(counts):
    done = run_process("info", counts, "--format", "json")
    assert (done.code, done.err, json.loads(done.out)["slice_count"]) == (0, "", 3)


def test_info_of_an_unknown_format_is_wrong_usage(counts):
    assert run("info", counts, "--format", "xml").code == 2


def test_info_of_a_missing_folder_is_named(tmp_path):
    done = run("info", tmp_path / "nowhere")
    assert (done.code, done.out, str(tmp_path / "nowhere") in done.err) == (5, "", True)


def test_info_of_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    assert run("info", tmp_path / "file").code == 5


def test_info_of_a_folder_that_is_no_counts_folder_is_refused(tmp_path):
    assert run("info", tmp_path).code == 5


def test_info_check_finds_a_changed_byte(speeches, tmp_path):
    run("count", speeches, "-o", tmp_path / "counts")
    path = tmp_path / "counts" / "values.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    done = run("info", tmp_path / "counts", "--check")
    assert (done.code, "values.npy" in done.err) == (5, True)


def test_examples_show_the_word_in_its_sentence(counts):
    done = run("examples", counts, "freedom")
    assert (done.code, done.err, "In giving freedom to the slave" in done.out) == (0, "", True)


def test_examples_at_a_date_are_those_of_the_nearest_slice(counts):
    rows = json.loads(run("examples", counts, "steam", "--at", "1851", "--format", "json").out)
    assert {row["slice"] for row in rows} == {"1850"}


def test_examples_as_json_cut_the_sentence_at_the_word(counts):
    rows = json.loads(run("examples", counts, "slave", "--format", "json").out)
    assert [(row["before"], row["word"], row["after"]) for row in rows] == [
        ("In giving freedom to the ", "slave", ", we assure freedom to the free.")
    ]


def test_examples_as_json_tell_document_and_date(counts):
    (row,) = json.loads(run("examples", counts, "slave", "--format", "json").out)
    assert (row["document"], row["date"]) == ("1862-12-01.txt", "1862-12-01")


def test_examples_as_csv_parse_with_quotes_and_commas(counts):
    (row,) = csv.DictReader(io.StringIO(run("examples", counts, "comma", "--format", "csv").out))
    assert row["before"] + row["word"] + row["after"] == 'Énergie atomique, with a comma and a "quote".'


def test_examples_of_a_slice_without_the_word_say_so_on_standard_error_only(counts):
    done = run("examples", counts, "slave", "--at", "1950")
    assert (done.code, done.out, "slave" in done.err) == (0, "", True)


def test_examples_of_an_unknown_word_name_the_nearest_spellings(counts):
    done = run("examples", counts, "freedon")
    assert (done.code, done.out, "freedom" in done.err) == (2, "", True)


def test_examples_that_were_not_kept_say_how_to_keep_them(speeches, tmp_path):
    run("count", speeches, "-o", tmp_path / "counts")
    done = run("examples", tmp_path / "counts", "steam")
    assert (done.code, "--examples" in done.err) == (3, True)


def test_examples_at_what_is_no_date_are_wrong_usage(counts):
    assert run("examples", counts, "steam", "--at", "yesterday").code == 2


def test_merge_adds_counts(speeches, tmp_path):
    run("count", speeches, "-o", tmp_path / "all")
    for name in ("1850-03-04.txt", "1862-12-01.txt"):
        run("count", speeches / name, "-o", tmp_path / name, "--vocabulary", tmp_path / "all")
    done = run("merge", tmp_path / "1850-03-04.txt", tmp_path / "1862-12-01.txt", "-o", tmp_path / "merged")
    assert (done.code, done.out, wordtide.Counts.load(tmp_path / "merged").labels) == (
        0,
        "",
        ["1850", "1862"],
    )


def test_merge_refuses_a_folder_named_twice(counts, tmp_path):
    assert run("merge", counts, counts, "-o", tmp_path / "merged").code == 2


def test_merge_refuses_an_output_that_exists(counts, tmp_path):
    (tmp_path / "merged").mkdir()
    assert run("merge", counts, "-o", tmp_path / "merged").code == 4


def test_a_reader_that_goes_away_is_no_error_worth_a_word(counts):
    with subprocess.Popen(
        command("info", counts, "--format", "json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        err = process.stderr.read()
    assert (err, process.returncode != 0) == (b"", True)


def test_a_full_disk_behind_standard_output_is_no_traceback(counts):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command("info", counts, "--format", "json"),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert (done.returncode != 0, b"Traceback" in done.stderr) == (True, False)


def test_help_does_not_wait_for_the_compiler():
    code = "import sys; sys.argv = ['wordtide', '--help']\nimport atexit\natexit.register(lambda: print('numba' in sys.modules))\n"
    code += "from wordtide.cli.app import main; main()"
    done = subprocess.run([command()[0], "-c", code], capture_output=True, timeout=60, check=False)
    assert done.stdout.decode().splitlines()[-1] == "False"


def test_python_does_not_look_for_garbage_when_a_command_ends():
    code = "import atexit, gc, sys; sys.argv = ['wordtide', '--help']\n"
    code += "atexit.register(lambda: print(gc.get_freeze_count() > 0))\n"
    code += "from wordtide.cli.app import main; main()"
    done = subprocess.run([command()[0], "-c", code], capture_output=True, timeout=60, check=False)
    assert done.stdout.decode().splitlines()[-1] == "True"
