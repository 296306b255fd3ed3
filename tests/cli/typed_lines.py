"""Lines as users type them, in the shell or Python, and what they show: the rows of `test_open_doors`."""

import csv
import http.client
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from cli.command_line import Run, command, run, run_process
from docs.small_world import dated_texts

import wordtide
from wordtide.cli.app import COMMANDS, PLOT, PLOT_HELP
from wordtide.storage.arrays import map_tensors, write_tensors
from wordtide.storage.header import file_facts, read_json

GERMAN = "Die Grüße aus Köln waren schön, und über die Straße ging ein müder Mann."
TWEET = "Wed Aug 27 13:08:45 +0000 2008"
CHINESE = "天下大势，分久必合，合久必分。今天天气很好。"
JAPANESE = "吾輩は猫である。名前はまだ無い。"
THAI = "ประเทศไทยมีภาษาไทย"


def typed(line, here):
    """Run the command in this process."""
    return run(*shlex.split(line, comments=True))


@dataclass(frozen=True)
class Row:
    """What is typed (by default the name of the row), and what must be seen.

    `files` are written to the folder `files` first, and `prepare` may change more. `out` are parts of standard
    output, `said` of either stream, `only` is all of standard error, `unsaid` a pattern that occurs nowhere.
    `slices`, `words` and `absent` are those of the counts in `new`. A row with `unchanged` leaves all files
    as they were. `then` looks at the rest.
    """

    line: str | None = None
    files: dict[str, bytes | str] = field(default_factory=dict)
    how: Callable[[str, Path], Run] = typed
    code: int = 0
    out: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    unsaid: str = r"Traceback"
    slices: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    unchanged: bool = False
    groups: tuple[str, ...] = ()
    prepare: Callable[[Path], object] = lambda here: None
    then: Callable[[Path, Run], object] = lambda here, done: None

    def check(self, name: str, here: Path) -> None:
        """Type the line in a folder, and compare."""
        if re.search(r"/dev/|# a (device|pipe)", name) and not os.path.exists("/dev/full"):
            pytest.skip("only Linux has these devices")
        write_files(here / "files", self.files)
        self.prepare(here)
        before = contents(here)
        done = self.how(name if self.line is None else self.line, here)
        both = done.out + done.err
        assert done.code == self.code, both
        assert "Traceback" not in done.err
        for part in self.out:
            assert part in done.out, both
        for part in self.said:
            assert part in both, both
        if self.only:
            assert tuple(done.err.splitlines()) == self.only
        assert not re.search(self.unsaid, both), both
        if self.unchanged:
            assert (contents(here), done.out) == (before, "")
        if self.groups:
            check_groups(both, self.groups)
        if self.slices:
            counts = wordtide.Counts.load(here / "new")
            assert tuple(counts.labels) == self.slices
            assert self.words <= set(counts.words)
            assert not self.absent & set(counts.words)
        self.then(here, done)


def counted(files, options=(), slices=(), words=frozenset(), absent=frozenset(), said=(), refused=()):
    """A row for files of one's own, counted with some options; or else refused, with parts of the message."""
    line = shlex.join(["count", "files", "-o", "new", *options]).replace("{folder}", "files")
    spaces = "Traceback" if any("no spaces" in part for part in said) else "no spaces"
    if refused:
        return Row(line, files, code=(3 if "--drop" not in options else 2), said=refused, unchanged=True)
    return Row(line, files, slices=slices, words=words, absent=absent, said=said, unsaid=spaces)


def refused(code, *said, prepare=lambda here: None):
    """A row for a line that changes nothing."""
    return Row(code=code, said=said, prepare=prepare, unchanged=True)


def table(*rows, delimiter=","):
    return "".join(delimiter.join(row) + "\n" for row in (("date", "text"), *rows))


def dated(date):
    return {"x.csv": table((str(date), "steam power"))}


def words(text):
    return frozenset(text.split())


