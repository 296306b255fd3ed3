"""`wordtide explore`: a file, a folder or a server; one clear error where there can be none of them."""

import http.client
import os
import re
import signal
import subprocess

import pytest
from cli.command_line import command, run
from explorer.small_pages import blocks_in, parsed, small_model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "harbour"
    small_model(words=14, slices=4).save(folder)
    return folder


def test_html_writes_one_file_and_says_so_on_standard_error(model, tmp_path):
    result = run(
        "explore",
        model,
        "--html",
        tmp_path / "story.html",
        "--no-map",
        "--title",
        "Tides",
        "--licence",
        "CC0",
    )
    assert (result.code, result.out) == (0, "")
    assert re.search(r"written to .*story\.html \(0\.\d MB\)", result.err)
    header = parsed(blocks_in((tmp_path / "story.html").read_bytes())["header.bin"])
    assert (header["title"], header["about"]["licence"]) == ("Tides", "CC0")


def test_the_title_is_the_models_name_if_none_is_given(model, tmp_path):
    run("explore", model, "--html", tmp_path / "story.html", "--no-map")
    assert parsed(blocks_in((tmp_path / "story.html").read_bytes())["header.bin"])["title"] == "harbour"


def test_folder_writes_a_site(model, tmp_path):
    result = run("explore", model, "--folder", tmp_path / "site", "--no-map", "--words", 10, "--slices", 3)
    assert result.code == 0
    assert "4 least frequent words" in result.err
    header = parsed((tmp_path / "site" / "data" / "header.bin").read_bytes())
    assert (len(header["words"]), len(header["slices"])) == (10, 3)
    assert (tmp_path / "site" / "index.html").is_file()


def test_the_page_that_ships_can_be_filled(model, tmp_path):
    run("explore", model, "--html", tmp_path / "story.html", "--no-map")
    html = (tmp_path / "story.html").read_text(encoding="utf-8")
    assert "<!--wordtide:" not in html
    assert html.count("Content-Security-Policy") == 1
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", html)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--html", "a.html", "--folder", "b"], "cannot be combined"),
        (["--html", "a.html", "--words", "3"], "--words"),
        (["--html", "a.html", "--max-mb", "0"], "--max-mb"),
        (["--html", "a.html", "--map-words", "-3"], "--map-words"),
        (["--port", "99999", "--no-browser"], "--port"),
        (["--host", "203.0.113.1", "--no-browser"], "cannot use 203.0.113.1"),
    ],
)
def test_options_that_cannot_be_are_one_error(model, options, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("explore", model, *options)
    assert result.code == 2
    assert said in result.err
    assert "Traceback" not in result.err
    assert os.listdir(tmp_path) == []


def test_a_static_model_is_one_error(tmp_path):
    small_model(slices=1).save(tmp_path / "model")
    result = run("explore", tmp_path / "model", "--html", tmp_path / "story.html")
    assert result.code == 2
    assert "single slice" in result.err
    assert not (tmp_path / "story.html").exists()


def test_a_folder_that_is_no_model_is_one_error(tmp_path):
    result = run("explore", tmp_path, "--html", tmp_path / "story.html")
    assert result.code == 5
    assert "no model folder" in result.err


def test_an_existing_file_is_left_alone(model, tmp_path):
    (tmp_path / "story.html").write_text("mine")
    assert run("explore", model, "--html", tmp_path / "story.html").code == 4
    assert (tmp_path / "story.html").read_text() == "mine"


def test_the_server_prints_its_address_answers_and_ends_with_control_c(model):
    line = command("explore", model, "--no-browser", "--no-map")
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", address)[1])
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", "/data/header.bin")
            header = parsed(connection.getresponse().read())
            connection.close()
        finally:
            process.send_signal(signal.SIGINT)
            rest, talk = process.communicate(timeout=60)
    assert header["title"] == "harbour"
    assert (process.returncode, rest) == (0, "")
    assert "warning" not in talk


def test_another_address_is_warned_of(model):
    line = command("explore", model, "--no-browser", "--host", "0.0.0.0")
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
        finally:
            process.send_signal(signal.SIGINT)
            _, talk = process.communicate(timeout=60)
    assert "warning: 0.0.0.0 is reachable from other machines" in talk
