"""The pages of the documentation, their blocks of code, and the commands that they show."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import typer

from wordtide.cli.app import whole_app

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / folder / "README.md" for folder in (".", "benchmarks", "explorer")),
    *sorted(DOCS.glob("*.md")),
]
_FENCED = re.compile(
    r"(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?^```(?P<language>[^\n]*)\n(?P<code>.*?)^```$", re.M | re.S
)


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    code: str
    reason: str | None  # why it is not run


def name_of(page):
    return str(page.relative_to(ROOT))


def fenced_blocks(page):
    text = page.read_text(encoding="utf-8")
    return [Block(found["language"], found["code"], found["reason"]) for found in _FENCED.finditer(text)]


def indented_commands(page):
    """The commands in indented blocks, which stand there for the reader to type."""
    return re.findall(r"^    (wordtide .+?) *$", page.read_text(encoding="utf-8"), re.M)


def all_commands(page):
    """The commands of a page wherever they stand: in blocks, in sentences, in tables."""
    inline = re.findall(r"`(wordtide [^`]+)`", page.read_text(encoding="utf-8"))
    fenced = [
        line for block in fenced_blocks(page) if block.language == "sh" for line in block.code.splitlines()
    ]
    return [
        line.replace(r"\|", "|")
        for line in [*indented_commands(page), *inline, *fenced]
        if line.startswith("wordtide ")
    ]


def parse(line):
    """Let the program read a command without running it; what a reader must still fill in may be missing."""
    words = shlex.split(line.partition(" > ")[0].replace("...", ""), comments=True)[1:]
    command, name = typer.main.get_command(whole_app()), ["wordtide"]
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        assert words[0] in command.commands, f"{line}: there is no command {words[0]}"
        name.append(words[0])
        command, words = command.commands[words[0]], words[1:]
    if not words or hasattr(command, "commands"):
        return
    try:
        command.make_context(" ".join(name), words)
    except Exception as error:
        if type(error).__name__ != "MissingParameter":
            raise AssertionError(f"{line}: {error}") from error
