"""Errors that a user can meet. A message states what happened, where, and what to do about it.

Messages name a setting as in the shell, with an equals sign before a value that is a word: `--dim`,
`--solver=adam`, `--dim 0`. Each front end shows them in its own way: `str(error)` as arguments of Python
(`dim=`, `solver='adam'`), the command line as options (`--dim`, `--solver adam`).
"""

import errno
import re
from pathlib import Path

_VALUE = r"'[^']*'|[^\s,;)]*[^\s,;.:)]"
_OPTION = re.compile(rf"(?<![\w-])--([a-z]+(?:-[a-z]+)*)(?:(?:=| (?='|-?\d))({_VALUE}))?")
#: Settings that are either on or off.
_FLAGS = frozenset(
    "overwrite resume skip-bad close-gaps pretokenized follow replayed close-at-end forget-position".split()
)


def in_shell(text: str) -> str:
    """A message with its settings named as options.

    >>> in_shell("--solver=adam needs --method=smoothing.")
    '--solver adam needs --method smoothing.'
    """
    return _OPTION.sub(lambda found: f"--{found[1]} {found[2]}" if found[2] else found[0], text)


def in_python(text: str) -> str:
    """A message with its settings named as arguments.

    >>> in_python("--solver=adam needs --max-steps 1, or --dim; add --overwrite.")
    "solver='adam' needs max_steps=1, or dim=; add overwrite=True."
    """
    return _OPTION.sub(_argument, text)


def _argument(found: re.Match[str]) -> str:
    option, value = found.groups()
    name = option.replace("-", "_")
    if value is None:
        return f"{name}=True" if option in _FLAGS else f"{name}="
    plain = value.startswith(("'", "[", "(")) or value in ("True", "False", "None") or _is_number(value)
    return f"{name}={value}" if plain else f"{name}={value!r}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class WordtideError(Exception):
    """Base of all errors that are explained to the user.

    Attributes:
        problem: What happened, with settings named as described above.
        remedy: What to do about it.
        exit_code: What the command line returns.
    """

    exit_code = 1

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem, remedy)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return in_python(f"{self.problem}\n  {self.remedy}" if self.remedy else self.problem)


class SettingsError(WordtideError, ValueError):
    """A setting or argument that cannot be used, alone or with another one."""

    exit_code = 2


class InputError(WordtideError):
    """Input that cannot be read."""

    exit_code = 3


class NothingToCountError(InputError):
    """Texts without a word to count, or without two words that the model knows. A watch skips them."""


class OutputError(WordtideError):
    """The result could not be written. What was there before is unchanged."""

    exit_code = 4


class FolderError(WordtideError):
    """A counts or model folder that is missing, damaged, or of another version."""

    exit_code = 5


class VersionError(FolderError):
    """A folder of a version that this program does not read."""

    exit_code = 2


class UnknownWordError(WordtideError, KeyError):
    """A word that is not in the vocabulary."""

    exit_code = 2


def write_error(error: OSError, target: Path) -> OutputError:
    """The explanation of a system error that occurred while a target was written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return OutputError(
            f"The disk is full: {target} could not be written.",
            f"Make room, or write to another disk. Nothing was left behind in {target.parent}.",
        )
    return OutputError(
        f"{target} cannot be written: {error.strerror or error}.", "Choose another place for the output."
    )
