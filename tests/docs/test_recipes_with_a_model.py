"""The recipes about models run as they are typed: data frames, R, notebooks, remote servers, Ctrl-C, sentences."""

import getpass
import http.client
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import threading
from pathlib import Path

import pandas
import pytest
from cli.command_line import command, run
from docs.pages import fenced_blocks
from docs.small_world import dated_texts
from docs.test_recipes import ELSEWHERE, PAGE, sections

import wordtide
from wordtide.cli.output import ProgressBar


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with letters, their counts and a model."""
    place = tmp_path_factory.mktemp("recipes")
    (place / "letters").mkdir()
    by_year = {}
    for year, text in dated_texts():
        by_year.setdefault(year, []).append(f"{text.capitalize()}.\n")
    for year, texts in by_year.items():
        (place / "letters" / f"{year}.txt").write_text("".join(texts), encoding="utf-8")
    counts = wordtide.count(str(place / "letters"), output=place / "counts", every="decade")
    wordtide.fit(counts, dim=8, threads=1, output=place / "model")
    return place


def code_of(language, part):
    (code,) = [
        block.code for block in fenced_blocks(PAGE) if block.language == language and part in block.code
    ]
    return code


def typed(line):
    """Run a line with the shell's redirection of standard output."""
    line, _, target = line.partition(" > ")
    done = run(*shlex.split(line)[1:])
    assert done.code == 0, done.err
    if target:
        Path(target).write_text(done.out, encoding="utf-8")
    return done


def test_every_recipe_of_this_file_has_one_to_three_commands():
    found = sections()
    for name in ELSEWHERE - {"A data frame", "A notebook"}:
        assert 1 <= len(found[name]) <= 3, name


@pytest.mark.filterwarnings("ignore::wordtide.api.NoteWarning")
def test_a_data_frame(here):
    rows = list(dated_texts())
    frame = pandas.DataFrame({"published": [date for date, _ in rows], "body": [text for _, text in rows]})
    space = {"frame": frame}
    exec(compile(code_of("python", "frame"), "recipe", "exec"), space)
    assert set(pandas.read_csv("changed.csv")["word"]) <= set(space["model"].words)
    assert str(space["model"].story("energy")).startswith("energy moved from ")


def test_r(here):
    for line in sections()["R"]:
        typed(line)
    assert pandas.read_csv("vectors.csv", index_col="word").shape == (
        len(wordtide.load("model").words),
        2 + 8,
    )
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    code = code_of("r", "read.csv") + "cat(dim(vectors), nrow(changed) > 0, is.numeric(vectors$v1))\n"
    Path("recipe.R").write_text(code, encoding="utf-8")
    done = subprocess.run(["Rscript", "recipe.R"], capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout.split()[1:] == ["10", "TRUE", "TRUE"], done.stdout + done.stderr


def test_the_workbook_opens_in_libreoffice_without_questions(here):
    line = re.search(r"`(wordtide export model/ --to excel [^`]+)`", PAGE.read_text(encoding="utf-8"))[1]
    typed(line)
    expected = pandas.read_csv(export_csv())
    pandas.testing.assert_frame_equal(pandas.read_excel("vectors.xlsx"), expected, check_dtype=False)
    if shutil.which("soffice") is None:
        pytest.skip("LibreOffice is not installed")
    convert = ["soffice", "--headless", "--convert-to", "csv", "--outdir", "opened", "vectors.xlsx"]
    subprocess.run(
        convert, capture_output=True, timeout=100, check=True, env={**os.environ, "HOME": str(here)}
    )
    opened = pandas.read_csv("opened/vectors.csv")
    assert opened["word"].tolist() == expected["word"].tolist()
    assert (opened.drop(columns="word") - expected.drop(columns="word")).abs().max().max() < 1e-6


def export_csv():
    typed("wordtide export model/ --to csv --at 1950 -o vectors.csv")
    return "vectors.csv"


def test_a_notebook_shows_the_page_and_goes_on(here):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    asked = (
        "import http.client\n"
        "connection = http.client.HTTPConnection('127.0.0.1', page.server.port, timeout=20)\n"
        "connection.request('GET', '/')\n"
        "answer = connection.getresponse()\n"
        "print(answer.status, 'localhost:*' in answer.headers['Content-Security-Policy'])\n"
        "page.close()"
    )
    cells = ["import wordtide\n" + code_of("python", "explore"), "page", asked]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=100, resources={"metadata": {"path": str(here)}}).execute()
    first, second, third = notebook.cells
    assert any("<iframe" in output.get("data", {}).get("text/html", "") for output in first.outputs)
    assert any("image/png" in output.get("data", {}) for output in first.outputs)
    assert re.search(r"explorer at http://127\.0\.0\.1:\d+/", second.outputs[0]["data"]["text/plain"])
    assert third.outputs[0]["text"] == "200 True\n"


def test_a_remote_server(here):
    line = sections()["A remote server"][0].replace("8000", str(free_port()))
    surroundings = {name: value for name, value in os.environ.items() if "DISPLAY" not in name}
    surroundings |= {"SSH_CONNECTION": "203.0.113.7 50000 203.0.113.9 22"}
    process = subprocess.Popen(
        command(*shlex.split(line)[1:]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=surroundings,
    )
    try:
        port = int(re.search(r":(\d+)/", process.stdout.readline())[1])
        said = [process.stderr.readline() for _ in range(2)]
        assert f"ssh -L {port}:127.0.0.1:{port} {getpass.getuser()}@203.0.113.9" in said[0]
        assert f"http://localhost:{port}/" in said[1]
        with tunnel_to(port) as own:
            connection = http.client.HTTPConnection("localhost", own, timeout=20)
            connection.request("GET", "/")
            assert connection.getresponse().status == 200
            connection.close()
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class tunnel_to:  # noqa: N801 (read as a function)
    """Passes bytes on from another port, as `ssh -L` does."""

    def __init__(self, port):
        self.port = port

    def __enter__(self):
        self.listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()
        return self.listening.getsockname()[1]

    def __exit__(self, *_):
        self.listening.close()

    def _accept(self):
        near, _ = self.listening.accept()
        with near, socket.create_connection(("127.0.0.1", self.port)) as far:
            back = threading.Thread(target=self._copy, args=(far, near), daemon=True)
            back.start()
            self._copy(near, far)
            back.join()

    @staticmethod
    def _copy(source, target):
        try:
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return


@pytest.mark.parametrize("last", [4, 15], ids=["in the start, which takes 12 steps", "after the start"])
def test_ctrl_c_and_resume(here, monkeypatch, last):
    first, second = sections()["Ctrl-C and resume"]
    typed(f"{first} --threads 1".replace("model/", "whole/"))
    shutil.rmtree("model")
    steps = iter(range(100))

    def press(self, amount=1, status=""):
        if next(steps) == last:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(ProgressBar, "step", press)
        stopped = run(*shlex.split(first)[1:])
    assert stopped.code == 130
    assert stopped.err.splitlines()[-1] == f"  Continue with: {second}"
    assert "resuming from the checkpoint" in typed(second).err
    assert Path("model/arrays.safetensors").read_bytes() == Path("whole/arrays.safetensors").read_bytes()


def test_the_sentences_behind_a_claim(here):
    shutil.rmtree("counts")
    count, before, after = sections()["The sentences behind a claim"]
    typed(count)
    assert "farm" in typed(before).out
    assert "mill" in typed(after).out
    shown = str(wordtide.Counts.load("counts").examples("energy", at="1850"))
    assert len(shown.splitlines()) == 3
    assert all("energy" in line and line.startswith("1850") for line in shown.splitlines())
