"""Tokenizers (the token rule, pretokenized texts, custom functions) and the scanner that numbers words.

A custom tokenizer is any Python function from a text to its words, or to its sentences as lists of words.
What it returns is joined with separators that no text holds, and numbered by compiled code.
"""

import importlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from wordtide.compiled import integer, kernel
from wordtide.corpus.documents import Batch
from wordtide.corpus.tokens.lexicon import (
    LONGEST_WORD,
    TOTAL,
    Lexicon,
    LexiconState,
    find_or_add,
    hash_bytes,
    prefix_of,
    words_that_fit,
)
from wordtide.corpus.tokens.scanner import (
    BREAK,
    CURSOR_SIZE,
    KEEP,
    MASK,
    SKIP,
    UNNAMED,
    ScanRules,
    number_words,
)
from wordtide.corpus.tokens.unicode import character_tables
from wordtide.errors import InputError, SettingsError
from wordtide.types import Bytes, Integers

Tokenizer = Callable[[str], Iterable[object]]

_WORD_END: Final = 0x1F
_SENTENCE_END: Final = 0x1E
MASKS: Final = ("<number>", "<url>", "<user>")
#: English abbreviations before names and numbers, whose period does not end a sentence.
ABBREVIATIONS: Final = tuple(
    "mr mrs ms messrs dr st jr sr gen col maj capt lt sgt gov sen rep hon rev prof vs vol fig art sec".split()
)
TREATMENTS = {"skip": SKIP, "keep": KEEP, "mask": MASK}


@kernel
def split_texts(
    data: Bytes,
    offsets: Integers,
    lexicon: LexiconState,
    may_add: bool,
    custom: bool,
    ids: npt.NDArray[np.int32],
    sentences: Integers,
    document_ids: Integers,
    document_sentences: Integers,
    cursor: Integers,
) -> bool:
    """Like `number_words` for texts that are split already.

    Pretokenized words end at white space, sentences at line breaks; those of a `custom` tokenizer end at the
    separators that `apply_tokenizer` put in.
    """
    slots, entries, arena, size = lexicon
    most_words = words_that_fit(lexicon)
    document, at, filled, sentence, last_break, sentence_start = cursor[:6]
    while document < offsets.size - 1:
        end = offsets[document + 1]
        while at < end:
            if size[0] >= most_words:
                cursor[0], cursor[1], cursor[2], cursor[3] = document, at, filled, sentence
                cursor[4], cursor[5] = last_break, sentence_start
                return False
            byte = data[at]
            if byte == _SENTENCE_END if custom else (byte == 0x0A or byte == 0x0D):
                if filled > last_break:
                    sentences[sentence, 0], sentences[sentence, 1] = sentence_start, at
                    sentence += 1
                    ids[filled] = BREAK
                    filled += 1
                    last_break = filled
                at += 1
                continue
            if byte == _WORD_END if custom else (byte == 0x20 or (byte >= 0x09 and byte <= 0x0D)):
                at += 1
                continue
            stop = at
            while stop < end:
                byte = data[stop]
                if custom:
                    if byte == _WORD_END or byte == _SENTENCE_END:
                        break
                elif byte == 0x20 or (byte >= 0x09 and byte <= 0x0D):
                    break
                stop += 1
            number = integer(UNNAMED)
            if stop - at <= LONGEST_WORD:
                word = data[at:stop]
                code = hash_bytes(word, stop - at)
                prefix = prefix_of(word, stop - at)
                number = find_or_add(slots, entries, arena, size, word, stop - at, prefix, code, may_add)
                if number >= 0:
                    entries[number, TOTAL] += 1
                else:
                    number = integer(UNNAMED)
            if filled == last_break:
                sentence_start = at
            ids[filled] = number
            filled += 1
            at = stop
        if filled > last_break:
            sentences[sentence, 0], sentences[sentence, 1] = sentence_start, end
            sentence += 1
            ids[filled] = BREAK
            filled += 1
            last_break = filled
        document_ids[document] = filled
        document_sentences[document] = sentence
        document += 1
        at = end
    return True


