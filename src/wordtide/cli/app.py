"""The command `wordtide`: its commands, and what becomes of errors."""

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from wordtide import __version__
from wordtide.cli.count import count
from wordtide.cli.demo import demo
from wordtide.cli.evaluate import evaluate
from wordtide.cli.examples import examples
from wordtide.cli.explore import explore
from wordtide.cli.export import export
from wordtide.cli.fit import fit
from wordtide.cli.info import info
from wordtide.cli.merge import merge
from wordtide.cli.plot import FIGURES, plot_app
from wordtide.cli.questions import analogy, axis, changed, neighbors, similarity, story, surprises
from wordtide.cli.tune import tune
from wordtide.errors import OutputError, WordtideError

app = typer.Typer(
    name="wordtide",
    help="How the meaning of words moves through time, and how sure that is.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"wordtide {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def explained(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose expected errors become one message on standard error and an exit code of their own.

    They are caught here, inside the command, because the parser around it has its own ways with Ctrl-C and broken pipes.
    """

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
            sys.stdout.flush()
        except WordtideError as error:
            message = Text(f"wordtide: {error.problem}", style="bold red")
            Console(stderr=True, highlight=False, soft_wrap=True).print(message, Text(f"  {error.remedy}"), sep="\n")
            sys.exit(error.exit_code)
        except KeyboardInterrupt:
            print("wordtide: interrupted; nothing was left half-written.", file=sys.stderr)
            sys.exit(130)
        except OSError as error:  # of standard output: all other reading and writing is explained where it happens
            _give_up_standard_output()
            if isinstance(error, BrokenPipeError):  # the reader (head, less) has gone and needs no word
                sys.exit(141)
            print(f"wordtide: standard output cannot be written: {error.strerror or error}.", file=sys.stderr)
            sys.exit(OutputError.exit_code)

    return run


def _give_up_standard_output() -> None:
    """Python would try to write the rest again while it ends, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_COMMANDS = (
    *(count, merge, fit, info, examples),
    *(neighbors, similarity, changed, story, surprises, axis, analogy),
    *(export, explore, evaluate, tune, demo),
)
for command in _COMMANDS:
    app.command()(explained(command))
app.add_typer(plot_app, name="plot")
for name, figure in FIGURES.items():
    plot_app.command(name)(explained(figure))


def main() -> None:
    """The entry point of the command line."""
    app()
