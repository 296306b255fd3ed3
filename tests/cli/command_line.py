"""The command `wordtide`, run in this process (fast) or in one of its own (real exit codes, real pipes)."""

import contextlib
import io
import os
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from wordtide.cli.app import main

_COMPILING = "wordtide: compiling the counting code"  # said on a cold cache only
_DYING = """
import os, signal, sys
from importlib import import_module
module, function, calls = import_module(sys.argv[1]), sys.argv[2], int(sys.argv[3])
original, left = getattr(module, function), [calls]
def dying(*arguments, **options):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*arguments, **options)
setattr(module, function, dying)
sys.argv[1:] = sys.argv[4:]
from wordtide.cli.app import main
main()
"""


class Run(NamedTuple):
    """How a run of the command ended."""

    code: int
    out: str
    err: str


def run(*arguments: object) -> Run:
    """Call the command's own entry point with these arguments, and catch what it prints."""
    before = sys.argv
    sys.argv = ["wordtide", *map(str, arguments)]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            main()
            code: object = 0
        except SystemExit as ending:
            code = ending.code or 0
        except Exception:  # what the user would see: a traceback, and the exit code that Python gives it
            traceback.print_exc(file=err)
            code = 1
        finally:
            sys.argv = before
    assert isinstance(code, int)
    return Run(code, out.getvalue(), _talk(err.getvalue()))


def command(*arguments: object) -> list[str]:
    """The command line that runs wordtide in a process of its own."""
    return [sys.executable, "-m", "wordtide", *map(str, arguments)]


def dying_command(module: str, function: str, calls: int, *arguments: object) -> list[str]:
    """Run a command in a process that kills itself when a module's function is called for the nth time."""
    return [sys.executable, "-c", _DYING, module, function, str(calls), *map(str, arguments)]


def run_process(*arguments: object, stdin: bytes = b"", prefix: Sequence[str] = ()) -> Run:
    """Run the command in a process of its own; `prefix` is put before it (as `nice` would be)."""
    line = [*prefix, *command(*arguments)]
    done = subprocess.run(line, input=stdin, capture_output=True, timeout=100, check=False)
    return Run(done.returncode, done.stdout.decode(), _talk(done.stderr.decode()))


def listing(folder: Path) -> list[str]:
    """Everything in a folder, hidden things too."""
    return sorted(os.listdir(folder))


def _talk(err: str) -> str:
    return "".join(line for line in err.splitlines(keepends=True) if not line.startswith(_COMPILING))
