"""The token rule and its options, and the general way round it: a tokeniser of one's own.

The default rule is compiled (`scanning`). A custom tokeniser is any Python function from a text to its words, or to its
sentences as lists of words; what it returns is joined with separators no text holds and numbered by the same compiled code.
"""

import importlib
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from wordtide.corpus.characters import TABLE_SIZE, character_tables
from wordtide.corpus.documents import BadRows, Batch, make_batch
from wordtide.corpus.lexicon import (
    LONGEST_WORD,
    TOTAL,
    Lexicon,
    LexiconState,
    find_or_add,
    hash_bytes,
    prefix_of,
    words_that_fit,
)
from wordtide.corpus.scanning import BREAK, CURSOR_SIZE, KEEP, MASK, SKIP, UNNAMED, ScanRules, decode, scan_texts
from wordtide.errors import InputError, SettingsError
from wordtide.kernels import integer, kernel

Tokenizer = Callable[[str], Iterable[object]]

MASKS: Final = ("<number>", "<url>", "<user>")
#: English abbreviations before names and numbers: their full stop ends no sentence.
ABBREVIATIONS: Final = tuple(
    "mr mrs ms messrs dr st jr sr gen col maj capt lt sgt gov sen rep hon rev prof vs vol fig art sec".split()
)
_WAYS = {"skip": SKIP, "keep": KEEP, "mask": MASK}
_WORD_END: Final = 0x1F
_SENTENCE_END: Final = 0x1E


@dataclass(frozen=True)
class TokenRule:
    """Options of the token rule; `tokenizer` is "module:function" and, like `pretokenized`, replaces the rule."""

    numbers: str = "skip"
    urls: str = "skip"
    user_names: str = "skip"
    hyphens: str = "keep"
    tokenizer: str | None = None
    pretokenized: bool = False

    def __post_init__(self) -> None:
        for option in ("numbers", "urls", "user_names"):
            if getattr(self, option) not in _WAYS:
                raise SettingsError(
                    f"{getattr(self, option)!r} is not a way to treat {option.replace('_', ' ')}.",
                    f"Use one of: {', '.join(_WAYS)}.",
                )
        if self.hyphens not in ("keep", "split"):
            raise SettingsError(f"{self.hyphens!r} is not a way to treat hyphens.", "Use keep or split.")
        if self.tokenizer and self.pretokenized:
            raise SettingsError("A tokenizer and --pretokenized exclude each other.", "Choose one.")


@dataclass(frozen=True)
class Scanned:
    """The numbers of a batch's words: document n has `ids[ends[n - 1]:ends[n]]`, sentence s the bytes `sentences[s]`."""

    ids: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int64]
    sentences: npt.NDArray[np.int64]
    sentence_ends: npt.NDArray[np.int64]


class Scanner:
    """Numbers the words of one batch after another with one lexicon. Not shared between threads."""

    def __init__(self, rule: TokenRule, vocabulary: Iterable[str] | None = None) -> None:
        self.rule = rule
        self.lexicon = Lexicon([*MASKS, *ABBREVIATIONS, *(vocabulary or ())], frozen=vocabulary is not None)
        self._tables = character_tables(rule.hyphens == "keep")
        self._rules = ScanRules(_WAYS[rule.numbers], _WAYS[rule.urls], _WAYS[rule.user_names], len(MASKS) + len(ABBREVIATIONS))
        self._ids = np.empty(0, dtype=np.int32)
        self._sentences = np.empty((0, 2), dtype=np.int64)

    def scan(self, batch: Batch) -> Scanned:
        """Number a batch's words. The arrays are buffers of this scanner: use them before the next call."""
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
        return scan_texts(batch.data, batch.offsets, kind, lower, self.lexicon.state, may_add, self._rules, *out)


