"""Every error a user can meet. A message says what happened, where, and what to do about it."""


class WordtideError(Exception):
    """Base of all errors that are explained to the user. `exit_code` is what the command line returns."""

    exit_code = 1

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(f"{problem}\n  {remedy}" if remedy else problem)
        self.problem = problem
        self.remedy = remedy


class SettingsError(WordtideError, ValueError):
    """An option or argument that cannot be used, alone or with another."""

    exit_code = 2


class InputError(WordtideError):
    """Something is wrong with what was given to read."""

    exit_code = 3


class NothingToCountError(InputError):
    """Texts without a word to count, or without two that the model knows. In a stream that is a quiet day, not a mistake."""


class OutputError(WordtideError):
    """The result could not be written. What was there before is untouched."""

    exit_code = 4


class FolderError(WordtideError):
    """A counts or model folder is missing, damaged, or of another version."""

    exit_code = 5


class VersionError(FolderError):
    """A folder of a version that this program does not read."""

    exit_code = 2


class UnknownWordError(WordtideError, KeyError):
    """A word that is not in the vocabulary."""

    exit_code = 2

    __str__ = Exception.__str__  # KeyError would print the representation
