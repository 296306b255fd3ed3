"""Write docs/commands.md, the reference of all commands, from their own help: `make docs-commands`.

The text depends on the program alone, not on the width or the colors of a terminal. A test compares it with
the file.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer

from wordtide.cli.app import whole_app

PAGE = Path(__file__).parent / "commands.md"

#: A parameter that this many commands have, with the same help, is described once.
_COMMON = 3

_HEAD = """\
# Commands

What `wordtide COMMAND --help` prints. `make docs-commands` writes this page; edit the help instead.

Answers go to standard output, everything else to standard error. Exit codes: 0 success, 2 wrong arguments,
3 input, 4 output, 5 a damaged folder, 130 Ctrl-C.
"""


class Documented(NamedTuple):
    """A command as its help describes it."""

    name: str  # as it is typed: "plot map"
    sentences: list[str]  # paragraphs, without the example
    example: str
    arguments: list[tuple[str, str]]
    options: list[tuple[str, str]]


def commands() -> Iterator[Documented]:
    """All commands in the order of the help, those of groups after them."""
    yield from _within(typer.main.get_command(whole_app()), [])


def reference() -> str:
    """The page."""
    found = list(commands())
    number = Counter(row for one in found for row in [*one.arguments, *one.options])
    common = [row for row, times in number.items() if times >= _COMMON]
    parts = [_HEAD, "## Common", "", *map(_item, common)]
    described: dict[
        tuple[str, str], tuple[str, str]
    ] = {}  # options, the first command with each, its default
    for one in found:
        own: list[str] = []
        shared: dict[str, list[str]] = {}
        for row in [*one.arguments, *one.options]:
            text, dot, default = row[1].removeprefix("Texts: ").partition(". Default: ")
            first, usual = described.setdefault((_name(row), text.lower().rstrip(".")), (one.name, default))
            if row in common:
                shared.setdefault("[Common](#common)", []).append(_name(row))
            elif first == one.name:
                own.append(_item(row))
            elif default in ("", usual):
                shared.setdefault(f"As in {_link(first)}", []).append(_name(row))
            else:
                own.append(f"- {_name(row)}: As in {_link(first)}{dot}{_prose(default)}")
        parts += ["", f"## {one.name}", "", "\n\n".join(map(_prose, one.sentences)), ""]
        parts += [f"    {one.example}", "", *own]
        for where, names in shared.items():
            parts += ["", f"{where}: {', '.join(names)}."]
    return "\n".join(parts) + "\n"


def _within(group: Any, names: list[str]) -> Iterator[Documented]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _within(command, [*names, name])
            continue
        words = [*names, name]
        context = command.make_context(" ".join(["wordtide", *words]), [], resilient_parsing=True)
        paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n") if part.strip()]
        examples = [part.removeprefix("Example: ") for part in paragraphs if part.startswith("Example: ")]
        records: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None and parameter.name != "help":
                name = record[0].split(" <")[0] if parameter.param_type_name == "argument" else record[0]
                records[parameter.param_type_name].append((name, " ".join(record[1].split())))
        yield Documented(
            name=" ".join(words),
            sentences=[part for part in paragraphs if not part.startswith("Example: ")],
            example=examples[0] if examples else "",
            arguments=records["argument"],
            options=records["option"],
        )


def _link(name: str) -> str:
    return f"[`{name}`](#{name.replace(' ', '-')})"


def _name(row: tuple[str, str]) -> str:
    return f"`{row[0].split(' <')[0]}`"


def _item(row: tuple[str, str]) -> str:
    return f"- {_name(row)}: {_described(row[1])}"


def _prose(text: str) -> str:
    """Plain text as Markdown that shows it as it is; options are set as code."""
    text = re.sub(r"([\\*_<\[\]`])", r"\\\1", text)
    return re.sub(r"(?<![^\s(])(--[a-z][a-z-]*[a-z])", r"`\1`", text)


def _described(help: str) -> str:
    """The help of a parameter, with what stands in brackets at its end as words."""
    text, bracket = re.fullmatch(r"(.*?)(?: ?\[(required|default: [^\]]*)\])?", help).groups()
    if bracket == "required":
        return f"{_prose(text)} **Required.**"
    return _prose(text) + (f" Default: `{bracket.removeprefix('default: ')}`." if bracket else "")


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
    print(f"written to {PAGE}", file=sys.stderr)
