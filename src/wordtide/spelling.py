"""Words as users type and read them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from os import PathLike

from wordtide.errors import InputError, UnknownWordError
from wordtide.system import read_text_file

_LARGEST_FILE = 1 << 30  # bytes of a list of words
_REMEDY = "Give a UTF-8 file with one word per line."
_SUGGESTED = 5
_STEM = 3  # first letters that a suggestion shares with a word unlike any other


def number_of(word: str, index: Mapping[str, int], remedy: str) -> int:
    """Find the number of a word, in the given spelling or in lower case; `index` has frequent words first.

    A phrase may be given with spaces: "climate change" for climate_change. An UnknownWordError suggests
    similar words, or the remedy if there are none.
    """
    joined = "_".join(word.split())
    for spelling in (word, word.lower(), joined, joined.lower()):
        if spelling in index:
            return index[spelling]
    similar = similar_words(joined, index)
    if joined != word:
        remedy = "Count phrases as words with --phrases=auto, or list this one in a file: --phrases=FILE."
    raise UnknownWordError(
        f"{word!r} is not in the vocabulary of {counted(len(index), 'word')}.",
        f"Similar words: {', '.join(similar)}." if similar else remedy,
    )


def similar_words(typed: str, words: Iterable[str]) -> list[str]:
    """Suggest words that the user may have meant, by the rule that the explorer uses.

    Words of similar spelling come first: those that continue what was typed, then by edit distance, the more
    frequent word first if distances are equal (`words` has frequent ones first). Words with the same first
    letters follow.

    >>> similar_words("enrgy", ["the", "entry", "energy", "enough"])
    ['energy', 'entry']
    """
    wanted, words = typed.lower(), list(words) if typed else []
    reach = max(1, min(4, -(-len(wanted) // 3)))
    letters = set(wanted)
    near = []
    for place, word in enumerate(words):
        if len(wanted) >= _STEM and word.startswith(wanted):
            near.append((0.5, place, word))
        elif abs(len(word) - len(wanted)) <= reach and len(letters.difference(word)) <= reach:
            distance = edit_distance(wanted, word, reach)
            if distance <= reach:
                near.append((distance, place, word))
    stem = wanted[:_STEM]
    alike = (word for word in words if len(stem) == _STEM and word.startswith(stem))
    nearest = [word for _, _, word in sorted(near)[:_SUGGESTED]]
    return list(dict.fromkeys([*nearest, *islice(alike, _SUGGESTED)]))[:_SUGGESTED]


def edit_distance(one: str, other: str, reach: int) -> int:
    """The number of edits (insert, remove or replace a letter, swap two neighbors), at most `reach` + 1.

    >>> edit_distance("enrgy", "energy", 4), edit_distance("form", "from", 4), edit_distance("a", "xyz", 1)
    (1, 1, 2)
    """
    if abs(len(one) - len(other)) > reach:
        return reach + 1
    earlier: list[int] = []
    previous = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, another in enumerate(other, 1):
            distance = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (letter != another))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == another:
                distance = min(distance, earlier[j - 2] + 1)
            row.append(distance)
        if min(row) > reach:
            return reach + 1
        earlier, previous = previous, row
    return min(previous[-1], reach + 1)


def read_words(path: str | PathLike[str]) -> list[str]:
    """The words of a file with one word per line."""
    lines = read_text_file(path, _LARGEST_FILE, _REMEDY).split("\n")
    words = [word for line in lines if (word := line.strip())]
    if not words:
        raise InputError(f"{path} holds no words.", _REMEDY)
    return words


def either(words: Sequence[str]) -> str:
    """List alternatives.

    >>> either(["smoothing"]), either(["png", "svg", "pdf"])
    ('smoothing', 'png, svg or pdf')
    """
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "slice"), counted(2000, "slice")
    ('1 slice', '2,000 slices')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