def write_files(folder, files):
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def contents(folder):
    """The bytes of all files, and the targets of links."""
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def make_world(place):
    """A folder with texts, counts and a model, as the lines name them."""
    (place / "texts").mkdir()
    with open(place / "texts" / "texts.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("date", "text"), *dated_texts()])
    (place / "words.txt").write_text("power\r\nvigor\r\n", encoding="utf-8")
    (place / "want.txt").write_text("want\n", encoding="utf-8")
    counts = wordtide.count(str(place / "texts"), output=place / "counts")
    wordtide.fit(counts, dim=8, threads=1, output=place / "model")
    for name in ("others", "next.checkpoint", "next.work"):
        counts.save(place / name)
    return place


def spoil(name, value):
    """Change a number of the model so that sizes and checksums still match its header."""

    def prepare(here):
        path = here / "model" / "arrays.safetensors"
        arrays = {key: np.array(array) for key, array in map_tensors(path).items()}
        arrays[name].reshape(-1)[-1] = value
        write_tensors(path, arrays)
        header = read_json(here / "model" / "header.json")
        header["files"][path.name] = file_facts(path)
        (here / "model" / "header.json").write_text(json.dumps(header), encoding="utf-8")

    return prepare


def move_out(name):
    """Put a link in place of a file of the model."""

    def prepare(here):
        os.rename(here / "model" / name, here / f"outside-{name}")
        os.symlink(here / f"outside-{name}", here / "model" / name)

    return prepare


def alone(line, here):
    """Run the command in a process of its own."""
    return run_process(*shlex.split(line))


def in_shell(name):
    """Run a line in a shell that finds the command."""

    def how(line, here):
        if shutil.which(name) is None or os.name == "nt":
            pytest.skip(f"{name} is not installed")
        script = here / "bin" / "wordtide"
        script.parent.mkdir()
        script.write_text(
            f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m wordtide "$@"\n', encoding="utf-8"
        )
        script.chmod(0o755)
        path = f"{script.parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            [name, "-c", line],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            env={**os.environ, "PATH": path},
        )
        return Run(done.returncode, done.stdout, done.stderr)

    return how


