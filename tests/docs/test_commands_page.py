"""The reference of commands is what the program says of itself."""

import importlib.util
import os
import subprocess
import sys

import pytest
from docs.pages import DOCS, PAGES, all_commands, name_of, parse

_SPEC = importlib.util.spec_from_file_location("make_commands", DOCS / "make_commands.py")
make_commands = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(make_commands)
COMMANDS = list(make_commands.commands())


def test_the_page_is_not_stale():
    assert (DOCS / "commands.md").read_text(encoding="utf-8") == make_commands.reference(), (
        "run: make docs-commands"
    )


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_help_an_example_and_help_for_each_parameter(command):
    assert command.sentences
    assert command.example.startswith(f"wordtide {command.name} ")
    parse(command.example)
    for name, help in [*command.arguments, *command.options]:
        assert help.strip(), f"{command.name}: {name} has no help"


@pytest.mark.parametrize(
    "surroundings", [{"COLUMNS": "40", "FORCE_COLOR": "1"}, {"COLUMNS": "300", "NO_COLOR": "1"}]
)
def test_the_page_does_not_depend_on_the_terminal(surroundings):
    code = "import sys; sys.path.insert(0, sys.argv[1]); import make_commands; print(make_commands.reference(), end='')"
    line = [sys.executable, "-c", code, str(DOCS)]
    done = subprocess.run(line, env={**os.environ, **surroundings}, capture_output=True, check=True)
    assert done.stdout.decode() == make_commands.reference()


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "commands.md"], ids=name_of)
def test_every_command_of_a_page_is_one_that_the_program_understands(page):
    for line in all_commands(page):
        parse(line)


def test_a_command_with_an_option_that_is_gone_would_be_noticed():
    with pytest.raises(AssertionError, match="--no-such-option"):
        parse("wordtide fit counts -o model --no-such-option 3")
    with pytest.raises(AssertionError, match="no command fitt"):
        parse("wordtide fitt counts")
