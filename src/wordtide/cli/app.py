"""The command `wordtide`: its commands, and what becomes of errors."""

import os
import sys

import typer
from rich.console import Console
from rich.text import Text

from wordtide import __version__
from wordtide.cli.count import count
from wordtide.cli.examples import examples
from wordtide.cli.info import info
from wordtide.cli.merge import merge
from wordtide.errors import WordtideError

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


for command in (count, merge, info, examples):
    app.command()(command)


def main() -> None:
    """Run the command; every expected error becomes one message on standard error and an exit code of its own."""
    try:
        app()
    except WordtideError as error:
        message = Text(f"wordtide: {error.problem}", style="bold red")
        Console(stderr=True, highlight=False, soft_wrap=True).print(message, Text(f"  {error.remedy}"), sep="\n")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("wordtide: interrupted; nothing was left half-written.", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader (head, less) has gone; without this Python would complain again while closing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
