"""Settings are declared once, as fields of a frozen record with default, range and help.

The checks in Python, the reader of TOML files, the options of the command line and the reference of commands
all come from this declaration.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

import numpy as np

from wordtide.errors import InputError, SettingsError
from wordtide.spelling import either
from wordtide.system import read_text_file

_LARGEST_FILE = 1 << 20  # bytes of a TOML file


@dataclass(frozen=True)
class Setting:
    """One setting.

    Attributes:
        name: As in Python; the command line has hyphens for underscores.
        types: The types of its values.
        default: The value if none is given.
        help: What it decides, without a full stop.
        minimum, maximum: The range of a number.
        choices: The values of a text; or words allowed in place of a number, such as "auto".
        note: A remark on the choices.
        example: A value, for messages.
        shown_default: How the help states the default, if the default is None or needs more words.
    """

    name: str
    types: tuple[type, ...]
    default: Any
    help: str
    minimum: float = 0
    maximum: float = 0
    choices: Sequence[str] = ()
    note: str = ""
    example: str = ""
    shown_default: str = ""

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers."""
        return bool({int, float} & set(self.types))

    def check(self, value: object) -> None:
        """Raise a SettingsError if this is not a value of the setting."""
        if value is None and NoneType in self.types:
            return
        given = f"--{self.name.replace('_', '-')}={value!r}"
        if self.is_number:
            if isinstance(value, str) and value in self.choices:
                return
            if isinstance(value, str) and self.choices:
                raise SettingsError(
                    f"{given} is not a number.", f"Give one like {self.example}, or {either(self.choices)}."
                )
            whole = float not in self.types
            right = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
            if not right or not self.minimum <= value <= self.maximum:  # type: ignore[operator]
                low, high = (
                    f"{bound:d}" if whole else f"{bound:g}" for bound in (self.minimum, self.maximum)
                )
                raise SettingsError(
                    f"{given} is out of range.",
                    f"Give a {'whole ' * whole}number from {low} to {high}.",
                )
        elif self.choices:
            if not isinstance(value, str) or value not in self.choices:
                raise SettingsError(f"{given} is not known.", f"Use {either(self.choices)}.")
        elif not isinstance(value, self.types):
            kind = "True or False" if bool in self.types else "a text"
            raise SettingsError(f"{given} is not {kind}.", f"Give {self.example or kind}.")

    def parse(self, text: str) -> float | str:
        """The value of a number that is typed as text; other text stays as it is, for `check`."""
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        return text

    def described(self) -> str:
        """The help as a sentence with choices and default."""
        if self.choices and not self.is_number:
            marked = [f"{choice} (default)" if choice == self.default else choice for choice in self.choices]
            return f"{self.help}: {either(marked)}{self.note and '; '}{self.note}."
        shown = self.shown_default
        if not shown and self.default is not None and not isinstance(self.default, bool):
            shown = f"{self.default:g}" if isinstance(self.default, float) else f"{self.default}"
        return f"{self.help}. Default: {shown}." if shown else f"{self.help}."


def setting(default: Any, help: str, **declared: Any) -> Any:
    """Declare a setting as a field of a dataclass, by the attributes of `Setting`."""
    return field(default=default, metadata={"setting": {"help": help, **declared}})


def settings_of(record: type[Any]) -> dict[str, Setting]:
    """All settings that a record declares, by name."""
    return {
        one.name: Setting(
            one.name,
            tuple(get_origin(kind) or kind for kind in get_args(one.type) or (one.type,)),
            None if one.default is MISSING else one.default,
            **one.metadata["setting"],
        )
        for one in fields(record)
        if "setting" in one.metadata
    }


def check_settings(record: object) -> None:
    """Check all settings of a record, for its `__post_init__`. NumPy scalars become plain numbers.

    Raises:
        SettingsError: A value has the wrong type or is out of range.
    """
    for name, declared in settings_of(type(record)).items():
        value = getattr(record, name)
        if isinstance(value, np.generic):
            value = value.item()
            object.__setattr__(record, name, value)
        declared.check(value)


def read_settings(path: Path, record: type, also: Sequence[str]) -> dict[str, Any]:
    """Read settings of a record, or those named in `also`, from a TOML file with one `name = value` per line.

    Names have underscores or hyphens.

    Raises:
        InputError: The file cannot be read, or holds an unknown name.
    """
    try:
        content = tomllib.loads(
            read_text_file(path, _LARGEST_FILE, "Give --config a TOML file, with lines like: dim = 100")
        )
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f"{path} cannot be read: {error}", "Write one setting per line, like: dim = 100"
        ) from error
    found = {name.replace("-", "_"): value for name, value in content.items()}
    known = settings_of(record)
    unknown = sorted(set(found) - set(known) - set(also))
    if unknown:
        raise InputError(
            f"{path}: there is no setting {unknown[0]!r}.", f"Settings are {', '.join(sorted(known))}."
        )
    return found
