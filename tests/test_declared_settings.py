"""Settings are declared once: ranges, messages, options and TOML follow from the declaration."""

from dataclasses import dataclass

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from wordtide.cli.options import takes
from wordtide.errors import SettingsError, in_shell
from wordtide.settings import check_settings, read_settings, setting, settings_of


@dataclass(frozen=True)
class Brew:
    tea: str = setting("green", "Tea", choices=["green", "black"], note="green is milder")
    spoons: int = setting(2, "Spoons", minimum=1, maximum=9)
    heat: float | str = setting(80.0, "Heat", minimum=0.0, maximum=100.0, choices=["auto"], example="95")
    cup_name: str | None = setting(None, "Name on the cup", shown_default="none")
    milk: bool = setting(False, "Add milk")

    def __post_init__(self):
        check_settings(self)


@pytest.mark.parametrize(
    ("given", "python", "shell"),
    [
        ({"tea": "red"}, "tea='red' is not known", "--tea 'red' is not known"),
        ({"spoons": 0}, "spoons=0 is out of range", "--spoons 0 is out of range"),
        ({"spoons": 1.5}, "spoons=1.5 is out of range", "--spoons 1.5 is out of range"),
        ({"heat": "hot"}, "heat='hot' is not a number", "--heat 'hot' is not a number"),
        ({"heat": 101}, "heat=101 is out of range", "--heat 101 is out of range"),
        ({"cup_name": 5}, "cup_name=5 is not a text", "--cup-name 5 is not a text"),
        ({"milk": 1}, "milk=1 is not True or False", "--milk 1 is not True or False"),
    ],
)
def test_errors_name_the_argument_in_python_and_the_option_in_the_shell(given, python, shell):
    with pytest.raises(SettingsError) as caught:
        Brew(**given)
    assert str(caught.value).startswith(f"{python}.\n")
    assert in_shell(caught.value.problem) == f"{shell}."


def test_numpy_numbers_become_plain_ones():
    brew = Brew(spoons=np.int32(3), heat=np.float64(0.5))
    assert (type(brew.spoons), type(brew.heat)) == (int, float)


def test_the_help_states_choices_and_defaults():
    assert [one.described() for one in settings_of(Brew).values()] == [
        "Tea: green (default) or black; green is milder.",
        "Spoons. Default: 2.",
        "Heat. Default: 80.",
        "Name on the cup. Default: none.",
        "Add milk.",
    ]


@pytest.mark.parametrize(
    ("typed", "received"),
    [
        ([], {}),
        (["--spoons", "3", "--milk"], {"spoons": 3, "milk": True}),
        (["--heat", "95"], {"heat": 95}),
        (["--heat", "auto", "--cup-name", "Ada"], {"heat": "auto", "cup_name": "Ada"}),
    ],
)
def test_a_command_receives_the_settings_that_are_typed(typed, received):
    app = typer.Typer()
    calls = []

    @app.command()
    @takes(Brew, after="place")
    def brew(place: str = "kitchen", loud: bool = False, **settings):
        calls.append((place, loud, settings))

    done = CliRunner().invoke(app, typed)
    assert (done.exit_code, calls) == (0, [("kitchen", False, received)])


def test_a_file_may_have_hyphens_and_further_names(tmp_path):
    path = tmp_path / "brew.toml"
    path.write_text('cup-name = "Ada"\nspoons = 3\nshop = "ours"\n')
    assert read_settings(path, Brew, also=["shop"]) == {"cup_name": "Ada", "spoons": 3, "shop": "ours"}