def load_tokenizer(name: str) -> Tokenizer:
    """Import the function "module:function"."""
    module_name, _, function_name = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # so that modules in the current folder are found, as by `python -m`
    try:
        function = getattr(importlib.import_module(module_name), function_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(
            f"The tokenizer {name!r} cannot be loaded: {error}.",
            "Name it as module:function, importable from here.",
        ) from error
    if not callable(function):
        raise SettingsError(f"The tokenizer {name!r} is not a function.", "Name it as module:function.")
    return function  # type: ignore[no-any-return]


def apply_tokenizer(batch: Batch, tokenizer: Tokenizer, name: str) -> Batch:
    """Replace each text of a batch by its tokens; control characters separate words and sentences."""
    texts = []
    for document in range(len(batch)):
        try:
            texts.append(_joined(tokenizer(batch.text(document).decode("utf-8"))))
        except Exception as error:
            raise InputError(
                f"{batch.place(document)}: the tokenizer {name} failed: {type(error).__name__}: {error}",
                "It must take a str and return words, or sentences as lists of words.",
            ) from error
    return batch.with_texts(texts)


def _joined(tokens: Iterable[object]) -> bytes:
    pieces: list[str] = []
    for token in tokens:
        if isinstance(token, str):
            pieces += (_cleaned(token), chr(_WORD_END))
        elif isinstance(token, Iterable):
            for word in token:
                if not isinstance(word, str):
                    raise TypeError(f"a word is a {type(word).__name__}, not a str")
                pieces += (_cleaned(word), chr(_WORD_END))
            pieces.append(chr(_SENTENCE_END))
        else:
            raise TypeError(f"a token is a {type(token).__name__}, not a str")
    return "".join(pieces).encode("utf-8")


def _cleaned(word: str) -> str:
    """Replace line breaks and separators in a word by spaces: the vocabulary file has one word per line."""
    return " ".join(word.replace("\x1e", " ").replace("\x1f", " ").split())


@dataclass(frozen=True)
class TokenRule:
    """Options of the token rule; `CountSettings` checks them.

    `tokenizer` ("module:function") and `pretokenized` replace the rule.
    """

    numbers: str = "skip"
    urls: str = "skip"
    user_names: str = "skip"
    hyphens: str = "keep"
    tokenizer: str | None = None
    pretokenized: bool = False


@dataclass(frozen=True)
class ScannedBatch:
    """The numbers of a batch's words: document n has `ids[ends[n - 1]:ends[n]]`.

    `sentences` has the first and last byte of each sentence; document n has those up to `sentence_ends[n]`.
    """

    ids: npt.NDArray[np.int32]
    ends: Integers
    sentences: Integers
    sentence_ends: Integers


class Scanner:
    """Numbers the words of batches with one lexicon. Not thread-safe."""

    def __init__(self, rule: TokenRule, vocabulary: Iterable[str] | None = None) -> None:
        self.rule = rule
        self.lexicon = Lexicon([*MASKS, *ABBREVIATIONS, *(vocabulary or ())], frozen=vocabulary is not None)
        self._tables = character_tables(rule.hyphens == "keep")
        self._rules = ScanRules(
            TREATMENTS[rule.numbers],
            TREATMENTS[rule.urls],
            TREATMENTS[rule.user_names],
            len(MASKS) + len(ABBREVIATIONS),
        )
        self._ids = np.empty(0, dtype=np.int32)
        self._sentences = np.empty((0, 2), dtype=np.int64)

    def scan(self, batch: Batch) -> ScannedBatch:
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
        return ScannedBatch(self._ids[:filled], ends, self._sentences[:sentences], sentence_ends)

    def _scan(
        self,
        batch: Batch,
        ends: Integers,
        sentence_ends: Integers,
        cursor: Integers,
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
