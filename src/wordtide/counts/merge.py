"""Adding counts: the same vocabulary, slices united, sums exact. Counting parts and merging gives the counts of the whole."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from wordtide.counts.counts import Counts, write_facts
from wordtide.counts.examples.store import has_examples, merge_examples
from wordtide.counts.pairs import bits_for
from wordtide.counts.settings import MUST_AGREE, Summary
from wordtide.counts.sums import Partial, merge
from wordtide.counts.writer import CountsWriter
from wordtide.errors import SettingsError
from wordtide.storage.folders import new_folder
from wordtide.timeline import Every, parse_duration, unite


def merge_counts(parts: Sequence[Counts], output: Path | None = None, overwrite: bool = False) -> Counts:
    """The sum of counts, written to `output` if there is one, else held in memory."""
    _check_agreement(parts)
    if output is None:
        with tempfile.TemporaryDirectory() as folder:
            return _write_merged(parts, Path(folder)).in_memory()
    with new_folder(output, overwrite) as folder:
        write_facts(folder, _write_merged(parts, folder))
    return Counts.load(output)


def _check_agreement(parts: Sequence[Counts]) -> None:
    first = parts[0]
    for other in parts[1:]:
        if other.words != first.words:
            raise SettingsError(
                f"{_name(first)} and {_name(other)} have different vocabularies.",
                f"Count both with the same one: --vocabulary {first.path or 'FILE'}",
            )
        if (other.window, other.places) != (first.window, first.places):
            raise SettingsError(
                f"{_name(first)} and {_name(other)} were counted with different windows.", "Count again."
            )
        for setting in MUST_AGREE:
            one, two = getattr(first.settings, setting), getattr(other.settings, setting)
            if one != two:
                option = "--" + setting.replace("_", "-")
                raise SettingsError(
                    f"{_name(first)} was counted with {option} {one}, {_name(other)} with {option} {two}.",
                    "Count both with the same settings.",
                )


def _write_merged(parts: Sequence[Counts], folder: Path) -> Counts:
    settings = parts[0].settings
    within = parse_duration(settings.merge_within) if settings.merge_within else 0
    slices, members = unite([part.slices for part in parts], Every.parse(settings.every), within)
    sources: list[list[tuple[Counts, int]]] = [[] for _ in range(len(slices))]
    for part, places in zip(parts, members, strict=True):
        for t, place in enumerate(places):
            sources[place].append((part, t))
    with CountsWriter(folder, len(parts[0].words)) as writer:
        for source in sources:
            pairs = merge([_pairs(part, t) for part, t in source])
            writer.add_pairs(pairs.keys, pairs.sums)
            unigrams = merge([_unigrams(part, t) for part, t in source])
            writer.end_slice(unigrams.keys, unigrams.sums)
        arrays = writer.close()
    if all(has_examples(part) for part in parts):
        merge_examples(parts, members, len(slices), folder)
    else:
        settings = replace(settings, examples=0)
    summary = _summed([part.summary for part in parts])
    return Counts(parts[0].words, slices, arrays, settings, parts[0].window, parts[0].places, summary)


def _pairs(part: Counts, t: int) -> Partial:
    half = part.upper(t)
    bits = bits_for(len(part.words))
    rows = np.repeat(np.arange(len(part.words), dtype=np.uint64), np.diff(half.indptr))
    return Partial(rows << np.uint64(bits) | half.indices.astype(np.uint64), half.data)


def _unigrams(part: Counts, t: int) -> Partial:
    a = part.arrays
    start, stop = a.slice_unigrams[t], a.slice_unigrams[t + 1]
    return Partial(
        a.unigram_words[start:stop].astype(np.int64), a.unigram_values[start:stop].astype(np.int64)
    )


def _summed(summaries: Sequence[Summary]) -> Summary:
    skipped: Counter[str] = Counter()
    for summary in summaries:
        skipped.update(summary.skipped)
    return Summary(
        documents=sum(summary.documents for summary in summaries),
        tokens=sum(summary.tokens for summary in summaries),
        tokens_in_vocabulary=sum(summary.tokens_in_vocabulary for summary in summaries),
        distinct_words=max(summary.distinct_words for summary in summaries),
        outside_dates=sum(summary.outside_dates for summary in summaries),
        tagged_ngrams=sum(summary.tagged_ngrams for summary in summaries),
        ignored_files=sum(summary.ignored_files for summary in summaries),
        skipped=dict(skipped),
    )


def _name(counts: Counts) -> str:
    return str(counts.path) if counts.path else "the counts in memory"