def in_python(line, here):
    """Evaluate an expression that follows `>>>`, and print it."""
    names = {
        "wordtide": wordtide,
        "model": wordtide.load("model"),
        "counts": wordtide.Counts.load("counts"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wordtide.api.NoteWarning)
        try:
            exec(f"answer = {line.removeprefix('>>> ')}", names)
            return Run(0, str(names["answer"]), "")
        except wordtide.errors.WordtideError as error:
            return Run(1, "", "".join(traceback.format_exception_only(error)))


def check_groups(listed, titles):
    """All commands are listed in groups, with whole sentences."""
    assert tuple(re.findall(r"^([A-Z]\w+):$", listed, re.M)[-len(titles) :]) == titles
    listed = " ".join(listed.split())
    for name, (_, sentence) in {**COMMANDS, PLOT: ("", PLOT_HELP)}.items():
        assert f"{name} {sentence}" in listed
    assert "..." not in listed.replace("[ARGS]...", "")


def same_as(line):
    """What is printed, or drawn, is what another line prints or draws."""

    def then(here, done):
        other = run(*shlex.split(line))
        assert other.code == 0, other.err
        if (here / "other.svg").exists():
            assert (here / "one.svg").read_bytes() == (here / "other.svg").read_bytes()
        else:
            assert done.out == other.out

    return then


def lists_of_words(here, done):
    """Words before and after are lists of texts."""
    for row in json.loads(done.out):
        assert isinstance(row["from"], list)
        assert all(isinstance(word, str) for word in row["from"] + row["to"])


def opened_in_libreoffice(here, done):
    """A table that was exported is the same after LibreOffice has opened it, without a question."""
    if shutil.which("soffice") is None:
        pytest.skip("LibreOffice is not installed")
    (path,) = here.glob("new.*")
    convert = ["soffice", "--headless", "--convert-to", "csv", "--outdir", "opened", path.name]
    subprocess.run(
        convert, capture_output=True, timeout=100, check=True, env={**os.environ, "HOME": str(here)}
    )
    with open(here / "opened" / "new.csv", encoding="utf-8", newline="") as file:
        title, *rows = csv.reader(file)
    model = wordtide.load(here / "model")
    found = {row[title.index("word")]: np.array(row[-model.dim :], dtype=float) for row in rows}
    assert set(found) == set(model.words)
    assert np.linalg.norm(found["energy"]) > 0.1


def interrupted(line, here):
    """Press Ctrl-C when the fit takes steps, then in the line that continues as well."""
    first = _interrupted_at_step(here, line)
    second = first.err.splitlines()[-1]
    assert second == f"  Continue with: wordtide {line} --resume"
    again = _interrupted_at_step(here, second.partition("wordtide ")[2])
    assert (again.code, "resuming from the checkpoint, after step" in again.err) == (130, True), again.err
    return first


_REPORTING = """
import sys
from wordtide.cli.output import ProgressBar
from wordtide.cli.app import main
taken = 0
def step(self, amount=1, status=""):
    global taken
    taken += 1
    if taken < 5:
        print(f"step {taken}", file=sys.stderr, flush=True)
ProgressBar.step = step
sys.argv[0] = "wordtide"
main()
"""


def _interrupted_at_step(here, line):
    process = subprocess.Popen(
        [sys.executable, "-c", _REPORTING, *shlex.split(line)], stderr=subprocess.PIPE, cwd=here, text=True
    )
    said = []
    for reported in process.stderr:
        said.append(reported)
        if reported == "step 3\n":
            process.send_signal(signal.SIGINT)
    process.stderr.close()
    code = process.wait(timeout=60)
    return Run(code, "", "".join(one for one in said if not one.startswith("step ")))


def explored(silent=0, tunnel=False):
    """Start the explorer's server as on a machine without a display, and ask for the page once.

    `silent` connections are opened before, and stay. With `tunnel`, another port and another name of this
    machine lead to the server. Standard output gets the address and the answer.
    """

    def how(line, here):
        surroundings = {name: value for name, value in os.environ.items() if "DISPLAY" not in name}
        surroundings |= {"SSH_CONNECTION": "203.0.113.7 50000 203.0.113.9 22"}
        process = subprocess.Popen(
            command(*shlex.split(line, comments=True)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=surroundings,
        )
        try:
            address = process.stdout.readline()
            port = int(re.search(r":(\d+)/", address)[1])
            waiting = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(silent)]
            for wire in waiting:
                wire.sendall(b"GET / HT")
            host, own = ("localhost", _tunnel_to(port)) if tunnel else ("127.0.0.1", port)
            started = time.monotonic()
            connection = http.client.HTTPConnection(host, own, timeout=20)
            connection.request("GET", "/")
            answer = connection.getresponse()
            answer.read()
            soon = "in less than 2 s" if time.monotonic() - started < 2 else "late"
            connection.close()
        finally:
            process.send_signal(signal.SIGINT)
            rest, said = process.communicate(timeout=60)
        for wire in waiting:
            wire.close()
        return Run(process.returncode, f"{address}{answer.status} {soon}\n{rest}", said)

    return how


def _tunnel_to(port):
    """A port that passes the bytes of one connection on, as `ssh -L` does."""
    listening = socket.create_server(("127.0.0.1", 0))

    def copy(source, target):
        try:
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def accept():
        near, _ = listening.accept()
        with listening, near, socket.create_connection(("127.0.0.1", port)) as far:
            back = threading.Thread(target=copy, args=(far, near), daemon=True)
            back.start()
            copy(near, far)
            back.join()

    threading.Thread(target=accept, daemon=True).start()
    return listening.getsockname()[1]
