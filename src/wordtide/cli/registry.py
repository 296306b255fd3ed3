"""Which commands there are. A command is imported when it is called: the list of all of them brings nothing with it."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

#: Name: the module of `wordtide.cli` that has a function of this name, and the first line of its help.
COMMANDS = {
    "count": ("count", "Count the word pairs of dated texts, slice by slice."),
    "merge": ("merge", "Add counts with the same vocabulary; slices are united."),
    "fit": ("fit", "Fit vectors that drift through time to counts."),
    "update": (
        "update",
        "Append later slices to a model fitted by filtering, as if they had been there from the start.",
    ),
    "watch": (
        "watch",
        "Update a model with each slice of an endless stream, and report surprising words as JSON Lines.",
    ),
    "info": (
        "info",
        "Show what a counts folder holds (slices, dates, tokens, pairs, settings) or a model folder (method, slices, fit).",
    ),
    "examples": ("examples", "Show a word in its context: sentences that were kept while counting."),
    "neighbors": (
        "questions",
        "Show the words nearest to a word at one time, or at every slice, and how sure that is.",
    ),
    "similarity": ("questions", "Show how similar a word is to others over time."),
    "changed": ("questions", "Show the words that changed most: how much, when, from what to what."),
    "story": (
        "questions",
        "Tell the story of a word: a sentence, and its neighbours at the start, half-way and at the end.",
    ),
    "surprises": (
        "questions",
        "Show the words that are new at a slice, or used in another way, more than words of similar frequency.",
    ),
    "axis": ("questions", "Show where words stand between two poles over time."),
    "analogy": ("questions", "Show whose place a word of one time has at another time."),
    "export": ("export", "Write a model, at one time or at all, to a file that other programs read."),
    "explore": (
        "explore",
        "Open a page on a model: type a word, see its story. From a local server, or written as one file or a folder.",
    ),
    "evaluate": (
        "evaluate",
        "Compare methods by how well they predict slices they have not seen, and write a report.",
    ),
    "tune": ("tune", "Choose settings by how well they predict slices left out, with standard errors."),
    "demo": (
        "demo",
        "Show all of it on the State of the Union addresses: count, fit, tell stories, draw. Takes a few minutes.",
    ),
}
#: Groups of commands: a module with a dictionary FIGURES of functions by name, and their help.
PLOT = "plot"
PLOT_HELP = "Draw a figure: timeline, similarity, displacement, likelihood or map."


def command(name: str) -> Callable[..., None]:
    """The function of a command."""
    found: Callable[..., None] = getattr(import_module(f"wordtide.cli.commands.{COMMANDS[name][0]}"), name)
    return found


def figures() -> dict[str, Callable[..., Any]]:
    """The functions of `wordtide plot`, by name."""
    found: dict[str, Callable[..., Any]] = import_module("wordtide.cli.commands.plot").FIGURES
    return found


def named_only(name: str, help: str) -> Callable[..., None]:
    """What stands for a command that is listed and not called."""

    def nothing() -> None:
        raise AssertionError(f"{name} was called without having been imported")

    nothing.__name__, nothing.__doc__ = name, help
    return nothing
