"""What `wordtide count` found: the summary of a count, and the report of a dry run."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TextIO

import numpy as np

from wordtide.cli.output import print_json, say
from wordtide.corpus.findings import SCRIPTS, Findings, listed_endings
from wordtide.counts.counts import Counts
from wordtide.counts.groups import lone_documents
from wordtide.counts.settings import Summary
from wordtide.spelling import counted
from wordtide.storage.cells import spelled_out
from wordtide.timeline import Slices

if TYPE_CHECKING:
    from wordtide.counts.count import Preview

_HEIGHTS: Final = "▁▂▃▄▅▆▇█"
_WIDTHS: Final = "▏▎▍▌▋▊▉█"
_PLAIN_HEIGHTS: Final = "_.-=+*%#"
_LINE: Final = 60  # characters in a chart
_BARS: Final = 24  # at most
_GROUPS: Final = 12  # that are listed
_BAR_WIDTH: Final = 40
_TEXT: Final = 60  # characters of a sample text
_LEAST_SHARE: Final = 0.01  # of text without spaces that is worth a warning
_TOKENIZERS: Final = ("jieba", "MeCab", "PyThaiNLP")
_DELIMITERS: Final = {"\t": "tab", " ": "space"}


class ReportFormat(StrEnum):
    """How the report of a dry run is printed."""

    table = "table"
    json = "json"


def _reading_lines(facts: Findings) -> list[str]:
    """The files, columns, dates and first rows of a corpus, a line for each."""
    lines = []
    if facts.files:
        parts = [_listed(facts.files, "file")]
        delimiters = Counter({_DELIMITERS.get(mark, repr(mark)): n for mark, n in facts.delimiters.items()})
        kinds = {"encoding": facts.encodings, "delimiter": delimiters, "columns": facts.columns}
        for name, found in kinds.items():
            if found:
                parts.append(f"{name} {_with_numbers(found)}")
        lines.append("; ".join(parts))
    if facts.earliest and facts.latest:
        (first, early), (last, late) = facts.earliest, facts.latest
        precision = ", ".join(f"{name} {number:,}" for name, number in facts.precisions.most_common())
        lines.append(f"dates from {first} ({early}) to {last} ({late}); precision: {precision}")
    lines += [f"  {date}  {name}  {_shortened(text)}" for date, name, text in facts.samples]
    return lines


def _ignored_files(files: int, facts: Findings | None) -> str:
    """The files in folders that were not read, with their endings if they are known."""
    endings = f" ({listed_endings(facts.ignored)})" if facts and facts.ignored else ""
    return f"{counted(files, 'file')} with other endings not read{endings}"


def _warnings(facts: Findings, documents: int, splits_words: bool, all_names: bool = False) -> list[str]:
    """What may be wrong. `splits_words`: a tokenizer or the user has split the texts into words."""
    found = []
    if facts.coarse and facts.coarse_example:
        date, name = facts.coarse_example
        found.append(
            f"dates less precise than a slice: {facts.coarse:,} of {counted(documents, 'document')}, such as "
            f"{date} ({name}); they count in the middle of their period"
        )
    if facts.ambiguous:
        shown = ", ".join(f"{chosen} for '{name}'" for name, chosen, _ in facts.ambiguous_names[:3])
        more = ", ...; --dry-run lists all" if facts.ambiguous > 3 else ""
        found.append(
            f"file names with unclear dates: {facts.ambiguous:,}"
            + ("" if all_names else f"; chosen: {shown}{more}")
        )
    if facts.unspaced_share >= _LEAST_SHARE and not splits_words:
        shares = [amount / facts.text_bytes for amount in facts.script_bytes]
        named = [f"{name} {share:.0%}" for name, share in zip(SCRIPTS, shares, strict=True) if share >= 0.005]
        scripts = ", ".join(named)
        kana, southern = shares[1] > _LEAST_SHARE / 2, shares[2] > max(shares[:2])
        remedy = _TOKENIZERS[2 if southern else 1 if kana else 0]
        found.append(
            f"{facts.unspaced_share:.0%} of the text has no spaces between words ({scripts}): whole phrases "
            f"become words; use a --tokenizer, for instance {remedy} (see Recipes in the documentation)"
        )
    return [f"warning: {line}" for line in found]


def _groups_line(words: Mapping[str, int]) -> str:
    """The groups of documents with their numbers of words, the largest first."""
    largest = sorted(words.items(), key=lambda one: (-one[1], one[0]))
    shown = ", ".join(f"{name} {counted(number, 'word')}" for name, number in largest[:_GROUPS])
    more = f" and {len(largest) - _GROUPS} more" if len(largest) > _GROUPS else ""
    return f"{counted(len(largest), 'group')}: {shown}{more}"


def _chart(slices: Slices) -> str:
    """The number of words per slice as a line of blocks of different heights, for standard error."""
    heights = _HEIGHTS if _can_print(sys.stderr) else _PLAIN_HEIGHTS
    groups = np.array_split(np.asarray(slices.tokens, dtype=np.float64), min(_LINE, len(slices)))
    means = np.array([group.mean() for group in groups])
    levels = np.ceil(means / means.max() * len(heights)).astype(int).clip(1)
    top = int(np.argmax(slices.tokens))
    line = "".join(heights[level - 1] for level in levels)
    return f"{line}  at most {counted(int(slices.tokens[top]), 'word')} per slice ({slices.labels[top]})"


def print_summary(counts: Counts, seconds: float | None = None) -> None:
    """Print what was counted on standard error."""
    summary = counts.summary
    unit = "n-gram year" if counts.places > 1 else "document"
    speed = f" in {seconds:.1f} s ({summary.tokens / max(seconds, 1e-9):,.0f} words/s)" if seconds else ""
    lines = _reading_lines(counts.findings) if counts.findings else []
    lines += [
        f"{counted(summary.documents, unit)}, {counted(summary.tokens, 'word')}{speed}",
        f"{counted(len(counts), 'slice')} from {counts.slices.labels[0]} to {counts.slices.labels[-1]}",
        f"vocabulary {len(counts.words):,} of {counted(summary.distinct_words, 'distinct word')}, "
        f"covering {_covered(summary) / max(1, summary.tokens):.1%} of the text",
    ]
    if summary.phrases or summary.phrases_left_out:
        lines.append(
            f"{counted(summary.phrases, 'phrase')} in the vocabulary, "
            f"{summary.words_in_phrases / max(1, summary.tokens):.1%} of the text"
        )
    if summary.phrases_left_out:
        lines.append(
            f"{counted(summary.phrases_left_out, 'listed phrase')} left out: absent from the text, "
            "or too rare for the vocabulary"
        )
    if counts.groups:
        lines.append(_groups_line({name: group.summary.tokens for name, group in counts.groups.items()}))
    if summary.outside_dates:
        lines.append(f"{counted(summary.outside_dates, unit)} outside --since and --until")
    if summary.tagged_ngrams:
        lines.append(
            f"{counted(summary.tagged_ngrams, 'line')} with part-of-speech tags or placeholders left out"
        )
    if summary.ignored_files:
        lines.append(_ignored_files(summary.ignored_files, counts.findings))
    lines += [
        f"skipped {counted(number, 'row')}: {reason}" for reason, number in sorted(summary.skipped.items())
    ]
    if len(counts) > 1:
        lines.append(_chart(counts.slices))
    lines += [
        f"warning: the group {name!r} has a single document; is it spelled as it should be?"
        for name in lone_documents(counts.groups)
    ]
    if counts.findings:
        splits_words = bool(counts.settings.tokenizer or counts.settings.pretokenized)
        lines += _warnings(counts.findings, summary.documents, splits_words)
    say(*lines, f"written to {counts.path}")


def _covered(summary: Summary) -> float:
    """The words of the text that are in the vocabulary, by themselves or in phrases."""
    return summary.tokens_in_vocabulary - summary.phrase_occurrences + summary.words_in_phrases


def print_preview(found: "Preview", format: ReportFormat, splits_words: bool) -> None:
    """Print the report of a dry run on standard output."""
    if format is ReportFormat.json:
        print_json(_as_json(found))
        return
    facts = found.findings
    lines = _reading_lines(facts)
    lines.append(
        f"{counted(found.documents, 'document')}, {counted(int(found.slices.tokens.sum()), 'word')} "
        f"({found.distinct_words:,} distinct), {counted(len(found.slices), 'slice')}"
    )
    lines += _bars(found.slices)
    if found.groups:
        lines.append(_groups_line(found.groups))
    if found.outside_dates:
        lines.append(f"{counted(found.outside_dates, 'document')} outside --since and --until")
    if found.ignored_files:
        lines.append(_ignored_files(found.ignored_files, facts))
    lines += _warnings(facts, found.documents, splits_words, all_names=True)
    lines += [
        f"  {chosen} for '{name}', "
        + (f"not {' or '.join(others)}" if others else "though it is hardly a year")
        for name, chosen, others in facts.ambiguous_names
    ]
    lines += [
        f"bad: {counted(number, 'row')}, {reason}; the first: {example}"
        for reason, (number, example) in found.bad_rows.items()
    ]
    for line in lines:
        sys.stdout.write(spelled_out(line) + "\n")


def _as_json(found: "Preview") -> dict[str, Any]:
    facts, slices = found.findings, found.slices
    return {
        "files": dict(facts.files),
        "encodings": dict(facts.encodings),
        "delimiters": dict(facts.delimiters),
        "columns": dict(facts.columns),
        "documents": found.documents,
        "outside_dates": found.outside_dates,
        "ignored_files": found.ignored_files,
        "ignored_endings": dict(facts.ignored),
        "earliest": dict(zip(("date", "document"), facts.earliest or (), strict=False)),
        "latest": dict(zip(("date", "document"), facts.latest or (), strict=False)),
        "precisions": dict(facts.precisions),
        "samples": [
            {"date": date, "document": name, "text": _shortened(text)} for date, name, text in facts.samples
        ],
        "words": int(slices.tokens.sum()),
        "distinct_words": found.distinct_words,
        "groups": found.groups,
        "slices": [
            {"label": label, "documents": int(documents), "words": int(words)}
            for label, documents, words in zip(slices.labels, slices.documents, slices.tokens, strict=True)
        ],
        "coarse_dates": facts.coarse,
        "ambiguous_names": [
            {"name": name, "chosen": chosen, "others": others}
            for name, chosen, others in facts.ambiguous_names
        ],
        "unspaced_share": facts.unspaced_share,
        "bad_rows": [
            {"reason": reason, "rows": number, "example": example}
            for reason, (number, example) in found.bad_rows.items()
        ],
    }


def _bars(slices: Slices) -> list[str]:
    """A bar for each slice, or for a few neighboring ones."""
    if not len(slices):
        return []
    full, parts = ("█", _WIDTHS) if _can_print(sys.stdout) else ("#", "")
    size = -(-len(slices) // _BARS)  # the last group may be smaller
    groups = [np.arange(start, min(start + size, len(slices))) for start in range(0, len(slices), size)]
    labels = [
        _shortened(slices.labels[group[0]], 24)
        if len(group) == 1
        else f"{_shortened(slices.labels[group[0]], 12)} to {_shortened(slices.labels[group[-1]], 12)}"
        for group in groups
    ]
    words = [int(slices.tokens[group].sum()) for group in groups]
    width, most = max(map(len, labels)), max(words)
    lines = []
    for label, number in zip(labels, words, strict=True):
        eighths = max(1, round(number / most * _BAR_WIDTH * 8))
        rest = parts[eighths % 8 - 1] if parts and eighths % 8 else ""
        lines.append(f"  {label:{width}}  {full * (eighths // 8)}{rest} {number:,}")
    return lines


def _can_print(out: TextIO) -> bool:
    try:
        _HEIGHTS.encode(getattr(out, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _listed(found: Counter[str], noun: str) -> str:
    return ", ".join(counted(number, f"{kind} {noun}") for kind, number in _ordered(found))


def _with_numbers(found: Counter[str]) -> str:
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{name} ({number:,})" for name, number in _ordered(found))


def _ordered(found: Counter[str]) -> Sequence[tuple[str, int]]:
    return sorted(found.items(), key=lambda one: (-one[1], one[0]))


def _shortened(text: str, most: int = _TEXT) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
