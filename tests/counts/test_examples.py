"""Example sentences: from the text, drawn at random by the seed, found by word."""

from collections import Counter

import pytest

import wordtide
from wordtide.counts.examples.concordance import find_examples, split_at_word
from wordtide.errors import InputError, SettingsError

CORPUS = [
    (str(1900 + n % 3), f"Alpha number{n} beta. Gamma alpha delta{n}. Nothing here.") for n in range(60)
]


def kept(tmp_path, name, word="alpha", **options):
    counts = wordtide.count(CORPUS, output=tmp_path / name, **options)
    return find_examples(counts, word, range(len(counts)))


def test_each_word_and_slice_has_the_requested_number_of_sentences_with_the_word(tmp_path):
    found = kept(tmp_path, "counts", examples=4)
    assert Counter(example.slice for example in found) == {"1900": 4, "1901": 4, "1902": 4}
    texts = {sentence + "." for _, text in CORPUS for sentence in text.split(". ")}
    for example in found:
        assert example.word.lower() == "alpha"
        assert (example.before + example.word + example.after).rstrip(".") + "." in texts
        assert example.date.startswith(example.slice)
    assert len({(example.before, example.after) for example in found}) == 12


def test_a_rare_word_has_all_its_sentences(tmp_path):
    found = kept(tmp_path, "counts", word="number7", examples=4)
    assert [example.before + example.word + example.after for example in found] == ["Alpha number7 beta."]
    assert found[0].document == "the documents:8"


def test_the_seed_determines_the_draw(tmp_path):
    one, again, other = (
        kept(tmp_path, name, examples=2, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert one == again
    assert one != other


def test_the_draw_is_uniform(tmp_path):
    text = " ".join(f"Word s{n}." for n in range(10))
    corpus = [(f"{1900 + document}", text) for document in range(200)]
    counts = wordtide.count(corpus, output=tmp_path / "counts", examples=1)
    drawn = Counter(example.after for example in find_examples(counts, "word", range(200)))
    assert drawn.total() == 200
    # 20 expected in each of 10 cells: chi-square with 9 degrees of freedom is below 27.9 with probability
    # 0.999.
    assert sum((drawn[f" s{n}."] - 20) ** 2 / 20 for n in range(10)) < 27.9


def test_counts_without_examples_say_how_to_keep_them(tmp_path):
    counts = wordtide.count(CORPUS, output=tmp_path / "counts")
    with pytest.raises(InputError, match="examples="):
        find_examples(counts, "alpha", [0])


def test_examples_in_memory_are_refused():
    with pytest.raises(SettingsError, match="output"):
        wordtide.count(CORPUS, examples=2)


def test_the_keyword_is_found_as_a_whole_word_in_any_case():
    assert split_at_word("The warrior went to War.", "war") == ("The warrior went to ", "War", ".")
    assert split_at_word("They don’t know.", "don't") == ("They ", "don’t", " know.")
    assert split_at_word("Mice ran.", "mouse") == ("Mice ran.", "", "")
