"""The command `wordtide`: its commands, each imported only when it is called, and how errors are shown."""

import atexit
import functools
import gc
import io
import os
import sys
from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from wordtide.errors import OutputError, WordtideError, in_shell
from wordtide.storage.cells import spelled_out
from wordtide.version import __version__

#: Commands by name: the module of `wordtide.cli.commands` with this function, and the first line of its help.
COMMANDS = {
    "count": ("count", "Count the word pairs of dated texts, slice by slice."),
    "merge": ("count", "Add up counts that have the same vocabulary."),
    "fit": ("fit", "Fit word vectors that drift through time, from counts."),
    "update": (
        "streaming",
        "Append later slices to a model fitted by filtering, as if they had been there from the start.",
    ),
    "watch": (
        "streaming",
        "Update a model with each slice of an endless stream, and report surprising words as JSON Lines.",
    ),
    "info": ("info", "Show what a counts or model folder contains."),
    "examples": ("info", "Show a word in context: sentences that were kept while counting."),
    "neighbors": (
        "questions",
        "Show the words nearest to a word at one time or in every slice, with credible intervals.",
    ),
    "similarity": ("questions", "Show how similar a word is to others over time."),
    "changed": ("questions", "Show the words that changed most: how much, when, from what to what."),
    "story": (
        "questions",
        "Summarize how a word changed: a sentence, and its neighbors at start, halfway and end.",
    ),
    "divided": ("questions", "Show the words that groups of texts use most differently."),
    "surprises": (
        "questions",
        "Show the most surprising words of a slice, compared with words of similar frequency.",
    ),
    "axis": ("questions", "Show where words lie between two poles over time."),
    "analogy": ("questions", "Show which words are used at one time as a word was used at another."),
    "export": ("explore", "Write a model, at one time or in all slices, to a file that other programs read."),
    "explore": ("explore", "Open a page on a model in the browser, or write it as one file or a folder."),
    "evaluate": (
        "evaluation",
        "Compare methods by how well they predict held-out slices, and write a report.",
    ),
    "tune": ("evaluation", "Choose settings by how well they predict held-out slices, with standard errors."),
    "demo": (
        "demo",
        "Run everything on the State of the Union addresses: count, fit, answer, draw. Takes a few minutes.",
    ),
}
_WIDEST_NAME = 12
#: The group of commands that draw figures: `wordtide.cli.commands.plot.FIGURES`.
PLOT = "plot"
PLOT_HELP = "Draw a figure: timeline, similarity, displacement, likelihood or map."
#: The groups in which the help lists commands.
GROUPS = {
    "Prepare": ("demo", "count", "merge"),
    "Fit": ("fit", "tune"),
    "Ask": (
        *("changed", "story", "divided", "neighbors", "similarity", "axis", "analogy", "surprises"),
        "examples",
    ),
    "Show": ("explore", "plot", "export"),
    "Stream": ("update", "watch"),
    "Check": ("info", "evaluate"),
}
#: Environment variables in which shells pass a line to complete.
_COMPLETION_VARIABLES = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")


class GroupedCommands(TyperGroup):
    """Lists the commands in groups, with the whole first lines of their help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, _summary(name)) for name in names], col_max=_WIDEST_NAME)


def _summary(name: str) -> str:
    return PLOT_HELP if name == PLOT else COMMANDS[name][1]


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"wordtide {__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


def explained(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command so that expected errors become one message on standard error and an exit code.

    They are caught inside the command because the parser around it handles Ctrl-C and broken pipes
    differently.
    """

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
            sys.stdout.flush()
        except WordtideError as error:
            _show(error)
            sys.exit(error.exit_code)
        except KeyboardInterrupt:
            sys.exit(_interrupted())
        except OSError as error:  # from standard output; others are explained where they happen
            sys.exit(_output_failed(error))

    return run


def _output_failed(error: OSError) -> int:
    _discard_standard_output()
    if isinstance(error, BrokenPipeError):  # the reader (head, less) is gone
        return 141
    print(f"wordtide: standard output cannot be written: {error.strerror or error}.", file=sys.stderr)
    return OutputError.exit_code


def _interrupted() -> int:
    print("wordtide: interrupted; nothing was left half-written.", file=sys.stderr)
    return 130


def _show(error: WordtideError) -> None:
    from rich.console import Console  # takes a third of the start-up time, and is rarely needed
    from rich.text import Text

    message = Text(spelled_out(in_shell(f"wordtide: {error.problem}")), style="bold red")
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        message, Text(spelled_out(in_shell(f"  {error.remedy}"))), sep="\n"
    )


def _discard_standard_output() -> None:
    """Discard what is left; otherwise Python would try to write it at exit, and fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def app_with(called: Collection[str]) -> typer.Typer:
    """The application. Commands that are not called have only a name and the first sentence of their help."""
    app = typer.Typer(
        name="wordtide",
        help="Track how the meaning of words changes through time, with credible intervals.",
        cls=GroupedCommands,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name, (_, help) in COMMANDS.items():
        app.command(name)(explained(command(name)) if name in called else named_only(name, help))
    plot = typer.Typer(help=PLOT_HELP, no_args_is_help=True)
    for name, figure in figures().items() if PLOT in called else [("map", named_only("map", ""))]:
        plot.command(name)(explained(figure))
    app.add_typer(plot, name=PLOT)
    return app


def whole_app() -> typer.Typer:
    """The application with all of its commands."""
    return app_with([*COMMANDS, PLOT])


def main() -> None:
    """The entry point of the command line."""
    atexit.register(gc.freeze)  # or Python looks for garbage in all compiled code at exit, for 0.3 seconds
    if isinstance(sys.stdout, io.TextIOWrapper):  # escape characters that the terminal lacks
        sys.stdout.reconfigure(errors="backslashreplace")
        if os.name == "nt" and not sys.stdout.isatty():  # the same bytes as on other systems
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    try:
        try:
            app_with([*sys.argv[1:], *_words_to_complete()])(prog_name="wordtide")  # also as python -m
        finally:  # help and version are printed outside of a command, and end with SystemExit
            sys.stdout.flush()
    except KeyboardInterrupt:  # before the command runs
        sys.exit(_interrupted())
    except OSError as error:
        sys.exit(_output_failed(error))


def _words_to_complete() -> list[str]:
    """The words of the line that a shell asks to complete; the commands among them are imported."""
    return [word for name in _COMPLETION_VARIABLES for word in os.environ.get(name, "").split()]


def command(name: str) -> Callable[..., None]:
    """The function of a command."""
    found: Callable[..., None] = getattr(import_module(f"wordtide.cli.commands.{COMMANDS[name][0]}"), name)
    return found


def figures() -> dict[str, Callable[..., Any]]:
    """The functions of `wordtide plot`, by name."""
    found: dict[str, Callable[..., Any]] = import_module("wordtide.cli.commands.plot").FIGURES
    return found


def named_only(name: str, help: str) -> Callable[..., None]:
    """Return a placeholder for a command that is listed but not called."""

    def placeholder() -> None:
        raise AssertionError(f"{name} was called but not imported")

    placeholder.__name__, placeholder.__doc__ = name, help
    return placeholder
