"""The token rule's options, and the scanner that numbers the words of documents by it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from wordtide.corpus.documents import Batch
from wordtide.corpus.tokens.custom import split_texts
from wordtide.corpus.tokens.lexicon import (
    Lexicon,
)
from wordtide.corpus.tokens.scanner import CURSOR_SIZE, KEEP, MASK, SKIP, ScanRules, number_words
from wordtide.corpus.tokens.unicode import character_tables
from wordtide.errors import SettingsError

MASKS: Final = ("<number>", "<url>", "<user>")
#: English abbreviations before names and numbers, whose period does not end a sentence.
ABBREVIATIONS: Final = tuple(
    "mr mrs ms messrs dr st jr sr gen col maj capt lt sgt gov sen rep hon rev prof vs vol fig art sec".split()
)
WAYS = {"skip": SKIP, "keep": KEEP, "mask": MASK}


@dataclass(frozen=True)
class TokenRule:
    """Options of the token rule; `tokenizer` is "module:function" and, like `pretokenized`, replaces the
    rule.
    """

    numbers: str = "skip"
    urls: str = "skip"
    user_names: str = "skip"
    hyphens: str = "keep"
    tokenizer: str | None = None
    pretokenized: bool = False

    def __post_init__(self) -> None:
        for option in ("numbers", "urls", "user_names"):
            if getattr(self, option) not in WAYS:
                raise SettingsError(
                    f"{getattr(self, option)!r} is not a treatment of {option.replace('_', ' ')}.",
                    f"Use one of: {', '.join(WAYS)}.",
                )
        if self.hyphens not in ("keep", "split"):
            raise SettingsError(f"{self.hyphens!r} is not a treatment of hyphens.", "Use keep or split.")
        if self.tokenizer and self.pretokenized:
            raise SettingsError("A tokenizer and --pretokenized exclude each other.", "Choose one.")


@dataclass(frozen=True)
class Scanned:
    """The numbers of a batch's words: document n has `ids[ends[n - 1]:ends[n]]`, sentence s the bytes
    `sentences[s]`.
    """

    ids: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int64]
    sentences: npt.NDArray[np.int64]
    sentence_ends: npt.NDArray[np.int64]


class Scanner:
    """Numbers the words of batches with one lexicon. Not thread-safe."""

    def __init__(self, rule: TokenRule, vocabulary: Iterable[str] | None = None) -> None:
        self.rule = rule
        self.lexicon = Lexicon([*MASKS, *ABBREVIATIONS, *(vocabulary or ())], frozen=vocabulary is not None)
        self._tables = character_tables(rule.hyphens == "keep")
        self._rules = ScanRules(
            WAYS[rule.numbers], WAYS[rule.urls], WAYS[rule.user_names], len(MASKS) + len(ABBREVIATIONS)
        )
        self._ids = np.empty(0, dtype=np.int32)
        self._sentences = np.empty((0, 2), dtype=np.int64)

    def scan(self, batch: Batch) -> Scanned:
        """Number the words of a batch. The arrays are buffers of this scanner, valid until the next call."""
        room = int(batch.offsets[-1] - batch.offsets[0]) + len(batch) + 1
        if len(self._ids) < room:
            self._ids = np.empty(room, dtype=np.int32)
            self._sentences = np.empty((room, 2), dtype=np.int64)
        ends = np.zeros(len(batch), dtype=np.int64)
        sentence_ends = np.zeros(len(batch), dtype=np.int64)
        cursor = np.zeros(CURSOR_SIZE, dtype=np.int64)
        cursor[1] = batch.offsets[0]
        cursor[6] = -1  # no token has ended yet
        while not self._scan(batch, ends, sentence_ends, cursor):
            self.lexicon.make_room()
        filled = int(ends[-1]) if len(batch) else 0
        sentences = int(sentence_ends[-1]) if len(batch) else 0
        return Scanned(self._ids[:filled], ends, self._sentences[:sentences], sentence_ends)

    def _scan(
        self,
        batch: Batch,
        ends: npt.NDArray[np.int64],
        sentence_ends: npt.NDArray[np.int64],
        cursor: npt.NDArray[np.int64],
    ) -> bool:
        may_add = not self.lexicon.frozen
        out = (self._ids, self._sentences, ends, sentence_ends, cursor)
        if self.rule.tokenizer or self.rule.pretokenized:
            custom = self.rule.tokenizer is not None
            return split_texts(batch.data, batch.offsets, self.lexicon.state, may_add, custom, *out)
        kind, lower, _ = self._tables
        return number_words(
            batch.data, batch.offsets, kind, lower, self.lexicon.state, may_add, self._rules, *out
        )
