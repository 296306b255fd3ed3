"""Counts of the same texts with other windows, for `tune`. Slices and words must be the same."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.corpus.byte_streams import MAX_EXPANSION, STANDARD_INPUT
from wordtide.corpus.sources import find_corpus
from wordtide.corpus.tokens.tokenizers import Tokenizer, load_tokenizer
from wordtide.counts.count import count
from wordtide.counts.counts import Counts
from wordtide.errors import InputError, SettingsError
from wordtide.inference.checkpoints import fingerprint
from wordtide.progress import Observer
from wordtide.storage.folders import remove_folder, write_files

_VOCABULARY = "words.txt"


@dataclass(frozen=True)
class OtherWindows:
    """Sources of counts with other windows: given counts, or texts to be counted again."""

    counts: Mapping[int, Counts]
    texts: Any = None
    tokenizer: str | Tokenizer | None = None  # that of the counts
    workers: int | None = None
    observer: Observer | None = None
    max_expansion: int = MAX_EXPANSION  # of a compressed file of the texts


def window_folder(folder: Path, window: int) -> Path:
    """The folder of the counts of another window."""
    return folder / f"counts-{window}"


def check_windows(
    counts: Counts, windows: Sequence[int], others: OtherWindows, folder: Path | None
) -> OtherWindows:
    """Reject windows without counts, before anything is written; `folder` is of a tuning to be continued.

    Returns the sources, with texts that can be read more than once.

    Raises:
        SettingsError: Counts of a window are missing, or texts are given for nothing.
        InputError: Given counts have other slices or words.
    """
    asked = [window for window in windows if window != counts.window]
    if others.texts is not None and not asked:
        raise SettingsError(
            "--texts is only for other windows.", f"Leave them out, or give --window {counts.window},8."
        )
    for window, given in others.counts.items():
        if given.window != window:
            raise SettingsError(
                f"The counts given for window {window} have window {given.window}.", "Count with that window."
            )
        _check_sameness(counts, given, f"The counts given for window {window}")
    missing = [
        window
        for window in asked
        if window not in others.counts and (folder is None or not window_folder(folder, window).exists())
    ]
    if not missing:
        return others
    if others.texts is None:
        raise SettingsError(
            f"The counts have window {counts.window}; "
            f"--window {missing[0]} requires counting the texts again.",
            "Add --texts SOURCE, the source of the counts.",
        )
    return _checked_source(counts, others)


def counts_by_window(
    folder: Path, counts: Counts, windows: Sequence[int], others: OtherWindows, report: Callable[[str], None]
) -> dict[int, Counts]:
    """The counts of each window. Those of other windows are stored in the folder of the tuning."""
    return {
        window: counts if window == counts.window else _other_counts(folder, counts, window, others, report)
        for window in windows
    }


def _other_counts(
    folder: Path, counts: Counts, window: int, others: OtherWindows, report: Callable[[str], None]
) -> Counts:
    path = window_folder(folder, window)
    if not path.exists() and window in others.counts:
        others.counts[window].save(path)
    elif not path.exists():
        report(f"counting again with window {window}")
        _count_again(folder, path, counts, window, others)
    found = Counts.load(path, check=True)
    if window in others.counts and fingerprint(found) != fingerprint(others.counts[window]):
        raise SettingsError(
            f"{path} holds other counts than those given for window {window}.",
            "Give those, or tune into another folder.",
        )
    try:
        _check_sameness(counts, found, f"Counted again with window {window}, the texts")
    except InputError:
        remove_folder(path)  # they would block the right ones
        raise
    return found


def _count_again(folder: Path, path: Path, counts: Counts, window: int, others: OtherWindows) -> None:
    write_files(folder, {_VOCABULARY: "".join(f"{word}\n" for word in counts.words).encode()})
    settings = {
        **counts.settings.as_json(),
        "window": window,
        "vocabulary": str(folder / _VOCABULARY),
        "examples": 0,
    }
    del settings["tokenizer"]
    count(
        others.texts,
        output=path,
        workers=others.workers,
        max_expansion=others.max_expansion,
        observer=others.observer,
        tokenizer=others.tokenizer,
        **settings,
    )


def _checked_source(counts: Counts, others: OtherWindows) -> OtherWindows:
    """The sources, with texts that can be read more than once and a tokenizer if the counts need one."""
    texts = list(others.texts) if isinstance(others.texts, Iterator) else others.texts
    if STANDARD_INPUT in ([texts] if isinstance(texts, str) else texts if isinstance(texts, list) else []):
        raise SettingsError(
            "--texts cannot be standard input, which is read only once.", "Save the texts in a file."
        )
    find_corpus(texts, counts.settings.format, others.max_expansion)
    # The name in the header is not trusted: a folder must not decide which code runs.
    named = counts.settings.tokenizer
    if named is not None and others.tokenizer is None:
        raise SettingsError(
            f"The counts were made with the tokenizer {named!r}, so the texts need it again.",
            f"Add --tokenizer={named}; from Python give the function, or the counts of each window.",
        )
    if named is None and others.tokenizer is not None:
        raise SettingsError("The counts were made without a --tokenizer.", "Leave it out.")
    if isinstance(others.tokenizer, str):
        load_tokenizer(others.tokenizer)
    return replace(others, texts=texts)


def _check_sameness(counts: Counts, other: Counts, named: str) -> None:
    """Check that both have the same words and slices, and the same counts of words in each slice."""
    remedy = "Give the texts that the counts were made from, all of them and no others."
    if other.words != counts.words:
        raise InputError(f"{named} have another vocabulary.", remedy)
    if other.labels != counts.labels:
        first = next((label for label in other.labels if label not in counts.labels), None)
        new = "" if first is None else f", among them {first!r}"
        raise InputError(f"{named} have {len(other)} slices{new}; the counts have {len(counts)}.", remedy)
    for t, label in enumerate(counts.labels):
        one, two = counts.unigrams(t), other.unigrams(t)
        if (
            counts.times[t] != other.times[t]
            or counts.tokens[t] != other.tokens[t]
            or not np.array_equal(one, two)
        ):
            raise InputError(f"{named} differ from those of the counts in slice {label}.", remedy)
