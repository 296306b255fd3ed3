"""Lists of phrases that users give: a file, a counts folder, or a list in Python."""

import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wordtide.corpus.documents import make_batch
from wordtide.corpus.tokens.lexicon import LONGEST_WORD
from wordtide.corpus.tokens.scanner import BREAK
from wordtide.corpus.tokens.tokenizers import MASKS, Scanner, TokenRule
from wordtide.counts.phrases.phrase_table import name_of
from wordtide.counts.settings import CountSettings
from wordtide.errors import InputError, SettingsError
from wordtide.storage.cells import is_plain
from wordtide.storage.header import HEADER, kind_of, read_json
from wordtide.system import read_text_file

_LARGEST_FILE = 1 << 28
_FOLDERS = {"counts": "settings", "model": "counts"}  # the entry of the header with the settings
_REMEDY = "Give auto, none, or a UTF-8 file with one phrase per line, its words separated by spaces."


def resolve_phrases(settings: CountSettings, rule: TokenRule, is_ngrams: bool) -> CountSettings:
    """Return settings whose `phrases` are "auto" or the phrases themselves, spelled by the token rule."""
    given = settings.phrases
    if given is None:
        folder = Path(settings.vocabulary or "")
        phrases = phrases_of_folder(folder) if settings.vocabulary and folder.is_dir() else ()
    elif given == "auto":
        if is_ngrams:
            raise SettingsError(
                "--phrases=auto needs running text, and these are n-grams.",
                "List the phrases in a file: --phrases=FILE.",
            )
        if settings.vocabulary:
            raise SettingsError(
                "--phrases=auto adds words to the vocabulary, and --vocabulary fixes it.",
                "Give a list with --phrases=FILE, or a counts folder as --phrases.",
            )
        return settings
    elif given == "none":
        phrases = ()
    elif isinstance(given, str):
        phrases = read_phrases(Path(given), rule)
    else:
        places = [f"phrases[{number}]" for number in range(len(given))]
        phrases = parse_phrases(given, places, rule)
    return replace(settings, phrases=tuple(phrases))


def phrases_of_folder(folder: Path) -> tuple[str, ...]:
    """The phrases that the texts of a counts folder, or of a model folder, were counted with."""
    kind = kind_of(folder)
    if kind not in _FOLDERS:
        raise InputError(f"{folder} is neither a counts folder nor a model folder.", _REMEDY)
    saved = read_json(folder / HEADER).get(_FOLDERS[kind]) or {}
    return CountSettings.from_json({"phrases": saved.get("phrases")}).joined_phrases


def read_phrases(path: Path, rule: TokenRule) -> tuple[str, ...]:
    """Read a file with one phrase per line, or take the phrases of a counts folder."""
    if path.is_dir():
        return phrases_of_folder(path)
    lines = read_text_file(path, _LARGEST_FILE, _REMEDY).split("\n")
    phrases = parse_phrases(lines, [f"{path}, line {number}" for number in range(1, len(lines) + 1)], rule)
    if not phrases:
        raise InputError(f"{path} holds no phrases.", _REMEDY)
    return phrases


def parse_phrases(lines: Sequence[str], places: Sequence[str], rule: TokenRule) -> tuple[str, ...]:
    """Split lines of one phrase each into words by the token rule, and drop empty lines and repetitions.

    Words of a custom tokenizer, and of pretokenized texts, are written as they are, separated by white space.
    A phrase with something that is no word under the rule, such as a skipped number, stays as it is written:
    it never occurs. `places` names the lines in errors.
    """
    composed = [unicodedata.normalize("NFC", line.strip()) for line in lines]
    kept = [number for number, line in enumerate(composed) if line]
    for number in kept:
        if not is_plain(composed[number]):
            raise InputError(f"{places[number]}: the phrase holds control characters.", "Remove it.")
    phrases = [" ".join(composed[number].split()) for number in kept]
    if not rule.tokenizer and not rule.pretokenized:
        phrases = [
            " ".join(words) if words else phrase.lower()
            for phrase, words in zip(
                phrases, _scanned(phrases, rule, [places[number] for number in kept]), strict=True
            )
        ]
    for number, phrase in zip(kept, phrases, strict=True):
        if " " not in phrase:
            raise InputError(
                f"{places[number]}: {composed[number]!r} is a single word.",
                "A phrase has two words or more, separated by spaces.",
            )
        if len(name_of(phrase).encode("utf-8")) > LONGEST_WORD:
            raise InputError(
                f"{places[number]}: the phrase is longer than {LONGEST_WORD} bytes.", "Remove it."
            )
    return tuple(dict.fromkeys(phrases))


def _scanned(phrases: Sequence[str], rule: TokenRule, places: Sequence[str]) -> list[list[str]]:
    """The words of each phrase; none if it holds something that is no word."""
    scanner = Scanner(rule)
    batch = make_batch(
        [phrase.encode("utf-8") for phrase in phrases],
        [(0, 1)] * len(phrases),
        [""] * len(phrases),
        [0] * len(phrases),
    )
    scanned = scanner.scan(batch)
    found: list[list[str]] = []
    start = 0
    for phrase, place, stop in zip(phrases, places, scanned.ends.tolist(), strict=True):
        ids = scanned.ids[start : max(start, stop - 1)]  # the last is the end of the sentence
        start = stop
        if (ids == BREAK).any():
            raise InputError(
                f"{place}: {phrase!r} is more than one sentence.", "A phrase lies within a sentence."
            )
        if any(mask in phrase.split(" ") for mask in MASKS):
            found.append(phrase.split(" "))  # from the phrases of a counts folder
        else:
            found.append(scanner.lexicon.words(ids.astype("i8")) if len(ids) and (ids >= 0).all() else [])
    return found
