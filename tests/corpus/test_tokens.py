"""The compiled token rule against its slow twin, and the table of docs/count.md."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.tokens import tokenize

from wordtide.corpus.documents import BadRows, make_batch
from wordtide.corpus.normalization import normalize_texts
from wordtide.corpus.tokens.scanner import BREAK
from wordtide.corpus.tokens.tokenizers import Scanner, TokenRule

SCANNERS = {}


def scanned(text, **options):
    """Sentences as the compiled rule sees them, and the text of each."""
    scanner = SCANNERS.setdefault(tuple(sorted(options.items())), Scanner(TokenRule(**options)))
    batch = normalize_texts(make_batch([text.encode()], [(0, 1)], ["text"], [0]), BadRows())
    result = scanner.scan(batch)
    sentences, sentence = [], []
    for number in result.ids.tolist():
        if number == BREAK:
            sentences.append(sentence)
            sentence = []
        else:
            sentence.append(scanner.lexicon.word(number) if number >= 0 else None)
    assert sentence == []
    return sentences, [batch.data[a:b].tobytes().decode() for a, b in result.sentences]


def words(text, **options):
    return [word for sentence in scanned(text, **options)[0] for word in sentence]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don’t o'clock", ["don't", "o'clock"]),
        ("workers' 'tis", ["workers", "tis"]),
        ("to-day well-known", ["to-day", "well-known"]),
        ("war -- and peace—and", ["war", "and", "peace", "and"]),
        ("U.S. e.g. U.S", ["u.s.", "e.g.", "u.s."]),
        ("20th COVID-19 G7", ["20th", "covid-19", "g7"]),
        ("1862 3.5 1,000", [None, None, None]),
        ("https://a.b/c?d www.x.org", [None, None]),
        ("@somebody", [None]),
        ("#hashtag", ["hashtag"]),
        ("ΟΔΟΣ ΣΟΦΟΣ", ["οδος", "σοφος"]),
        ("cafe\u0301 CAFÉ", ["café", "café"]),
        ("co\u00adoperate", ["cooperate"]),
        ("می‌خواهم", ["می‌خواهم"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ],
)
def test_the_table_in_the_docs_holds(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One two. Three four.", ["One two.", "Three four."]),
        ("He met Mr. Smith. Then left.", ["He met Mr. Smith.", "Then left."]),
        ("The U.S. Army won. It rested.", ["The U.S. Army won.", "It rested."]),
        ("He said “Stop!” Then he went.", ["He said “Stop!”", "Then he went."]),
        ("about 3.5 miles etc. and so on", ["about 3.5 miles etc. and so on"]),
        ("a line\nbroken\n\nnew paragraph", ["a line\nbroken", "new paragraph"]),
        ("猫。犬。", ["猫。", "犬。"]),
        ("so do I. Yes", ["so do I.", "Yes"]),
    ],
)
def test_sentences_end_where_the_docs_say_they_do(text, expected):
    assert scanned(text)[1] == expected


def test_options_keep_or_mask_what_is_skipped_by_default():
    text = "In 1862 see http://x.org/A by @Bob"
    assert words(text, numbers="keep", urls="keep", user_names="keep") == [
        "in",
        "1862",
        "see",
        "http://x.org/a",
        "by",
        "@bob",
    ]
    assert words(text, numbers="mask", urls="mask", user_names="mask") == [
        "in",
        "<number>",
        "see",
        "<url>",
        "by",
        "<user>",
    ]


def test_hyphens_can_split():
    assert words("to-day", hyphens="split") == ["to", "day"]


def test_words_of_more_than_128_bytes_keep_their_place_but_get_no_number():
    assert words("a " + "x" * 128 + " " + "y" * 129 + " b") == ["a", "x" * 128, None, "b"]


ALPHABET = list("aAbBsStThHwWiI.,!?'’-–—\n\t @_#:/1290()\"”") + [
    "Mr. ",
    "U.S. ",
    "http://",
    "www.",
    "é",
    "e\u0301",
    "Σ",
    "σ",
    "İ",
    "ß",
    "日",
    "。",
    "।",
    "हि",
    "\u00ad",
    "\u200f",
    "‌",
    "𝒳",
    "🎉",
    "\x00",
    "\u2028",
]


@given(st.lists(st.sampled_from(ALPHABET), max_size=60).map("".join))
@settings(max_examples=1500)
def test_the_compiled_rule_equals_its_twin_on_nasty_text(text):
    assert scanned(text)[0] == tokenize(text)


@given(st.text(max_size=80))
@settings(max_examples=500)
def test_the_compiled_rule_equals_its_twin_on_any_text(text):
    assert scanned(text)[0] == tokenize(text)


@given(
    st.lists(st.sampled_from(ALPHABET), max_size=40).map("".join),
    st.sampled_from(["skip", "keep", "mask"]),
    st.sampled_from(["keep", "split"]),
)
@settings(max_examples=300)
def test_the_compiled_rule_equals_its_twin_under_every_option(text, way, hyphens):
    options = {"numbers": way, "urls": way, "user_names": way, "hyphens": hyphens}
    assert scanned(text, **options)[0] == tokenize(text, **options)


def test_a_lexicon_that_grows_many_times_loses_no_word():
    scanner = Scanner(TokenRule())
    vocabulary = [f"word{chr(97 + n % 26)}{n}x" for n in range(200_000)]
    batch = make_batch([" ".join(vocabulary).encode()], [(0, 1)], ["text"], [0])
    ids = scanner.scan(batch).ids
    assert [scanner.lexicon.word(int(number)) for number in ids[:-1:997]] == vocabulary[::997]
    assert len(ids) == len(vocabulary) + 1
    assert int(scanner.lexicon.totals.sum()) == len(vocabulary)
