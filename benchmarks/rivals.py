"""The same jobs done with other tools, as a competent user would write them, to compare results and times.

Pair counts are in whole units of 1/window, one entry per slice and unordered pair, as in `Counts.upper`.
"""

import gzip
import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
from gensim.models.phrases import Phrases
from isal import igzip
from sklearn.feature_extraction.text import CountVectorizer

WINDOW = 4
VOCABULARY_SIZE = 10_000
_WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")
_CHUNK = 1 << 20


class TextCounts(NamedTuple):
    """The twin's result: words, most frequent first, and per year the weight of each pair of their numbers."""

    words: list[str]
    pairs: dict[int, Counter[tuple[int, int]]]


def sentences(text: str) -> list[list[str]]:
    """The token rule on the generated texts; also the custom tokeniser of the general path."""
    return [_WORD.findall(sentence) for sentence in text.lower().split(". ")]


def find_phrases_with_gensim(tokens: list[list[str]]) -> set[str]:
    """Find phrases of up to four words with gensim, in two rounds as its documentation does."""
    options: dict[str, Any] = {"min_count": 10, "threshold": 0.5, "scoring": "npmi", "delimiter": " "}
    pairs = Phrases(tokens, **options)
    longer = Phrases(pairs[tokens], **options)
    return {*pairs.export_phrases(), *longer.export_phrases()}


def count_texts_in_python(path: Path) -> TextCounts:
    """The plain-Python twin: `re.findall`, a Counter of words, a Counter of pairs per year."""
    documents = []
    totals: Counter[str] = Counter()
    with path.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            tokens = sentences(row["text"])
            documents.append((int(row["date"][:4]), tokens))
            for sentence in tokens:
                totals.update(sentence)
    words = sorted(totals, key=lambda word: (-totals[word], word))[:VOCABULARY_SIZE]
    numbers = {word: number for number, word in enumerate(words)}
    pairs: dict[int, Counter[tuple[int, int]]] = {}
    for year, tokens in documents:
        counter = pairs.setdefault(year, Counter())
        for sentence in tokens:
            _add_pairs(counter, [numbers.get(word, -1) for word in sentence])
    return TextCounts(words, pairs)


def _add_pairs(counter: Counter[tuple[int, int]], sentence: list[int]) -> None:
    for place, one in enumerate(sentence):
        if one >= 0:
            weight = WINDOW
            for other in sentence[place + 1 : place + 1 + WINDOW]:
                if other >= 0:
                    counter[(one, other) if one <= other else (other, one)] += weight
                weight -= 1


def analyse_with_sklearn(texts: Iterable[str]) -> None:
    """scikit-learn's analyser alone: it cuts each text into words and counts nothing."""
    analyse = CountVectorizer().build_analyzer()
    for text in texts:
        analyse(text)


def count_words_with_sklearn(texts: Iterable[str]) -> None:
    """scikit-learn's usual call: the words of each text counted, no pairs."""
    CountVectorizer(max_features=VOCABULARY_SIZE).fit_transform(texts)


_TAGS = r"NOUN|VERB|ADJ|ADV|PRON|DET|ADP|NUM|CONJ|PRT|X|\."
_TAGGED = rf"(^| )(_({_TAGS}|START|END|ROOT)_|[^ ]+_({_TAGS}))( |$)"

_READ_V2 = """
CREATE TABLE lines AS
SELECT ngram, year, matches
FROM read_csv($path, delim = '\t', header = false, quote = '', escape = '', auto_detect = false,
  columns = {'ngram': 'VARCHAR', 'year': 'SMALLINT', 'matches': 'BIGINT', 'volumes': 'BIGINT'})
WHERE NOT regexp_matches(ngram, $tagged)
"""

_READ_V3 = """
CREATE TABLE lines AS
WITH split AS (
  SELECT string_split(line, '\t') AS fields
  FROM read_csv($path, delim = '\x01', header = false, quote = '', escape = '', auto_detect = false,
    columns = {'line': 'VARCHAR'})
), entries AS (
  SELECT fields[1] AS ngram, string_split(unnest(fields[2:]), ',') AS entry
  FROM split WHERE NOT regexp_matches(fields[1], $tagged)
)
SELECT ngram, entry[1]::SMALLINT AS year, entry[2]::BIGINT AS matches FROM entries
"""

# The words and pairs of a gram are found once, not once for each of its years.
_COUNT = f"""
CREATE TABLE grams AS
SELECT row_number() OVER () AS gram, ngram, string_split(lower(ngram), ' ') AS words, total
FROM (SELECT ngram, sum(matches) AS total FROM lines GROUP BY ngram);
CREATE TABLE places AS
SELECT gram, total, unnest(words) AS word, unnest(range(len(words))) AS place FROM grams;
CREATE TABLE vocabulary AS
SELECT word, row_number() OVER (ORDER BY sum(total) DESC, word) - 1 AS number
FROM places WHERE regexp_matches(word, '[a-z]') GROUP BY word ORDER BY sum(total) DESC, word LIMIT {VOCABULARY_SIZE};
CREATE TABLE known AS SELECT gram, place, number FROM places JOIN vocabulary USING (word);
CREATE TABLE pairs AS
SELECT gram, least(a.number, b.number) AS low, greatest(a.number, b.number) AS high
FROM known a JOIN known b USING (gram) WHERE a.place < b.place;
CREATE TABLE counts AS
SELECT year, low, high, sum(matches)::BIGINT AS weight
FROM lines JOIN grams USING (ngram) JOIN pairs USING (gram) GROUP BY year, low, high;
"""


class NgramResult:
    """What DuckDB counted, still in its tables: fetching it is part of the check, not of the job."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def words(self) -> list[str]:
        """The vocabulary, most frequent first."""
        return [
            word
            for (word,) in self._connection.execute("SELECT word FROM vocabulary ORDER BY number").fetchall()
        ]

    def entries(self) -> tuple[npt.NDArray[np.int64], ...]:
        """Columns year, low, high and weight, sorted."""
        columns = self._connection.execute("SELECT * FROM counts ORDER BY year, low, high").fetchnumpy()
        return tuple(np.asarray(columns[name], dtype=np.int64) for name in ("year", "low", "high", "weight"))


def count_ngrams_with_duckdb(path: Path, version: int) -> NgramResult:
    """N-gram tables counted by SQL, in memory, on one thread."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(_READ_V2 if version == 2 else _READ_V3, {"path": str(path), "tagged": _TAGGED})
    connection.execute(_COUNT)
    return NgramResult(connection)


def count_words_with_wc(path: Path) -> None:
    """`wc -w` in the C locale, its fastest."""
    subprocess.run(
        ["wc", "-w", str(path)], env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.DEVNULL, check=True
    )


def inflate_with_zlib(path: Path) -> None:
    """Decompress with the standard library and throw the bytes away."""
    with gzip.open(path, "rb") as file:
        while file.read(_CHUNK):
            pass


def inflate_with_isal(path: Path) -> None:
    """Decompress with isal and throw the bytes away."""
    with igzip.open(path, "rb") as file:
        while file.read(_CHUNK):
            pass
