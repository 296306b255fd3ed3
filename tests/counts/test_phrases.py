"""Phrases: found, listed, joined, counted as words, and asked for with spaces."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import phrases as oracle
from oracles.pairs import count_pairs

import wordtide
from wordtide.corpus.tokens.lexicon import Lexicon
from wordtide.counts import segments, sums
from wordtide.counts import texts as slice_counting
from wordtide.counts.counts import merge_counts
from wordtide.counts.examples.concordance import find_examples
from wordtide.counts.phrases import collocations
from wordtide.counts.phrases.phrase_table import PhraseTable, join_parts, join_phrases, name_of
from wordtide.errors import InputError, SettingsError, UnknownWordError

TEXTS = [
    ("1850", "The United States of America. The united states navy; New York City grew. York."),
    ("1950", "United States and New York. Climate change, climate Change."),
]


def files_of(folder):
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def totals_of(counts):
    return dict(zip(counts.words, sum(counts.unigrams(t) for t in range(len(counts))), strict=True))


def pairs_of(counts):
    n = sum(counts[t].toarray() for t in range(len(counts)))
    return {(counts.words[i], counts.words[j]): n[i, j] for i, j in np.argwhere(n > 0)}


# Joining


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([*"abcd", None]), max_size=30),
    st.lists(
        st.lists(st.sampled_from("abcd"), min_size=2, max_size=4).map(" ".join), unique=True, max_size=6
    ),
)
def test_streams_are_joined_like_the_twin(sentence, phrases):
    lexicon = Lexicon("abcd")
    numbers = {"a": 0, "b": 1, "c": 2, "d": 3, None: -2}
    ids = np.array([numbers[word] for word in sentence], dtype=np.int32)
    found = join_phrases(ids, PhraseTable.of(phrases, lexicon, 4))
    named = [None if number < 0 else [*"abcd", *phrases][number] for number in found]
    assert named == oracle.join(sentence, phrases)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.sampled_from([0, 1, 2, -2]), max_size=6), max_size=5))
def test_parts_are_joined_one_by_one(parts):
    table = PhraseTable.of(["a b", "b c", "a b c"], Lexicon("abc"), 3)
    streams = [np.array([*part, -1], dtype=np.int32) for part in parts]
    starts = np.cumsum([0, *map(len, streams)])
    joined, new_starts = join_parts(np.concatenate([np.zeros(0, np.int32), *streams]), starts, table)
    assert [joined[a:b].tolist() for a, b in pairwise(new_starts)] == [
        join_phrases(stream, table).tolist() for stream in streams
    ]


def test_phrases_with_words_that_a_stream_lacks_are_left_out():
    table = PhraseTable.of(["a b", "a never"], Lexicon(["a", "b", "new"]), 2)
    assert join_phrases(np.array([0, 1, 0], dtype=np.int32), table).tolist() == [2, 0]


# Lists


def test_listed_phrases_are_words_and_their_parts_occur_less_often():
    counts = wordtide.count(
        TEXTS, phrases=["United States", "new york", "New York City", "never seen", "may 1"]
    )
    totals = totals_of(counts)
    assert (totals["united_states"], totals["new_york"], totals["new_york_city"]) == (3, 1, 1)
    assert totals["york"] == 1
    assert not {"united", "new"} & set(totals)
    assert counts.settings.phrases == ("united states", "new york", "new york city")
    assert (counts.summary.phrases, counts.summary.phrases_left_out) == (3, 2)
    assert (counts.summary.phrase_occurrences, counts.summary.words_in_phrases) == (5, 11)


@pytest.mark.parametrize("close_gaps", [False, True])
def test_pairs_are_those_of_the_joined_text(close_gaps):
    rows = oracle.planted(3, 60)
    phrases = ["alpha beta", "gamma delta", "gamma delta epsilon", "beta w0", "w1 w0"]
    options = {"vocabulary_size": 60, "close_gaps": close_gaps}
    counts = wordtide.count(
        [(str(year), oracle.as_text(sentences)) for year, sentences in rows], phrases=phrases, **options
    )
    joined = [
        [name_of(unit) for unit in oracle.join(sentence, counts.settings.phrases)]
        for _, sentences in rows
        for sentence in sentences
    ]
    assert {"alpha_beta", "gamma_delta_epsilon"} <= set(counts.words)
    assert pairs_of(counts) == count_pairs(joined, set(counts.words), close_gaps=close_gaps)
    occurrences = Counter(word for sentence in joined for word in sentence)
    assert totals_of(counts) == {word: occurrences[word] for word in counts.words}


def test_phrases_too_rare_for_the_vocabulary_are_not_joined():
    texts = [("1900", "rare pair\na b\na b\na c\na\nrare\npair\nb")]
    counts = wordtide.count(texts, phrases=["rare pair", "a b"], vocabulary_size=4, pretokenized=True)
    assert totals_of(counts) == {"a": 2, "a_b": 2, "pair": 2, "rare": 2}
    assert counts.settings.phrases == ("a b",)
    assert counts.summary.phrases_left_out == 1


def test_a_list_is_read_by_the_token_rule(tmp_path):
    path = tmp_path / "phrases.txt"
    path.write_text("﻿United  STATES\n\n u.s. navy \nwell-known man\nunited_states\n", encoding="utf-8")
    text = "The United States. The U.S. Navy. A well-known man."
    counts = wordtide.count([("1900", text)], phrases=path)
    assert counts.settings.phrases == ("united states", "u.s. navy", "well-known man")
    split = wordtide.count([("1900", text)], phrases=path, hyphens="split")
    assert "well known man" in split.settings.phrases


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"united states\nnavy\n", "line 2: 'navy' is a single word"),
        (b"united states\n\n...\n", r"line 3: '\.\.\.' is a single word"),
        (b"one two. Three four\n", "line 1: .* is more than one sentence"),
        (b"a " + b"b" * 130 + b"\n", "line 1: the phrase is longer than 128 bytes"),
        (b"a \x1b[2J b\n", "line 1: the phrase holds control characters"),
        (b"\n \n", "holds no phrases"),
        (b"caf\xe9 noir\n", "cannot be read"),
    ],
)
def test_invalid_lines_are_reported_with_their_place(tmp_path, content, message):
    (tmp_path / "list").write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        wordtide.count(TEXTS, phrases=str(tmp_path / "list"))
    assert str(tmp_path / "list") in str(caught.value)


def test_a_missing_list_is_reported():
    with pytest.raises(InputError, match="nowhere"):
        wordtide.count(TEXTS, phrases="nowhere.txt")


def test_phrases_cross_punctuation_but_not_sentences_and_skipped_numbers():
    text = [("1900", "One two. One 5 two. One, two. One\n\ntwo.")]
    assert totals_of(wordtide.count(text, phrases=["one two"]))["one_two"] == 2


def split_at_spaces(text):
    return text.split()


def test_words_of_custom_tokenizers_are_listed_as_they_are():
    counts = wordtide.count([("1900", "A-b C d")], tokenizer=split_at_spaces, phrases=["A-b C"])
    assert counts.words == ["A-b_C", "d"]


GRAMS = """\
in new york city today\t1900,3,1\t1901,2,1
new york city today and\t1900,3,1\t1901,2,1
the new , york club\t1900,5,1
york city today and tomorrow\t1900,3,1
"""


@pytest.fixture
def grams(tmp_path):
    (tmp_path / "grams").write_text(GRAMS, encoding="utf-8")
    return tmp_path / "grams"


@pytest.mark.parametrize("by", ["total", "share"])
def test_phrases_are_joined_inside_each_n_gram(grams, by):
    options = {"format": "ngrams", "vocabulary_by": by}
    counts = wordtide.count(grams, phrases=["New York", "new york city", "on time"], **options)
    plain = wordtide.count(grams, **options)
    assert counts.settings.phrases == ("new york city",)
    assert "new_york" not in counts.words
    # in two 5-grams; a third ends before it, so that its words are counted apart there
    found, alone = (occurrences_at_places(one) for one in (counts, plain))
    assert found["new_york_city"] == [6, 4]
    assert [found["new"], found["york"], found["city"]] == [[5, 0], [8, 0], [3, 0]]
    assert alone["york"] == [14, 4]
    assert found["today"] == alone["today"] == [9, 4]
    city, today = counts.word_number("new york city"), counts.word_number("today")
    assert counts.upper(0)[min(city, today), max(city, today)] == 6


def occurrences_at_places(counts):
    table = [counts.unigrams(t) * counts.places for t in range(len(counts))]
    return {word: [round(values[n]) for values in table] for n, word in enumerate(counts.words)}


def test_a_fixed_vocabulary_of_n_grams_includes_its_phrases(grams, tmp_path):
    options = {"format": "ngrams", "workers": 1}
    counts = wordtide.count(grams, output=tmp_path / "counts", phrases=["new york city"], **options)
    again = wordtide.count(grams, vocabulary=str(tmp_path / "counts"), format="ngrams", workers=3)
    assert again.words == counts.words
    assert all((one != other).nnz == 0 for one, other in zip(again, counts, strict=True))


def test_phrases_of_n_grams_must_be_listed(grams):
    with pytest.raises(SettingsError, match=r"(?s)running text.*phrases='FILE'"):
        wordtide.count(grams, format="ngrams", phrases="auto")


# Fixed vocabularies, merging, and later texts


def test_a_fixed_vocabulary_needs_no_words_of_its_phrases(tmp_path):
    (tmp_path / "words").write_text("united_states\nnavy\n", encoding="utf-8")
    counts = wordtide.count(TEXTS, vocabulary=tmp_path / "words", phrases=["united states", "new york"])
    assert totals_of(counts) == {"united_states": 3, "navy": 1}
    assert counts.settings.phrases == ("united states",)
    assert counts[0][0, 1] == 1.0
    with pytest.raises(SettingsError, match="vocabulary= fixes it"):
        wordtide.count(TEXTS, vocabulary=tmp_path / "words", phrases="auto")


def test_parts_counted_with_the_phrases_of_a_folder_add_up_to_the_whole(tmp_path):
    whole = wordtide.count(TEXTS, output=tmp_path / "whole", phrases=["united states", "new york"])
    parts = [
        wordtide.count([row], vocabulary=tmp_path / "whole", **given)
        for row, given in zip(TEXTS, [{}, {"phrases": tmp_path / "whole"}], strict=True)
    ]
    merged = merge_counts(parts)
    assert merged.words == whole.words
    assert merged.summary.phrase_occurrences == whole.summary.phrase_occurrences
    assert [(a != b).nnz for a, b in zip(merged, whole, strict=True)] == [0, 0]
    other = wordtide.count([TEXTS[1]], vocabulary=tmp_path / "whole", phrases="none")
    with pytest.raises(SettingsError, match="different phrases"):
        merge_counts([parts[0], other])


# Names


def test_a_phrase_can_be_asked_for_with_spaces():
    counts = wordtide.count(TEXTS, phrases=["climate change"])
    number = counts.words.index("climate_change")
    for spelling in ("climate_change", "climate change", "Climate  Change", "Climate_Change"):
        assert counts.word_number(spelling) == number
    with pytest.raises(UnknownWordError, match="phrases='auto'"):
        counts.word_number("heavy water")


def test_examples_find_phrases(tmp_path):
    counts = wordtide.count(
        TEXTS, output=tmp_path / "counts", phrases=["new york", "new york city"], examples=2
    )
    (found,) = find_examples(counts, "new york city", [0])
    assert (found.word, found.after) == ("New York City", " grew.")
    (found,) = find_examples(counts, "New York", [1])
    assert found.word == "New York"
    assert find_examples(counts, "york", [0])[0].before == ""


# The search


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    rows = oracle.planted(1)
    for number in range(4):
        lines = [{"date": str(year), "text": oracle.as_text(s)} for year, s in rows[number::4]]
        (folder / f"{number}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


AUTO = {"phrases": "auto", "vocabulary_size": 300, "examples": 1}


@pytest.mark.parametrize("seed", range(4))
def test_the_phrases_found_are_those_of_the_twin(seed):
    rows = oracle.planted(seed)
    texts = [(str(year), oracle.as_text(sentences)) for year, sentences in rows]
    plain = wordtide.count(texts, vocabulary_size=1000)
    first, last = plain.times[[0, -1]]
    eras = [min(int((year + 0.5 - first) / (last - first) * 8), 7) for year, _ in rows]
    documents = [(era, sentences) for era, (_, sentences) in zip(eras, rows, strict=True)]
    expected = oracle.occurring(documents, oracle.find_phrases(documents, set(plain.words)))
    counts = wordtide.count(texts, phrases="auto", vocabulary_size=1000)
    assert set(counts.settings.phrases) == expected
    assert {"alpha beta", "gamma delta epsilon", "north east south west"} <= expected
    assert "w0 w1" not in expected  # frequent words


def test_a_phrase_of_one_era_is_found():
    rng = np.random.default_rng(2)
    words = np.array([f"w{n}" for n in range(2000)])
    texts = []
    for year in range(1920, 2000):
        units = [*rng.choice(words, 2000), *["late"] * 2, *["phrase"] * 2]
        units += ["late phrase"] * 3 * (year >= 1990)
        texts.append((str(year), " ".join(rng.permutation(units))))
    counts = wordtide.count(texts, phrases="auto")
    assert counts.settings.phrases == ("late phrase",)
    both, apart, tokens = 30, 190, int(counts.tokens.sum())
    assert not oracle.enough(both, apart, apart, tokens)  # in all of time


@pytest.mark.parametrize("by", ["total", "share"])
def test_workers_order_and_memory_change_no_byte(corpus, tmp_path, monkeypatch, by):
    options = AUTO | {"vocabulary_by": by}
    wordtide.count(corpus, output=tmp_path / "plain", workers=1, **options)
    expected = files_of(tmp_path / "plain")
    for workers in (2, 5):
        wordtide.count(corpus, output=tmp_path / f"{workers}", workers=workers, **options)
        assert files_of(tmp_path / f"{workers}") == expected
    monkeypatch.setattr(segments, "SEGMENT_IDS", 500)
    monkeypatch.setattr(slice_counting, "_PART_IDS", 300)
    monkeypatch.setattr(sums, "_BLOCK", 64)
    reverse = [str(path) for path in sorted(corpus.iterdir(), reverse=True)]
    wordtide.count(reverse, output=tmp_path / "spilled", workers=2, memory=4000, **options)
    assert files_of(tmp_path / "spilled") == expected
    assert "gamma_delta_epsilon" in wordtide.Counts.load(tmp_path / "plain").words


@pytest.mark.slow
@pytest.mark.parametrize(
    "given", [AUTO, AUTO | {"vocabulary_by": "share"}, {"phrases": ["alpha beta", "w0 w1"]}]
)
def test_a_cluster_gives_the_same_bytes(corpus, tmp_path, given):
    wordtide.count(corpus, output=tmp_path / "here", **given)
    wordtide.count(corpus, output=tmp_path / "there", scheduler="local:2", **given)
    assert files_of(tmp_path / "there") == files_of(tmp_path / "here")


def test_found_phrases_can_be_passed_to_another_count(corpus, tmp_path):
    found = wordtide.count(corpus, output=tmp_path / "found", **AUTO)
    again = wordtide.count(corpus, phrases=tmp_path / "found", vocabulary_size=300)
    assert again.words == found.words
    assert [(a != b).nnz for a, b in zip(again, found, strict=True)] == [0] * len(found)


def test_no_phrases_are_found_in_shuffled_words():
    rng = np.random.default_rng(0)
    words = np.array([f"w{n}" for n in range(200)])
    share = 1 / np.arange(1, 201)
    texts = [(str(1900 + n), " ".join(rng.choice(words, 400, p=share / share.sum()))) for n in range(40)]
    assert wordtide.count(texts, phrases="auto").settings.phrases == ()


def test_scores_are_normalized():
    always = np.array([50])
    score, _ = collocations.score_pairs(always, always, always, 10_000)
    assert score == pytest.approx(1.0)
    score, _ = collocations.score_pairs(np.array([4]), np.array([200]), np.array([200]), 10_000)
    assert score == pytest.approx(0.0)


@pytest.mark.parametrize("phrases", ["auto", ["alpha beta", "w0 w1 w0", "beta w0"]])
def test_the_vocabulary_is_ordered_by_occurrences_outside_phrases(phrases):
    texts = [(str(year), oracle.as_text(sentences)) for year, sentences in oracle.planted(9)]
    totals = totals_of(wordtide.count(texts, phrases=phrases))
    assert list(totals) == sorted(totals, key=lambda word: (-totals[word], word))
