"""N-gram tables, read one line at a time."""

from collections import Counter

TAGS = {"NOUN", "VERB", "ADJ", "ADV", "PRON", "DET", "ADP", "NUM", "CONJ", "PRT", "X", "."}
PLACEHOLDERS = TAGS | {"START", "END", "ROOT"}


def is_tagged(token):
    before, underscore, tag = token.rpartition("_")
    return (before != "" and tag in TAGS) or (
        underscore == "_" and tag == "" and token[0] == "_" and token[1:-1] in PLACEHOLDERS
    )


def word_of(token):
    """The word, None if a token cannot be in the vocabulary."""
    word = token.lower()
    return word if any(c.isalpha() for c in word) and len(word.encode()) <= 128 else None


def number_of(text):
    if not text.isdecimal() or len(text) > 15:
        raise ValueError
    return int(text)


def entries_of(line):
    """The words of a line, and its years and matches."""
    gram, *fields = line.removesuffix("\r").split("\t")
    tokens = gram.split(" ")
    if not gram or not fields or len(tokens) > 5:
        raise ValueError
    entries = []
    for entry in [fields] if "," not in fields[0] else [field.split(",") for field in fields]:
        year, matches, _ = map(number_of, entry)
        entries.append((year, matches))
    return tokens, entries


def read_table(lines, first_year, last_year):
    """The matches of each n-gram in each year, and the numbers of tagged and of bad lines."""
    table, tagged, bad = Counter(), 0, 0
    for line in lines:
        try:
            tokens, entries = entries_of(line)
        except ValueError:
            bad += 1
            continue
        if any(map(is_tagged, tokens)):
            tagged += 1
            continue
        for year, matches in entries:
            if first_year <= year <= last_year:
                table[tuple(map(word_of, tokens)), year] += matches
    return +table, tagged, bad
