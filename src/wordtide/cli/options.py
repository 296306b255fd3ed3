"""Options of commands, built from the settings that a record declares."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from wordtide.cli.output import Format
from wordtide.errors import SettingsError
from wordtide.settings import Setting, settings_of
from wordtide.spelling import read_words

Command = Callable[..., None]
ModelFolder = Annotated[Path, typer.Argument(help="A model folder.")]
CountsFolder = Annotated[Path, typer.Argument(help="A counts folder.")]
FilteredModel = Annotated[Path, typer.Argument(help="A model folder, made with --method filtering.")]
WordsFile = Annotated[Path | None, typer.Option("--words", help="Add the words of this file, one per line.")]
OutputFormat = Annotated[Format, typer.Option(help="table, csv or json.")]
Threads = Annotated[int | None, typer.Option(help="Threads on the CPU. Default: all processors.")]
Preset = Annotated[
    str | None, typer.Option(help="The paper's settings: paper-sotu, paper-twitter or paper-gbooks.")
]
Scheduler = Annotated[
    str | None,
    typer.Option(help="Cluster: local:4 for four local processes, or a Dask scheduler's tcp://host:8786."),
]


def takes(
    record: type[Any],
    *,
    after: str,
    only: Sequence[str] = (),
    prefix: str = "",
    defaults: Mapping[str, str] | None = None,
    lists: bool = False,
) -> Callable[[Command], Command]:
    """Give a command an option for each setting of a record; it receives those given as `**settings`.

    The options of all settings, or of `only` some, follow the parameter `after` of the command. `prefix` goes
    before each help text ("Texts"); `defaults` says how the help states defaults that differ from the
    declared ones, "" for none. `lists` takes several values of each setting, separated by commas, as a list.
    """
    chosen = {name: one for name, one in settings_of(record).items() if not only or name in only}

    def decorate(command: Command) -> Command:
        own = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in inspect.signature(command).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        place = [parameter.name for parameter in own].index(after) + 1
        options = [_option(one, _help(one, prefix, defaults or {}), lists) for one in chosen.values()]

        @functools.wraps(command)
        def run(**arguments: Any) -> None:
            value = _values if lists else _value
            given = {name: value(one, arguments.pop(name)) for name, one in chosen.items()}
            command(**arguments, **{name: value for name, value in given.items() if value is not None})

        parameters = [*own[:place], *options, *own[place:]]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def listed_words(typed: Sequence[str] | None, file: Path | None) -> list[str]:
    """The words of a command: those typed, and those of --words FILE."""
    typed = typed or []
    return [*typed, *(word for word in (read_words(file) if file is not None else ()) if word not in typed)]


def at_least_one(words: list[str], purpose: str) -> list[str]:
    """Return the words, or raise a SettingsError if there are none."""
    if not words:
        raise SettingsError(f"There is no word to {purpose}.", "Give some words, or a file: --words FILE.")
    return words


def _option(one: Setting, help: str, several: bool) -> inspect.Parameter:
    if bool in one.types:
        annotation: Any = Annotated[bool, typer.Option(f"--{one.name.replace('_', '-')}", help=help)]
        default: bool | None = False
    else:
        kind = str if several or str in one.types else float if float in one.types else int
        annotation = Annotated[kind | None, typer.Option(help=help, show_default=False)]
        default = None
    return inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _help(one: Setting, prefix: str, defaults: Mapping[str, str]) -> str:
    text = one.described()
    if one.name in defaults:
        text = f"{one.help}. Default: {defaults[one.name]}." if defaults[one.name] else f"{one.help}."
    return f"{prefix}: {text[0].lower()}{text[1:]}" if prefix else text


def _value(one: Setting, given: Any) -> Any:
    """The value to pass on; None if none was given."""
    if bool in one.types:
        return True if given else None
    return one.parse(given) if isinstance(given, str) and one.is_number else given


def _values(one: Setting, given: str | None) -> list[Any] | None:
    return None if given is None else [one.parse(part.strip()) for part in given.split(",")]
