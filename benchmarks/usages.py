"""Dated usages of words with human judgments, in the layout of the DWUG data sets.

    FOLDER/data/WORD/uses.csv           lemma, grouping, date, context, indexes_target_token, ...
    FOLDER/data/WORD/judgments.csv      identifier1, identifier2, judgment (1 to 4; others are no judgment)
    FOLDER/stats/opt/stats_groupings.csv or stats/stats_groupings.tsv
                                        lemma, grouping ("1_2"), change_graded, change_binary

All files are tab-separated whatever their names say, and quotation marks are ordinary characters.
"""

import csv
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

Row = dict[str, str]
_YEAR = re.compile(r"\d{4}")
_SPAN = re.compile(r"(\d+)\s*:\s*(\d+)")
#: Years between groups whose uses and names have no year.
UNDATED_GAP = 100.0


@dataclass(frozen=True)
class Use:
    """A usage: the word, the group of texts it comes from, its year (NaN: unknown), and the text around it.

    In the text the word has its dictionary form, whatever form it had before.
    """

    word: str
    identifier: str
    group: str
    year: float
    text: str


@dataclass(frozen=True)
class Truth:
    """How much a word changed from one group to another; NaN for what is unknown.

    `graded` lies between 0 and 1, `binary` is 0 or 1, `unrelated` is 4 minus the mean judgment of pairs of
    uses from both groups (0: always the same meaning).
    """

    word: str
    groups: tuple[str, str]
    graded: float
    binary: float
    unrelated: float


@dataclass(frozen=True)
class Group:
    """A group of texts: its name, and first, middle and last year of its uses."""

    name: str
    first: float
    year: float
    last: float


@dataclass(frozen=True)
class GoldData:
    """All usages, what people found, the groups in order of time, and how many uses could not be read."""

    uses: list[Use]
    truths: list[Truth]
    groups: list[Group]
    skipped: int


def read_gold(folder: Path) -> GoldData:
    """Read a data set.

    Raises:
        ValueError: The folder has no usages, or no word with a known change.
    """
    uses, skipped, words = [], 0, {}
    judgments: dict[str, list[Row]] = {}
    for path in sorted((folder / "data").glob("*/uses.*")):
        lemma = _normalized(path.parent.name)
        for row in read_table(path):
            use = _use(row, lemma)
            skipped += use is None
            uses += [use] if use else []
            words[_normalized(row.get("lemma", lemma))] = words[lemma] = plain_word(lemma)
        for beside in sorted(path.parent.glob("judgments.*"))[:1]:
            judgments[plain_word(lemma)] = list(read_table(beside))
    if not uses:
        raise ValueError(f"{folder} has no usages: expected files data/WORD/uses.csv in it.")
    groups = groups_of(uses)
    stats = stats_file(folder)
    truths = list(_stated(stats, words, groups) if stats else _undecided(uses, groups))
    group_of = {use.identifier: use.group for use in uses}
    judged = [_judged(truth, judgments.get(truth.word, []), group_of) for truth in truths]
    known = [truth for truth in judged if not np.isnan(truth.graded) or not np.isnan(truth.unrelated)]
    if not known:
        raise ValueError(f"{folder} has neither stats_groupings nor judgments of pairs from two groups.")
    return GoldData(uses, known, groups, skipped)


def read_table(path: Path) -> Iterator[Row]:
    """The rows of a tab-separated file as they are, without any quoting."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)


def stats_file(folder: Path) -> Path | None:
    """The file of changes: that of the best clustering, or the only one, or the first."""
    for place in ("stats/opt", "stats", "stats/*"):
        for found in sorted(folder.glob(f"{place}/stats_groupings.*")):
            return found
    return None


def plain_word(lemma: str) -> str:
    """A lemma as a token: in lower case, without its part of speech ("attack_nn")."""
    return re.sub(r"_[a-z]{1,4}$", "", lemma.lower())


def _normalized(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


def _use(row: Row, lemma: str) -> Use | None:
    """The usage of a row; None if it does not say which part of its text is the word."""
    text, word = row.get("context") or "", plain_word(lemma)
    found = _SPAN.search(row.get("indexes_target_token") or row.get("indexes_target") or "")
    start, end = map(int, found.groups()) if found else (0, 0)
    if not 0 <= start < end <= len(text):
        return None
    year = _YEAR.search(row.get("date") or "") or _YEAR.search(row.get("grouping") or "")
    text = unicodedata.normalize("NFC", f"{text[:start]} {word} {text[end:]}")
    group = _normalized(row.get("grouping") or "")
    return Use(
        word, _normalized(row.get("identifier") or ""), group, float(year[0]) if year else np.nan, text
    )


def groups_of(uses: Sequence[Use]) -> list[Group]:
    """The groups of uses in order of time, or of their names if years are unknown."""
    names = sorted({use.group for use in uses}, key=lambda name: (len(name), name))
    found = []
    for place, name in enumerate(names):
        years = np.array([use.year for use in uses if use.group == name and not np.isnan(use.year)])
        ends = [years.min(), years.max()] if len(years) else [1900.0 + place * UNDATED_GAP] * 2
        found.append(Group(name, ends[0], float(np.median(years)) if len(years) else ends[0], ends[1]))
    return sorted(found, key=lambda group: group.year)


def _stated(path: Path, words: dict[str, str], groups: Sequence[Group]) -> Iterator[Truth]:
    names = [group.name for group in groups]
    for row in read_table(path):
        word = words.get(_normalized(row["lemma"]))
        if word is None:
            continue
        given = tuple(_normalized(row.get("grouping") or "").split("_"))
        pair = given if len(given) == 2 and set(given) <= set(names) else (names[0], names[-1])
        yield Truth(word, pair, _number(row.get("change_graded")), _number(row.get("change_binary")), np.nan)


def _undecided(uses: Sequence[Use], groups: Sequence[Group]) -> Iterator[Truth]:
    for word in dict.fromkeys(use.word for use in uses):
        for before, after in pairwise(groups):
            yield Truth(word, (before.name, after.name), np.nan, np.nan, np.nan)


def _judged(truth: Truth, judgments: Sequence[Row], group_of: dict[str, str]) -> Truth:
    """The same with the judgments of pairs of uses from both groups."""
    found = []
    for row in judgments:
        pair = {group_of.get(_normalized(row.get(name) or "")) for name in ("identifier1", "identifier2")}
        value = _number(row.get("judgment"))
        if pair == set(truth.groups) and 1.0 <= value <= 4.0:
            found.append(value)
    unrelated = 4.0 - float(np.mean(found)) if found else np.nan
    return Truth(truth.word, truth.groups, truth.graded, truth.binary, unrelated)


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")
