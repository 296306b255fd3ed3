"""Google Books n-gram tables. Each line may be of version 2 (n-gram and year) or 3 (n-gram with all years).

An n-gram with a part-of-speech tag or a placeholder repeats text that is also recorded without tags, so it
is dropped. Words are lower-cased; a token without a letter keeps its place but cannot be in the vocabulary.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from wordtide.corpus.documents import BadRows
from wordtide.corpus.normalization import inspect_texts
from wordtide.corpus.tokens.lexicon import Lexicon
from wordtide.corpus.tokens.ngram_scanner import (
    BAD_NUMBER,
    DONE,
    LEXICON_FULL,
    LONGEST_NGRAM,
    TOO_MANY_WORDS,
    WRONG_FIELDS,
    add_totals,
    scan_ngrams,
)
from wordtide.corpus.tokens.tokenizers import MASKS, TREATMENTS, TokenRule
from wordtide.corpus.tokens.unicode import character_tables
from wordtide.types import Array, Bytes, Integers

#: Part-of-speech tags and placeholders. They are a closed set, because a word may hold an underscore.
_TAGS: Final = ("NOUN", "VERB", "ADJ", "ADV", "PRON", "DET", "ADP", "NUM", "CONJ", "PRT", "X", ".")
_PLACEHOLDERS: Final = ("START", "END", "ROOT")
_PROBLEMS: Final = {
    WRONG_FIELDS: ("wrong number of fields", "the line does not have the fields of an n-gram table."),
    BAD_NUMBER: ("number not understood", "a year or a count is not a whole number."),
    TOO_MANY_WORDS: ("more than 5 words", "the n-gram has more than 5 words."),
}
_REMEDY: Final = (
    "A line is: n-gram, tab, year, tab, matches, tab, volumes (version 2), "
    "or n-gram, then tab and year,matches,volumes for each year (version 3)."
)


@dataclass(frozen=True)
class NgramBatch:
    """N-grams of a block.

    Gram g has the words `ids[g, :sizes[g]]`, and `years` and `matches` from `ends[g - 1]` to `ends[g]`.
    Matches have 32 bits if all of a block fit.
    """

    ids: npt.NDArray[np.int32]
    sizes: Bytes
    ends: Integers
    years: npt.NDArray[np.int16]
    matches: Array
    dropped: int  # lines whose n-gram holds a tag or a placeholder


class NgramScanner:
    """Reads blocks of lines with one lexicon. Not thread-safe."""

    def __init__(
        self, rule: TokenRule, years: tuple[int, int], vocabulary: Iterable[str] | None = None
    ) -> None:
        self.lexicon = Lexicon([*MASKS, *(vocabulary or ())], frozen=vocabulary is not None)
        self._years = years
        self._numbers = TREATMENTS[rule.numbers]
        self._tables = character_tables(rule.hyphens == "keep")
        self._tags = Lexicon(_TAGS)
        self._placeholders = Lexicon([*_TAGS, *_PLACEHOLDERS])
        self._make_room(0)

    def _make_room(self, room: int) -> None:
        """Allocate buffers, which are reused from block to block, because fresh memory is expensive."""
        self._ids = np.empty((room, LONGEST_NGRAM), dtype=np.int32)
        self._sizes = np.empty(room, dtype=np.uint8)
        self._ends = np.empty(room, dtype=np.int64)
        self._years_found = np.empty(room, dtype=np.int16)
        self._matches = np.empty(room, dtype=np.int64)

    def scan(self, block: bytes, first_line: int, path: str, bad: BadRows) -> NgramBatch:
        """Read the n-grams of a block of whole lines."""
        block = _valid_text(block, first_line, path, bad)
        data = np.frombuffer(block, dtype=np.uint8)
        # An n-gram and a year need at least "a\t1,1,1\n"; another year needs "\t1,1,1".
        room = len(data) // 6 + 2
        if len(self._sizes) < room:
            self._make_room(room)
        ids, sizes, ends = self._ids, self._sizes, self._ends
        years, matches = self._years_found, self._matches
        cursor = np.zeros(6, dtype=np.int64)
        while True:
            status = scan_ngrams(
                data, self._tables.kind, self._tables.lower, self.lexicon.state, self._tags.state,
                self._placeholders.state, not self.lexicon.frozen, self._numbers, *self._years,
                ids, sizes, ends, years, matches, cursor,
            )  # fmt: skip
            if status == DONE:
                break
            if status == LEXICON_FULL:
                self.lexicon.make_room()
                continue
            reason, detail = _PROBLEMS[status]
            start = int(cursor[0])
            line = first_line + block.count(b"\n", 0, start)
            bad.report(f"{path}, line {line}", reason, detail, _REMEDY)
            after = block.find(b"\n", start)
            cursor[0] = len(block) if after < 0 else after + 1
        grams, entries = int(cursor[1]), int(cursor[2])
        add_totals(ids[:grams], sizes[:grams], ends, matches, self.lexicon.state.entries)
        narrow = matches[:entries].max(initial=0) <= np.iinfo(np.uint32).max
        return NgramBatch(
            ids[:grams].copy(), sizes[:grams].copy(), ends[:grams].copy(), years[:entries].copy(),
            matches[:entries].astype(np.uint32 if narrow else np.int64), int(cursor[3]),
        )  # fmt: skip


def _valid_text(block: bytes, first_line: int, path: str, bad: BadRows) -> bytes:
    """Normalize a block to NFC, and report and drop lines that are not UTF-8."""
    if block.isascii():
        return block
    unstable = character_tables(True).unstable
    verdict = inspect_texts(
        np.frombuffer(block, dtype=np.uint8), np.array([0, len(block)]), unstable, np.zeros(3, dtype=np.int64)
    )[0]
    if verdict == 2:
        good = []
        for number, line in enumerate(block.split(b"\n"), first_line):
            try:
                line.decode("utf-8")
                good.append(line)
            except UnicodeDecodeError as error:
                detail = f"byte {error.start + 1} is not valid UTF-8."
                bad.report(f"{path}, line {number}", "not UTF-8", detail, "Fetch the file again.")
        return _valid_text(b"\n".join(good), first_line, path, bad)
    return unicodedata.normalize("NFC", block.decode("utf-8")).encode("utf-8") if verdict == 1 else block
