"""Write docs/commands.md, the reference of all commands, from their own help: `make docs-commands`.

The text depends on the program alone, not on the width or the colors of a terminal. A test compares it with
the file.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer

from wordtide.cli.app import whole_app

PAGE = Path(__file__).parent / "commands.md"

_HEAD = """\
# Commands

The output of `wordtide --help` and `wordtide COMMAND --help`. `make docs-commands` writes this page; edit the help
instead.

Answers go to standard output, everything else to standard error. Exit codes: 0 success, 2 wrong words or options,
3 input, 4 output, 5 a damaged folder, 130 Ctrl-C. Every command has `-h` and `--help`; `wordtide --version` prints the
version.
"""


class Documented(NamedTuple):
    """A command as its help describes it."""

    name: str  # as it is typed: "plot map"
    sentences: list[str]  # paragraphs, without the example
    example: str
    usage: str
    arguments: list[tuple[str, str]]
    options: list[tuple[str, str]]


def commands() -> Iterator[Documented]:
    """All commands in the order of the help, those of groups after them."""
    yield from _within(typer.main.get_command(whole_app()), [])


def reference() -> str:
    """The page."""
    found = list(commands())
    parts = [_HEAD, "| command | |\n|---|---|"]
    parts += [
        f"| [`{one.name}`](#{one.name.replace(' ', '-')}) | {_cell(_first_sentence(one))} |" for one in found
    ]
    for one in found:
        parts += ["", f"## {one.name}", "", "\n\n".join(map(_prose, one.sentences)), "", f"    {one.usage}"]
        for title, rows in (("argument", one.arguments), ("option", one.options)):
            if rows:
                parts += [
                    "",
                    f"| {title} | |",
                    "|---|---|",
                    *(f"| `{_code(name)}` | {_described(help)} |" for name, help in rows),
                ]
        parts += ["", "Example:", "", f"    {one.example}"]
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
            usage=re.sub(
                r"{(.*?)}", r"\1", " ".join([context.command_path, *command.collect_usage_pieces(context)])
            ),
            arguments=records["argument"],
            options=records["option"],
        )


def _first_sentence(one: Documented) -> str:
    return re.split(r"(?<=\.) ", one.sentences[0])[0] if one.sentences else ""


def _prose(text: str) -> str:
    """Plain text as Markdown that shows it as it is; options are set as code."""
    text = re.sub(r"([\\*_<\[\]`])", r"\\\1", text)
    return re.sub(r"(?<![^\s(])(--[a-z][a-z-]*[a-z])", r"`\1`", text)


def _cell(text: str) -> str:
    return _prose(text).replace("|", r"\|")


def _described(help: str) -> str:
    """The help of a parameter, with what stands in brackets at its end as words."""
    text, bracket = re.fullmatch(r"(.*?)(?: ?\[(required|default: [^\]]*)\])?", help).groups()
    ending = {"": "", "required": " **Required.**"}.get(bracket or "")
    return _cell(text) + (
        ending if ending is not None else f" Default: `{_code(bracket.removeprefix('default: '))}`."
    )


def _code(text: str) -> str:
    """Inside a cell of a table even code must not hold a bar."""
    return text.replace("|", r"\|")


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
    print(f"written to {PAGE}", file=sys.stderr)
