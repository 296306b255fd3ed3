"""The compiled reader of n-gram tables gives what reading them line by line gives."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.ngram_tables import read_table

from wordtide.corpus.documents import BadRows
from wordtide.corpus.ngram_tables import NgramScanner
from wordtide.corpus.tokens.tokenizers import TokenRule

YEARS = (1000, 2100)
TOKENS = [
    *"a The the Wordless seventh eighties Eightieth it's a1 1850 , _ cat_NOUN _DET_ snake_case été ÉTÉ éa".split(),
    *["", "a{", "a@", "a[", "a`", "w" * 128, "w" * 129],
]
NUMBER = st.integers(0, 10**8).map(str) | st.integers(1, 15).map(lambda digits: "9" * digits)
BAD_NUMBER = st.sampled_from(["", "-1", "1/", "1:", "1" * 16])
YEAR = st.integers(990, 2110).map(str) | st.sampled_from(["0", "01900", "19000", "190"])


@st.composite
def tables(draw):
    """Lines of few words, so that n-grams begin alike; in half of the tables some numbers are bad."""
    number = draw(st.sampled_from([NUMBER, NUMBER | BAD_NUMBER]))
    words = st.sampled_from(draw(st.lists(st.sampled_from(TOKENS), min_size=1, max_size=4)))
    gram = st.lists(words, min_size=1, max_size=5 if number is NUMBER else 6).map(" ".join)
    entries = st.lists(st.tuples(YEAR, number, number), min_size=1, max_size=3)
    lines = []
    for name in draw(st.lists(gram, max_size=20)):
        of_gram = draw(entries)
        if draw(st.booleans()):
            lines.append("\t".join([name, *map(",".join, of_gram)]))
        else:
            lines.extend("\t".join([name, *entry]) for entry in of_gram)
    return sorted(lines) if draw(st.booleans()) else lines


def contents(scanner, batch):
    """The matches of each n-gram in each year."""
    names = {number: scanner.lexicon.word(number) for number in range(len(scanner.lexicon))}
    table, start = Counter(), 0
    for ids, size, stop in zip(batch.ids.tolist(), batch.sizes, batch.ends, strict=True):
        words = tuple(names.get(number) for number in ids[:size])
        for year, matches in zip(batch.years[start:stop].tolist(), batch.matches[start:stop], strict=True):
            table[words, year] += int(matches)
        start = stop
    return table


@given(tables(), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=300)
def test_a_block_is_read_as_its_lines_are(lines, line_end):
    scanner, bad = NgramScanner(TokenRule(), YEARS), BadRows(skip=True)
    batch = scanner.scan("".join(line + line_end for line in lines).encode(), 1, "", bad)
    assert (contents(scanner, batch), batch.dropped, bad.reasons.total()) == read_table(lines, *YEARS)
