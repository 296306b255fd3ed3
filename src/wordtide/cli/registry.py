"""The list of commands. A command is imported when it is called, so the list costs nothing."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

#: Name: the module of `wordtide.cli.commands` with a function of this name, and the first sentence of its
#: help.
COMMANDS = {
    "count": ("count", "Count the word pairs of dated texts, slice by slice."),
    "merge": ("merge", "Add up counts that have the same vocabulary."),
    "fit": ("fit", "Fit word vectors that drift through time to counts."),
    "update": (
        "update",
        "Append later slices to a model fitted by filtering, as if they had been there from the start.",
    ),
    "watch": (
        "watch",
        "Update a model with each slice of an endless stream, and report surprising words as JSON Lines.",
    ),
    "info": ("info", "Show what a counts or model folder contains."),
    "examples": ("examples", "Show a word in context: sentences that were kept while counting."),
    "neighbors": (
        "questions",
        "Show the words nearest to a word at one time or in every slice, with credible intervals.",
    ),
    "similarity": ("questions", "Show how similar a word is to others over time."),
    "changed": ("questions", "Show the words that changed most: how much, when, from what to what."),
    "story": (
        "questions",
        "Summarize how a word changed: a sentence, and its neighbors at the start, halfway and at the end.",
    ),
    "surprises": (
        "questions",
        "Show the words whose use in a slice is newer than that of words of similar frequency.",
    ),
    "axis": ("questions", "Show where words lie between two poles over time."),
    "analogy": ("questions", "Show which words are used at one time as a word was used at another."),
    "export": ("export", "Write a model, at one time or in all slices, to a file that other programs read."),
    "explore": ("explore", "Open a page on a model in the browser, or write it as one file or a folder."),
    "evaluate": (
        "evaluate",
        "Compare methods by how well they predict held-out slices, and write a report.",
    ),
    "tune": ("tune", "Choose settings by how well they predict held-out slices, with standard errors."),
    "demo": (
        "demo",
        "Run everything on the State of the Union addresses: count, fit, answer, draw. Takes a few minutes.",
    ),
}
#: The group of commands that draw figures: `wordtide.cli.commands.plot.FIGURES`.
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
    """A placeholder for a command that is listed but not called."""

    def nothing() -> None:
        raise AssertionError(f"{name} was called but not imported")

    nothing.__name__, nothing.__doc__ = name, help
    return nothing
