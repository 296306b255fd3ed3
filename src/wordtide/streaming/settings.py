"""What decides how a stream is watched, and what is kept of it with the model."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from wordtide.embeddings.posterior import Fitted
from wordtide.errors import FolderError, SettingsError
from wordtide.questions.change import MIN_OCCURRENCES
from wordtide.streaming.alerts import AlertRule
from wordtide.streaming.open_slices import LATE

KIND = "watch"
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True)
class WatchSettings:
    """How a stream is cut into slices and fitted.

    `every`: the length of a slice (None: as the model was counted). `patience`: so many seconds after its end rows of a slice
    are waited for. `close_after`: seconds after which a slice is closed by the clock, though no row follows (None: never).
    `late`: drop late rows, or fold them into the next slice. `grow`, `grow_min_count`: new words, as for an update.
    `tokenizer`: the program that split the model's texts into words, if there was one.
    """

    every: str | None = None
    patience: int = 0
    close_after: int | None = None
    close_at_end: bool = False
    late: str = "drop"
    grow: int = 0
    grow_min_count: int = MIN_OCCURRENCES
    tokenizer: str | None = None
    alerts: AlertRule = field(default_factory=AlertRule)

    def __post_init__(self) -> None:
        if self.late not in LATE:
            raise SettingsError(f"--late {self.late!r} is not known.", f"Use {' or '.join(LATE)}.")


def seconds_of(text: str, option: str) -> int:
    """Seconds in "30s", "10m", "36h", "7d", "2w"."""
    match = re.fullmatch(r"(\d{1,9})\s*([smhdw])?", text.strip())
    if not match or (match[2] is None and int(match[1])):
        raise SettingsError(
            f"{option} {text!r} is not a length of time.", "Write it like 30s, 10m, 36h or 7d."
        )
    return int(match[1]) * _SECONDS[match[2] or "s"]


@dataclass(frozen=True)
class WatchRecord:
    """What is kept with the model, and changes together with its slices: how far the watch has come.

    `source`: "file" or "input". `fields`: the names of date and text. `position`: where the first row stands that is not in
    the model (as the source tells it). `begins`, `closed_until`, `seen_until`, `late_rows`: see `Standing`. `slice`, `start`,
    `end`: the last slice; `alerts`: the rule for its alerts.
    """

    source: str
    fields: list[str | None]
    position: dict[str, Any]
    begins: int
    closed_until: int
    seen_until: int
    late_rows: int
    slice: str
    start: str
    end: str
    alerts: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """For the header of the model."""
        return {"kind": KIND, **asdict(self)}


def record_of(fitted: Fitted, forget: bool = False) -> WatchRecord | None:
    """The record in a model; None if it was never watched. One that is no good is an error, unless it is to be forgotten."""
    saved = fitted.stream
    if saved is None:
        return None
    if saved.get("kind") != KIND and forget:
        return None
    if saved.get("kind") != KIND:
        raise SettingsError(
            "The model is fed by another program, which keeps its own record of how far it is.",
            "Copy the model's folder, and watch with the copy and --forget-position.",
        )
    wanted = {name: saved.get(name) for name in WatchRecord.__dataclass_fields__}
    whole = ("begins", "closed_until", "seen_until", "late_rows")
    sound = (
        all(type(wanted[name]) is int for name in whole)
        and all(isinstance(wanted[name], str) for name in ("source", "slice", "start", "end"))
        and all(isinstance(wanted[name], dict) for name in ("position", "alerts"))
        and _are_names(wanted["fields"])
        and all(type(value) is int for value in _mapping(wanted["position"]).values())
    )
    if not sound and forget:
        return None
    if not sound:
        raise FolderError(
            "What the model keeps of the stream that was watched is damaged.", "Watch with --forget-position."
        )
    return WatchRecord(**wanted)  # type: ignore[arg-type]


def _are_names(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(name is None or isinstance(name, str) for name in value)
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
