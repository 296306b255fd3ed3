"""What an update is made from: counts as they are, or texts, which are counted as those of the model were."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wordtide.counts.count import count
from wordtide.counts.counts import KIND, Counts
from wordtide.counts.settings import CountSettings
from wordtide.counts.workers import Observer
from wordtide.embeddings.posterior import Fitted
from wordtide.errors import SettingsError
from wordtide.storage.folders import kind_of
from wordtide.streaming.additions import ALIKE

_ALL_WORDS = 1 << 24


def counts_for(
    fitted: Fitted,
    source: object,
    grow: int = 0,
    observer: Observer | None = None,
    workers: int | None = None,
    **settings: Any,
) -> Counts:
    """Counts for an update: `source` itself, a counts folder, or whatever `wordtide.count` reads.

    Texts are split into words and slices as the model's were, unless `settings` (those of `wordtide.count`) say otherwise. They
    are counted with the words of the model; if it may `grow`, with all words.
    """
    if isinstance(source, Counts):
        return _as_they_are(source, settings)
    paths = list(source) if isinstance(source, (list, tuple)) else [source]
    if len(paths) == 1 and isinstance(paths[0], (str, os.PathLike)) and kind_of(Path(paths[0])) == KIND:
        return _as_they_are(Counts.load(paths[0], check=True), settings)
    chosen = {
        **_counting(fitted.counting),
        **{name: value for name, value in settings.items() if value is not None},
    }
    _check_tokenizer(fitted, settings.get("tokenizer"))
    if chosen.get("merge_within") and chosen.get("every") != "document":
        del chosen["merge_within"]
    if not grow:
        with tempfile.TemporaryDirectory(prefix="wordtide-") as folder:
            vocabulary = Path(folder) / "words.txt"
            vocabulary.write_text("".join(f"{word}\n" for word in fitted.words), encoding="utf-8")
            return count(
                source, observer=observer, workers=workers, **{**chosen, "vocabulary": str(vocabulary)}
            )
    if chosen.get("close_gaps"):
        raise SettingsError(
            "The model's texts were counted with --close-gaps, where a word that comes in changes the pairs of others.",
            "Count the new texts with a --vocabulary of old and new words, and update from the counts folder.",
        )
    return count(source, observer=observer, workers=workers, **{**chosen, "vocabulary_size": _ALL_WORDS})


def _as_they_are(counts: Counts, settings: Mapping[str, Any]) -> Counts:
    for name, value in settings.items():
        if value not in (None, False):
            raise SettingsError(
                f"--{name.replace('_', '-')} is for texts, and these are counts.", "Leave it out."
            )
    return counts


def _check_tokenizer(fitted: Fitted, given: Any) -> None:
    """A tokeniser is a program: one that the header of a model names is not run unless the user names it, too."""
    saved = (fitted.counting or {}).get("tokenizer")
    name = f"{given.__module__}:{given.__qualname__}" if callable(given) else given
    if name != saved:
        raise SettingsError(
            f"The model's texts were split into words by {saved or 'the rule of wordtide'}, not by {name}."
            if name
            else f"The model's texts were split into words by the program {saved}, which is not run unasked.",
            f"If you trust it, add --tokenizer {saved}." if saved else "Leave --tokenizer out.",
        )


def _counting(saved: Mapping[str, Any] | None) -> dict[str, Any]:
    if saved is None:
        raise SettingsError(
            "The model does not tell how its texts were counted: an earlier version of wordtide made it.",
            "Count the new texts with its words (wordtide count ... --vocabulary model/words.txt), and update from the counts.",
        )
    record = CountSettings.from_json(dict(saved))
    return {name: getattr(record, name) for name in (*ALIKE, "window")}
