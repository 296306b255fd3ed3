"""Where counts are written: existing files are safe, errors come before the work, no file is half-written."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from cli.command_line import listing, run, run_process

import wordtide
from wordtide.errors import OutputError

EXIT_OUTPUT = 4


@pytest.fixture
def speeches(tmp_path):
    folder = tmp_path / "speeches"
    folder.mkdir()
    (folder / "1862-12-01_lincoln.txt").write_text("Steam power drives the mill.", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def mounted(tmp_path_factory):
    """Mount small file systems in memory, and unmount them afterwards."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    mounts = []

    def mount(options):
        folder = tmp_path_factory.mktemp("disk")
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False
        )
        if done.returncode:
            pytest.skip(f"a small disk cannot be mounted here: {done.stderr.decode().strip()}")
        mounts.append(folder)
        return folder

    yield mount
    for folder in mounts:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(scope="module")
def large_input(tmp_path_factory):
    """A text whose counts take several megabytes."""
    path = tmp_path_factory.mktemp("large") / "1862.txt"
    choice = random.Random(0)
    words = ["".join(choice.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(3000)]
    path.write_text(" ".join(choice.choices(words, k=300_000)), encoding="utf-8")
    return path


def test_a_good_run_leaves_the_counts_and_nothing_else(speeches, place):
    run("count", speeches, "-o", place / "counts")
    assert listing(place) == ["counts"]


def test_a_good_run_ends_with_0(speeches, place):
    assert run("count", speeches, "-o", place / "counts").code == 0


def test_a_counts_folder_can_be_entered_by_whom_the_umask_lets_in(speeches, place):
    before = os.umask(0o022)
    try:
        run("count", speeches, "-o", place / "counts")
    finally:
        os.umask(before)
    assert (place / "counts").stat().st_mode & 0o777 == 0o755


def test_a_counts_folder_holds_no_temporary_files(speeches, place):
    run("count", speeches, "-o", place / "counts")
    header = json.loads((place / "counts" / "header.json").read_text(encoding="utf-8"))
    assert listing(place / "counts") == sorted([*header["files"], "header.json"])


def test_an_output_folder_that_exists_is_refused(speeches, place):
    (place / "counts").mkdir()
    assert run("count", speeches, "-o", place / "counts").code == EXIT_OUTPUT


def test_an_output_folder_that_exists_is_named_with_the_option_that_replaces_it(speeches, place):
    (place / "counts").mkdir()
    first, second = run("count", speeches, "-o", place / "counts").err.splitlines()
    assert first == f"wordtide: {place / 'counts'} exists already."
    assert "--overwrite" in second


def test_an_output_folder_that_exists_is_refused_before_the_input_is_looked_at(place):
    (place / "counts").mkdir()
    assert run("count", place / "nowhere.jsonl", "-o", place / "counts").code == EXIT_OUTPUT


def test_an_output_folder_that_exists_is_left_as_it_was(speeches, place):
    run("count", speeches, "-o", place / "counts")
    before = {name: (place / "counts" / name).read_bytes() for name in listing(place / "counts")}
    run("count", speeches, "-o", place / "counts", "--window", "2")
    assert {name: (place / "counts" / name).read_bytes() for name in listing(place / "counts")} == before


def test_overwrite_replaces_counts(speeches, place):
    run("count", speeches, "-o", place / "counts")
    run("count", speeches, "-o", place / "counts", "--window", "2", "--overwrite")
    assert wordtide.Counts.load(place / "counts").window == 2


def test_overwrite_leaves_no_trace_of_what_was_replaced(speeches, place):
    run("count", speeches, "-o", place / "counts")
    run("count", speeches, "-o", place / "counts", "--window", "2", "--overwrite")
    assert listing(place) == ["counts"]


def test_overwrite_writes_where_there_is_nothing(speeches, place):
    assert run("count", speeches, "-o", place / "counts", "--overwrite").code == 0


def test_overwrite_with_bad_input_leaves_the_old_counts(speeches, place):
    run("count", speeches, "-o", place / "counts")
    (speeches / "undated.txt").write_text("Steam.", encoding="utf-8")
    run("count", speeches, "-o", place / "counts", "--overwrite")
    assert wordtide.Counts.load(place / "counts", check=True).words[0] == "drives"


def test_overwrite_refuses_a_folder_that_wordtide_did_not_make(speeches, place):
    (place / "photos").mkdir()
    (place / "photos" / "wedding.jpg").write_bytes(b"precious")
    assert run("count", speeches, "-o", place / "photos", "--overwrite").code == EXIT_OUTPUT
    assert (place / "photos" / "wedding.jpg").read_bytes() == b"precious"


def test_overwrite_refuses_a_folder_with_the_header_of_another_program(speeches, place):
    (place / "other").mkdir()
    (place / "other" / "header.json").write_text('{"made by": "another program"}', encoding="utf-8")
    (place / "other" / "wedding.jpg").write_bytes(b"precious")
    assert run("count", speeches, "-o", place / "other", "--overwrite").code == EXIT_OUTPUT
    assert (place / "other" / "wedding.jpg").exists()


def test_overwrite_refuses_a_file(speeches, place):
    (place / "thesis.doc").write_bytes(b"precious")
    assert run("count", speeches, "-o", place / "thesis.doc", "--overwrite").code == EXIT_OUTPUT
    assert (place / "thesis.doc").read_bytes() == b"precious"


def test_overwrite_through_a_symbolic_link_leaves_nothing_hidden_behind(speeches, place, tmp_path):
    run("count", speeches, "-o", tmp_path / "real")
    (place / "counts").symlink_to(tmp_path / "real")
    run("count", speeches, "-o", place / "counts", "--window", "2", "--overwrite")
    assert listing(place) == ["counts"]


def test_a_dangling_symbolic_link_is_not_replaced(speeches, place):
    (place / "counts").symlink_to(place / "nowhere")
    assert run("count", speeches, "-o", place / "counts").code == EXIT_OUTPUT


def test_an_output_in_a_missing_folder_says_how_to_make_it(speeches, place):
    done = run("count", speeches, "-o", place / "deep" / "counts")
    assert (done.code, f"mkdir -p {place / 'deep'}" in done.err) == (EXIT_OUTPUT, True)


def test_an_output_in_a_missing_folder_makes_nothing(speeches, place):
    run("count", speeches, "-o", place / "deep" / "counts")
    assert listing(place) == []


def test_an_output_below_a_file_is_refused(speeches, place):
    (place / "file").write_bytes(b"")
    assert run("count", speeches, "-o", place / "file" / "counts").code == EXIT_OUTPUT


def test_an_output_with_too_long_a_name_is_refused(speeches, place):
    done = run("count", speeches, "-o", place / ("c" * 300))
    assert (done.code, len(done.err.splitlines())) == (EXIT_OUTPUT, 2)


def test_an_output_with_the_longest_name_there_is_can_be_written_or_is_refused(speeches, place):
    assert run("count", speeches, "-o", place / ("c" * 255)).code in (0, EXIT_OUTPUT)


def test_an_output_on_a_read_only_disk_is_refused(speeches, mounted):
    disk = mounted("size=1m,ro")
    done = run("count", speeches, "-o", disk / "counts")
    assert (done.code, f"{disk} cannot be written to" in done.err) == (EXIT_OUTPUT, True)


@pytest.fixture
def bound_by_permissions():
    """What to put before a command so that permissions count even for root."""
    if os.geteuid() != 0:
        return []
    prefix = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    if (
        shutil.which("setpriv") is None
        or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("root's rights cannot be dropped here: there is no setpriv")
    return prefix


def test_an_output_in_a_folder_without_permission_is_refused(speeches, place, bound_by_permissions):
    place.chmod(0o555)
    done = run_process("count", speeches, "-o", place / "counts", prefix=bound_by_permissions)
    assert (done.code, f"{place} cannot be written to" in done.err) == (EXIT_OUTPUT, True)


def test_an_output_in_a_folder_that_cannot_be_entered_is_refused(speeches, place, bound_by_permissions):
    place.chmod(0)
    done = run_process("count", speeches, "-o", place / "counts", prefix=bound_by_permissions)
    place.chmod(0o755)
    assert (done.code, len(done.err.splitlines())) == (EXIT_OUTPUT, 2)


def test_a_source_without_permission_is_named(speeches, place, bound_by_permissions):
    path = speeches / "1862-12-01_lincoln.txt"
    path.chmod(0)
    done = run_process("count", speeches, "-o", place / "counts", prefix=bound_by_permissions)
    assert (done.code, done.err.startswith(f"wordtide: {path} cannot be read: permission denied.")) == (
        3,
        True,
    )


def test_a_folder_without_permission_is_not_passed_over_in_silence(speeches, place, bound_by_permissions):
    (speeches / "locked").mkdir()
    (speeches / "locked" / "1900.txt").write_text("Atomic power.", encoding="utf-8")
    (speeches / "locked").chmod(0)
    done = run_process("count", speeches, "-o", place / "counts", prefix=bound_by_permissions)
    (speeches / "locked").chmod(0o755)
    assert str(speeches / "locked") in done.err


def test_the_counting_code_loads_where_no_folder_for_its_cache_can_be_written(tmp_path, bound_by_permissions):
    package = tmp_path / "site" / "wordtide"
    shutil.copytree(Path(wordtide.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    home = tmp_path / "home"
    home.mkdir()
    for folder in (home, *(Path(found) for found, _, _ in os.walk(tmp_path / "site"))):
        folder.chmod(0o555)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "NUMBA_"))}
    environment = {
        **kept,
        "HOME": str(home),
        "PYTHONPATH": str(tmp_path / "site"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    code = "import wordtide.counts.count; print(wordtide.__file__)"
    done = subprocess.run(
        [*bound_by_permissions, sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.decode().strip(), done.stderr.decode()) == (str(package / "__init__.py"), "")


@pytest.fixture(scope="module")
def full_disk(large_input, mounted):
    """A disk that filled up, and the run that filled it."""
    disk = mounted("size=1m")
    return disk, run_process("count", large_input, "-o", disk / "counts")


def test_a_full_disk_is_named_with_its_remedy(full_disk):
    disk, done = full_disk
    first, second = done.err.splitlines()
    assert first == f"wordtide: The disk is full: {disk / 'counts'} could not be written."
    assert "Make room" in second


def test_a_full_disk_ends_with_its_exit_code(full_disk):
    assert full_disk[1].code == EXIT_OUTPUT


def test_a_full_disk_keeps_nothing_half_written(full_disk):
    assert listing(full_disk[0]) == []


def test_a_disk_that_fills_up_with_temporary_files_is_named(large_input, mounted):
    disk = mounted("size=200k")
    done = run_process("count", large_input, "-o", disk / "counts", "--memory", "0")
    assert (done.code, "The disk is full" in done.err) == (EXIT_OUTPUT, True)


def test_a_disk_without_room_for_another_folder_is_named(speeches, mounted):
    disk = mounted("size=1m,nr_inodes=1")
    done = run("count", speeches, "-o", disk / "counts")
    assert (done.code, "The disk is full" in done.err) == (EXIT_OUTPUT, True)


def test_a_disk_without_room_for_another_file_keeps_nothing_half_written(speeches, mounted):
    disk = mounted("size=1m,nr_inodes=4")
    run("count", speeches, "-o", disk / "counts")
    assert listing(disk) == []


def test_a_full_disk_leaves_counts_that_were_to_be_replaced(speeches, large_input, mounted):
    disk = mounted("size=1m")
    run("count", speeches, "-o", disk / "counts")
    run_process("count", large_input, "-o", disk / "counts", "--overwrite")
    assert (listing(disk), wordtide.Counts.load(disk / "counts", check=True).words[0]) == (
        ["counts"],
        "drives",
    )


def test_a_full_disk_for_temporary_files_is_explained_to_python_users(large_input, mounted, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(mounted("size=1m")))
    with pytest.raises(OutputError, match="full"):
        wordtide.count(large_input)
