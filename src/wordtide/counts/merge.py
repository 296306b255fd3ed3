"""Exact sums of counts: counting parts and merging them gives the counts of the whole."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.counts.count_arrays import CountArrays, CountsWriter, entries_by_slice
from wordtide.counts.examples.store import ExampleStore, has_examples, merge_examples
from wordtide.counts.groups import MOST_GROUPS, OWN_FIELDS, CountsLike
from wordtide.counts.pairs import bits_for, compress_rows
from wordtide.counts.settings import MUST_AGREE, CountSettings, Summary
from wordtide.counts.sums import KeySums, add_sums
from wordtide.errors import SettingsError
from wordtide.timeline import Slices
from wordtide.types import Integers

#: Facts about words and phrases, which parts have in common: they are not added.
_SHARED = ("distinct_words", "phrases", "phrases_left_out")


def check_agreement(parts: Sequence[CountsLike]) -> None:
    """Raise a SettingsError if counts cannot be added, because their vocabularies or settings differ."""
    first = parts[0]
    for other in parts[1:]:
        if other.words != first.words:
            raise SettingsError(
                f"{_name(first)} and {_name(other)} have different vocabularies.",
                f"Count both with the same one: --vocabulary {first.path or 'FILE'}",
            )
        if (other.window, other.places) != (first.window, first.places):
            raise SettingsError(
                f"{_name(first)} and {_name(other)} were counted with different windows.",
                "Count both again with the same --window, from texts or from n-grams of one length.",
            )
        if other.settings.joined_phrases != first.settings.joined_phrases:
            raise SettingsError(
                f"{_name(first)} and {_name(other)} were counted with different phrases.",
                f"Count both with the same ones: --phrases={first.path or 'FILE'}",
            )
        if bool(other.groups) != bool(first.groups):
            one, two = (first, other) if first.groups else (other, first)
            raise SettingsError(
                f"{_name(one)} has groups and {_name(two)} has none.",
                "Count both with or both without --group-field.",
            )
        for setting in MUST_AGREE:
            one, two = getattr(first.settings, setting), getattr(other.settings, setting)
            if one != two:
                option = "--" + setting.replace("_", "-")
                raise SettingsError(
                    f"{_name(first)} was counted with {option} {one}, {_name(other)} with {option} {two}.",
                    "Count both with the same settings.",
                )


def write_sum(
    parts: Sequence[CountsLike], folder: Path
) -> tuple[Slices, CountArrays, CountSettings, Summary]:
    """Add counts and write the large arrays, and the examples if all parts have some, to a folder."""
    settings = parts[0].settings
    slices, members = settings.unite_slices([part.slices for part in parts])
    with CountsWriter(folder, len(parts[0].words)) as writer:
        for source in entries_by_slice(parts, members, len(slices)):
            _write_slice(writer, source, len(parts[0].words))
        arrays = writer.close()
    if settings.examples and all(has_examples(part.path) for part in parts):
        stores = [ExampleStore.open(part.path, len(part.slices)) for part in parts]
        merge_examples(stores, members, len(slices), settings.examples, folder)
    else:
        settings = replace(settings, examples=0)
    return slices, arrays, settings, _summed([part.summary for part in parts])


def write_sum_of_groups(
    parts: Sequence[CountsLike], folder: Path
) -> tuple[list[str], CountArrays, dict[str, Integers]]:
    """Add the groups of counts by their names and write the large arrays to a new folder.

    Returns the names, the arrays, and the numbers of slices, as `split_groups` takes them.
    """
    folder.mkdir()
    slices, members = parts[0].settings.unite_slices([part.slices for part in parts])
    names = sorted({name for part in parts for name in part.groups})
    if len(names) > MOST_GROUPS:
        raise SettingsError(
            f"The counts have {len(names)} groups together, and the limit is {MOST_GROUPS}.",
            "Count both again with a --group-field that has fewer values.",
        )
    numbers = {number: np.zeros((len(names), len(slices)), dtype=np.int64) for number in OWN_FIELDS}
    words = len(parts[0].words)
    with CountsWriter(folder, words) as writer:
        for row, name in enumerate(names):
            sources: list[list[tuple[CountsLike, int]]] = [[] for _ in range(len(slices))]
            for part, places in zip(parts, members, strict=True):
                group = part.groups.get(name)
                if group is not None:
                    for number, sums in numbers.items():
                        np.add.at(sums[row], places, getattr(group.slices, number))
                    for t in np.flatnonzero(group.slices.tokens).tolist():
                        sources[places[t]].append((group, t))
            for source in sources:
                _write_slice(writer, source, words)
        arrays = writer.close()
    return names, arrays, {number: sums.ravel() for number, sums in numbers.items()}


def _write_slice(writer: CountsWriter, source: Sequence[tuple[CountsLike, int]], words: int) -> None:
    """Write the sum of slices of several counts; nothing, if there are none."""
    if not source:
        writer.end_slice(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        return
    pairs = add_sums([_pairs(part, t) for part, t in source])
    writer.add_rows(compress_rows(pairs.keys, pairs.sums, words))
    unigrams = add_sums([_unigrams(part, t) for part, t in source])
    writer.end_slice(unigrams.keys, unigrams.sums)


def _pairs(part: CountsLike, t: int) -> KeySums:
    half = part.upper(t)
    bits = bits_for(len(part.words))
    rows = np.repeat(np.arange(len(part.words), dtype=np.uint64), np.diff(half.indptr))
    return KeySums(rows << np.uint64(bits) | half.indices.astype(np.uint64), half.data)


def _unigrams(part: CountsLike, t: int) -> KeySums:
    words, values = part.arrays.words_of(t)
    return KeySums(words.astype(np.int64), values.astype(np.int64))


def _summed(summaries: Sequence[Summary]) -> Summary:
    skipped: Counter[str] = Counter()
    for summary in summaries:
        skipped.update(summary.skipped)
    numbers: dict[str, Any] = {
        name: (max if name in _SHARED else sum)(getattr(summary, name) for summary in summaries)
        for name in (field.name for field in fields(Summary))
        if name != "skipped"
    }
    return Summary(**numbers, skipped=dict(skipped))


def _name(counts: CountsLike) -> str:
    return str(counts.path) if counts.path else "the counts in memory"