@kernel
def split_texts(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    lexicon: LexiconState,
    may_add: bool,
    custom: bool,
    ids: npt.NDArray[np.int32],
    sentences: npt.NDArray[np.int64],
    document_ids: npt.NDArray[np.int64],
    document_sentences: npt.NDArray[np.int64],
    cursor: npt.NDArray[np.int64],
) -> bool:
    """Like `scan_texts` for text that is tokens already: split at white space, sentences at line breaks; from a custom
    tokeniser, split at the separators that `apply_tokenizer` put in.
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
    """The function that "module:function" names."""
    module_name, _, function_name = name.partition(":")
    try:
        function = getattr(importlib.import_module(module_name), function_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(
            f"The tokenizer {name!r} cannot be loaded: {error}.", "Name it as module:function, importable from here."
        ) from error
    if not callable(function):
        raise SettingsError(f"The tokenizer {name!r} is not a function.", "Name it as module:function.")
    return function  # type: ignore[no-any-return]


def apply_tokenizer(batch: Batch, tokenizer: Tokenizer, name: str) -> Batch:
    """The batch with each text replaced by its tokens, words and sentences separated by control characters."""
    texts = []
    for document in range(len(batch)):
        try:
            texts.append(_joined(tokenizer(batch.text(document).decode("utf-8"))))
        except Exception as error:
            raise InputError(
                f"{batch.name(document)}: the tokenizer {name} failed: {type(error).__name__}: {error}",
                "It must take a str and return words, or sentences as lists of words.",
            ) from error
    return make_batch(texts, batch.stamps, batch.spans, batch.sources, batch.rows)


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
    """A word must fit on a line of the vocabulary file, so line breaks and control characters in it become spaces."""
    return " ".join(word.replace("\x1e", " ").replace("\x1f", " ").split())


@kernel
def inspect_texts(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], unstable: npt.NDArray[np.bool_]
) -> npt.NDArray[np.uint8]:
    """Per document: 0 if its bytes are UTF-8 in composed form, 1 if it must be normalised, 2 if it is not UTF-8."""
    verdicts = np.zeros(offsets.size - 1, dtype=np.uint8)
    for document in range(offsets.size - 1):
        end = offsets[document + 1]
        at = offsets[document]
        high = np.uint8(0)
        for position in range(at, end):
            high |= data[position]
        if high < 0x80:
            continue
        while at < end:
            first = data[at]
            if first < 0x80:
                at += 1
                continue
            width = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            if first < 0xC2 or first > 0xF4 or at + width > end:
                verdicts[document] = 2
                break
            proper = True
            for position in range(at + 1, at + width):
                proper = proper and (data[position] & 0xC0) == 0x80
            code, _ = decode(data, at)
            if not proper or (width == 3 and code < 0x800) or (code >= 0xD800 and code < 0xE000):
                verdicts[document] = 2
                break
            if (width == 4 and code < 0x10000) or code > 0x10FFFF:
                verdicts[document] = 2
                break
            if code >= TABLE_SIZE or unstable[code]:
                verdicts[document] = 1
            at += width
    return verdicts


def prepare(batch: Batch, bad: BadRows) -> Batch:
    """The batch with every text in valid UTF-8 and composed form (NFC); texts that are not UTF-8 are reported."""
    verdicts = inspect_texts(batch.data, batch.offsets, character_tables().unstable)
    if not verdicts.any():
        return batch
    texts: list[bytes] = []
    for document, verdict in enumerate(verdicts):
        text = batch.text(document)
        if verdict == 2:
            _report_bad_encoding(batch, document, text, bad)
        elif verdict == 1:
            text = unicodedata.normalize("NFC", text.decode("utf-8")).encode("utf-8")
        texts.append(text)
    normalised = make_batch(texts, batch.stamps, batch.spans, batch.sources, batch.rows)
    return normalised.where(verdicts != 2)


def _report_bad_encoding(batch: Batch, document: int, text: bytes, bad: BadRows) -> None:
    try:
        text.decode("utf-8")
        raise AssertionError("inspect_texts and Python disagree about UTF-8")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        place = batch.name(document).replace(":", ", line ") if batch.rows[document] else f"{batch.name(document)}, line {line}"
        detail = f"byte {error.start + 1} of the text (0x{text[error.start]:02x}) is not valid UTF-8."
    bad.report(place, "not UTF-8", detail, "Convert the file: iconv -f LATIN1 -t UTF-8 old.txt > new.txt.")
