"""Which column holds the date and which the text: as the user says, or by the names people use."""

from collections.abc import Sequence
from dataclasses import dataclass

from wordtide.errors import InputError

# Beside a year, "month" and "day" are only parts of a date: they come last.
_DATES = (
    "date", "datetime", "date_time", "timestamp", "time", "created_at", "created", "created_utc",
    "published", "published_at", "publication_date", "pub_date", "year", "month", "day",
)  # fmt: skip
_TEXTS = ("text", "body", "content", "full_text", "message", "speech", "tweet", "article", "selftext")


@dataclass(frozen=True)
class Fields:
    """Names of the two columns that are read; None means: find it by its usual names."""

    date: str | None = None
    text: str | None = None
    date_format: str | None = None

    def found_in(self, columns: Sequence[str], place: str) -> "Fields":
        """The same with both names settled for a table with these columns."""
        return Fields(
            _settled(self.date, _DATES, columns, "date", place),
            _settled(self.text, _TEXTS, columns, "text", place),
            self.date_format,
        )

    def names(self) -> tuple[str, str]:
        """Both names, once they are settled."""
        if self.date is None or self.text is None:
            raise AssertionError("the fields are not settled yet")
        return self.date, self.text


def _settled(given: str | None, usual: Sequence[str], columns: Sequence[str], what: str, place: str) -> str:
    remedy = f"The fields are: {', '.join(columns) or 'none'}. Choose one with --{what}-field."
    name = given if given is not None else _usual(usual, columns)
    if name is None:
        raise InputError(f"{place}: no field looks like the {what}.", remedy)
    if name not in columns:
        raise InputError(f"{place}: there is no field {name!r}.", remedy)
    if columns.count(name) > 1:
        raise InputError(
            f"{place}: there are {columns.count(name)} fields {name!r}.", "Give each a name of its own."
        )
    return name


def _usual(usual: Sequence[str], columns: Sequence[str]) -> str | None:
    """The first usual name that is there, in whatever case."""
    by_lower_case = {column.lower(): column for column in reversed(columns)}
    return next((by_lower_case[name] for name in usual if name in by_lower_case), None)
