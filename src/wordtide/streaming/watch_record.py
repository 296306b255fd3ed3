"""The record of a watch in the header of its model: where the next watch resumes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from wordtide.dates import bounds
from wordtide.embeddings.posterior import Fitted
from wordtide.errors import FolderError, SettingsError
from wordtide.streaming.open_slices import WatchProgress, period_start
from wordtide.streaming.settings import AlertRule
from wordtide.timeline import SliceLength

KIND = "watch"


@dataclass(frozen=True)
class WatchRecord:
    """How far a watch has come. It is part of the model and changes together with its slices.

    `source` is "file" or "input", and `position` the first row that is not in the model, as the source
    describes it. `fields` are the columns with date and text. For the next four see `WatchProgress`. `slice`,
    `start` and `end` are the last slice and its period, and `alerts` is the rule for its alerts.
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
        """Return the record as the header of the model stores it."""
        return {"kind": KIND, **asdict(self)}

    def alert_rule(self) -> AlertRule:
        """Return the rule for the alerts of the last slice."""
        saved = self.alerts
        return AlertRule(float(saved["threshold"]), int(saved["min_occurrences"]), int(saved["neighbors"]))


def read_record(fitted: Fitted, forget: bool = False) -> WatchRecord | None:
    """Return the record of the last watch, or None if the model was never watched.

    To `forget` is to ignore a record that is damaged or of another program.

    Raises:
        SettingsError: Another program feeds the model.
        FolderError: The record is damaged.
    """
    saved = fitted.stream
    if saved is None:
        return None
    if saved.get("kind") != KIND:
        if forget:
            return None
        raise SettingsError(
            "Another program feeds this model and keeps its own record of its progress.",
            "Copy the model folder, and watch with the copy and --forget-position.",
        )
    values = {name: saved.get(name) for name in WatchRecord.__dataclass_fields__}
    if _is_sound(values):
        return WatchRecord(**values)  # type: ignore[arg-type]
    if forget:
        return None
    raise FolderError("The model's record of the watched stream is damaged.", "Watch with --forget-position.")


def resume_progress(
    fitted: Fitted, every: SliceLength, record: WatchRecord | None, forget: bool
) -> WatchProgress:
    """Return the progress of the last watch, moved on if the model has been updated since.

    A first watch, and one that forgets its position, begins with the period after the model's last date.
    """
    reached = _last_date(fitted)
    if record is None or record.closed_until <= reached:
        closed = period_start(every, int(every.ordinals(np.array([reached]))[0]) + 1)
    else:
        closed = record.closed_until
    if record is None or forget:
        return WatchProgress(closed, closed)
    return WatchProgress(record.begins, closed, record.seen_until, record.late_rows)


def _is_sound(values: Mapping[str, Any]) -> bool:
    integers = ("begins", "closed_until", "seen_until", "late_rows")
    fields, position = values["fields"], values["position"]
    return (
        all(type(values[name]) is int for name in integers)
        and all(isinstance(values[name], str) for name in ("source", "slice", "start", "end"))
        and isinstance(values["alerts"], dict)
        and isinstance(position, dict)
        and all(type(value) is int for value in position.values())
        and isinstance(fields, list)
        and len(fields) == 2
        and all(name is None or isinstance(name, str) for name in fields)
    )


def _last_date(fitted: Fitted) -> int:
    """Return the last date of a model in seconds from 1970."""
    time = float(fitted.slice_ends[-1, 1])
    year = int(np.floor(time))
    start, after = bounds(str(year))
    return round(start + (Fraction(time) - year) * (after - start))
