"""Commands in processes that start at once: a process that has imported everything forks one for each.

Starting Python, importing libraries and loading compiled code takes seconds, in which a kill proves little. A
forked process is as real: it has its own number, files and locks, and dies of SIGKILL as any other. It can be
killed from outside after some time, or just before the n-th of its operations that change what is on the
disk, of which Python tells by audit events.
"""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).parents[1]
#: Audit events of what changes names, files and locks. Opening a file counts if it may be written.
_CHANGES = {
    f"os.{name}" for name in ("chmod", "link", "mkdir", "remove", "rename", "rmdir", "symlink", "truncate")
} | {"fcntl.flock"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class Death:
    """When a command is killed: after some seconds, or before its n-th operation on files, from 1."""

    seconds: float | None = None
    operation: int | None = None


class Forker:
    """Starts commands, one at a time, each as the leader of a process group. Use it as a context."""

    def __init__(self) -> None:
        path = os.pathsep.join(filter(None, [str(_TESTS), os.environ.get("PYTHONPATH")]))
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "faults.forking"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **threads, "PYTHONPATH": path},
        )

    def __enter__(self) -> "Forker":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()

    def start(
        self,
        line: list[str],
        talk: Path,
        stdin: Path | None = None,
        warm: bool = False,
        last: int | None = None,
    ) -> int:
        """Start a command; returns its process number. `last`: the operation before which it dies."""
        source = None if stdin is None else str(stdin)
        request = {"line": line, "talk": str(talk), "stdin": source, "warm": warm, "last": last}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return int(self._answer()["pid"])

    def wait(self) -> int:
        """The exit code of the started command; negative if a signal killed it."""
        self._process.stdin.write("wait\n")
        self._process.stdin.flush()
        return int(self._answer()["code"])

    def warm_up(self, line: list[str], talk: Path) -> int:
        """Run a command in the forking process, which then has loaded all it needs; returns the exit code."""
        self.start(line, talk, warm=True)
        return self.wait()

    def run(
        self, line: list[str], talk: Path, stdin: Path | None = None, death: Death | None = None
    ) -> tuple[int, float]:
        """Run a command to its end or death; returns exit code and seconds."""
        started = time.monotonic()
        process = self.start(line, talk, stdin, last=None if death is None else death.operation)
        if death is not None and death.seconds is not None:
            while (left := started + death.seconds - time.monotonic()) > 0 and not _has_ended(process):
                time.sleep(min(left, 0.01))
            os.killpg(
                process, signal.SIGKILL
            )  # until it is waited for its number is its own, even if it has ended
        return self.wait(), time.monotonic() - started

    def _answer(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


def _has_ended(process: int) -> bool:
    """Whether a process has ended that nobody waited for; unknown on systems other than Linux."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False


def operations(talk: Path) -> list[str]:
    """The number of operations on files of the last command with this output that ended by itself."""
    return _beside(talk).read_text().splitlines()


def _beside(talk: Path) -> Path:
    return talk.with_name(f"{talk.name}.operations")


def _child(request: dict[str, Any], begun: int) -> None:
    os.setpgid(0, 0)
    os.close(begun)
    seen: list[str] = []

    def audit_hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CHANGES or (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING
        ):
            seen.append(event)
            if len(seen) == request["last"]:
                os.killpg(0, signal.SIGKILL)

    sys.addaudithook(audit_hook)
    code = _run(request)
    _beside(Path(request["talk"])).write_text("".join(f"{event}\n" for event in seen))
    os._exit(code)


def _run(request: dict[str, Any]) -> int:
    """Run a command in this process, with its own standard streams; returns the exit code."""
    from wordtide.cli.app import main

    source = os.open(request["stdin"] or os.devnull, os.O_RDONLY)
    talk = os.open(request["talk"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    for opened, number in ((source, 0), (talk, 1), (talk, 2)):
        os.dup2(opened, number)
    os.close(source)
    os.close(talk)
    sys.argv = ["wordtide", *request["line"]]
    try:
        main()
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _serve() -> None:
    """Fork a process for each request on standard input, and report its number and, on request, its end."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")

    def answer(**facts: int) -> None:
        answers.write(json.dumps(facts) + "\n")
        answers.flush()

    while text := requests.readline():
        request = json.loads(text)
        if request["warm"]:
            answer(pid=0)
            requests.readline()
            answer(code=_run(request))
            continue
        begun, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            _child(request, tell)
        os.close(tell)
        os.read(begun, 1)  # until the child leads its own group
        os.close(begun)
        answer(pid=pid)
        requests.readline()  # only now may its number become another's
        answer(code=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


if __name__ == "__main__":
    _serve()
