"""N-gram tables give the counts of their text, without tagged n-grams, in both versions."""

import gzip
import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.pairs import count_pairs, ngrams_of

import wordtide
from wordtide.counts.cluster.job import read_parts, write_parts
from wordtide.errors import InputError

SENTENCE = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=15)
YEARS = st.dictionaries(
    st.sampled_from([1900, 1905, 1906, 1950]), st.lists(SENTENCE, min_size=1, max_size=4), min_size=1
)


def write_v2(path, table):
    lines = [
        f"{' '.join(gram)}\t{year}\t{n}\t1\n"
        for gram, years in sorted(table.items())
        for year, n in sorted(years.items())
    ]
    path.write_bytes(gzip.compress("".join(lines).encode()))
    return path


def write_v3(path, table):
    lines = [
        "\t".join([" ".join(gram), *(f"{year},{n},1" for year, n in sorted(years.items()))]) + "\n"
        for gram, years in sorted(table.items(), reverse=True)
    ]
    path.write_bytes(gzip.compress("".join(lines).encode()))
    return path


def table_of(corpus, n):
    """All n-grams of sentences, with padding in place of the neighbors that running text has at their ends."""
    table = {}
    for year, sentences in corpus.items():
        for sentence in sentences:
            padded = ["_"] * (n - 1) + sentence + ["_"] * (n - 1)
            for gram in ngrams_of(padded, n):
                table.setdefault(gram, Counter())[year] += 1
    return table


def same(one, other):
    if one.words != other.words or len(one) != len(other):
        return False
    return all((a != b).nnz == 0 for a, b in zip(one, other, strict=True))


@given(YEARS, st.sampled_from([2, 3, 5]))
@settings(max_examples=40)
def test_all_ngrams_of_a_text_give_the_counts_of_the_text(tmp_path_factory, corpus, n):
    folder = tmp_path_factory.mktemp("ngrams")
    text = [(str(year), "\n\n".join(" ".join(s) for s in sentences)) for year, sentences in corpus.items()]
    by_text = wordtide.count(text, window=n - 1, workers=1)
    (folder / "words").write_text("\n".join(by_text.words))
    path = write_v2(folder / "grams.gz", table_of(corpus, n))
    by_ngrams = wordtide.count(path, format="ngrams", vocabulary=str(folder / "words"), workers=1)
    assert by_ngrams.window == n - 1
    assert same(by_text, by_ngrams)
    for t in range(len(by_text)):
        np.testing.assert_allclose(by_ngrams.unigrams(t), by_text.unigrams(t), rtol=1e-12)


@given(YEARS)
@settings(max_examples=30)
def test_both_versions_give_the_same_counts(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("ngrams")
    table = table_of(corpus, 5)
    v2 = wordtide.count(write_v2(folder / "two.gz", table), format="ngrams", workers=1)
    v3 = wordtide.count(write_v3(folder / "three.gz", table), format="ngrams", workers=2)
    assert same(v2, v3)
    assert v2.tokens.tolist() == v3.tokens.tolist()


@given(YEARS)
@settings(max_examples=30)
def test_literal_weights_apply_the_window_rule_inside_each_ngram(tmp_path_factory, corpus):
    path = write_v2(tmp_path_factory.mktemp("ngrams") / "grams.gz", table_of(corpus, 5))
    counts = wordtide.count(path, format="ngrams", ngram_weights="literal", workers=1)
    for t, year in enumerate(sorted(corpus)):
        grams = [
            [None if w == "_" else w for w in gram]
            for gram, years in table_of(corpus, 5).items()
            for _ in range(years[year])
        ]
        expected = count_pairs(grams, set(counts.words), 4)
        matrix = counts[t].tocoo()
        found = {
            (counts.words[i], counts.words[j]): n
            for i, j, n in zip(matrix.row, matrix.col, matrix.data, strict=True)
        }
        assert found == {pair: float(weight) for pair, weight in expected.items()}


@given(st.randoms(use_true_random=False), st.sampled_from(["overlap", "literal"]))
@settings(max_examples=25)
def test_long_and_short_year_lists_add_up_alike(tmp_path_factory, rng, weights):
    table = {}
    for _ in range(30):
        years = rng.sample(range(1900, 1930), rng.choice([1, 3, 8, 9, 20]))
        table[tuple(rng.choices("abcd_", k=5))] = {year: rng.randint(1, 1000) for year in years}
    path = write_v3(tmp_path_factory.mktemp("ngrams") / "grams.gz", table)
    counts = wordtide.count(path, format="ngrams", ngram_weights=weights, every="10-years", workers=1)
    expected = Counter()
    for gram, years in table.items():
        for (i, one), (j, other) in itertools.permutations(enumerate(gram), 2):
            weight = Fraction(4 - (abs(i - j) - 1) if weights == "literal" else 1, 4)
            for year, n in years.items():
                if "_" not in (one, other):
                    expected[year // 10, one, other] += weight * n
    found = {}
    for t, label in enumerate(counts.labels):
        matrix = counts[t].tocoo()
        for i, j, n in zip(matrix.row, matrix.col, matrix.data, strict=True):
            found[int(label[:3]), counts.words[i], counts.words[j]] = n
    assert found == expected


def test_ngrams_with_tags_or_placeholders_are_dropped_and_literal_underscores_stay(tmp_path):
    tagged = [
        "the_DET cat",
        "_DET_ cat",
        "_START_ the",
        "cat _END_",
        ",_. cat",
        "_._ cat",
        "a_X b",
        "cat_NOUN",
    ]
    plain = {"the cat": 3, "snake_case cat": 2, "cat_NOUNS the": 1}
    path = tmp_path / "grams"
    path.write_text("".join(f"{gram}\t1900\t{plain.get(gram, 5)}\t1\n" for gram in [*plain, *tagged]))
    counts = wordtide.count(path, format="ngrams")
    assert sorted(counts.words) == ["cat", "cat_nouns", "snake_case", "the"]
    assert counts.tokens.tolist() == [6]
    assert counts.summary.tagged_ngrams == 8


def test_words_are_lowered_and_punctuation_keeps_its_place(tmp_path):
    path = tmp_path / "grams"
    path.write_text("The , CAT sat ’S\t1900,2,1\nthe , cat SAT 's\t1900,1,1\n")
    counts = wordtide.count(path, format="ngrams")
    assert sorted(counts.words) == ["'s", "cat", "sat", "the"]
    assert counts[0][counts.index["the"], counts.index["cat"]] == 0.75
    assert counts.places == 5


def test_since_until_and_slices_of_several_years_apply_to_ngrams(tmp_path):
    path = tmp_path / "grams"
    path.write_text("".join(f"a b\t{year}\t1\t1\n" for year in range(1890, 1925)))
    counts = wordtide.count(path, format="ngrams", since="1900", until="1911", every="5-years")
    assert counts.labels == ["1900-1904", "1905-1909", "1910-1914"]
    assert counts.tokens.tolist() == [5, 5, 2]
    assert counts.times.tolist() == pytest.approx([1902.5, 1907.5, 1911.0], abs=0.01)


def test_counts_beyond_32_bits_are_exact(tmp_path):
    path = tmp_path / "grams"
    path.write_text("a b\t1900\t7\t1\nc d\t1901\t9000000000000\t1\n")
    counts = wordtide.count(path, format="ngrams")
    assert counts.arrays.values.dtype == np.uint64
    assert counts[1][counts.index["c"], counts.index["d"]] == 9_000_000_000_000
    assert counts[0][counts.index["a"], counts.index["b"]] == 7


@pytest.mark.parametrize("memory", [1, 1 << 30])
def test_sums_that_exceed_32_bits_only_together_are_exact(tmp_path, monkeypatch, memory):
    monkeypatch.setattr("wordtide.counts.ngrams.tables.SEGMENT_ENTRIES", 1)
    paths = [tmp_path / f"{number}.tsv" for number in range(12)]
    for path in paths:
        path.write_text("a b\t1900\t400000000\t1\n")
    counts = wordtide.count(paths, format="ngrams", memory=memory)
    assert counts[0][counts.index["a"], counts.index["b"]] == 4_800_000_000


def test_segments_on_a_cluster_keep_matches_of_any_width(tmp_path):
    parts = [{"matches": np.array([1, 2], dtype=np.uint32)}, {"matches": np.array([1 << 40])}]
    parts.append({"matches": np.array([4], dtype=np.uint32)})
    write_parts(tmp_path, parts)
    assert [part["matches"].tolist() for part in read_parts(tmp_path)] == [[1, 2], [1 << 40], [4]]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("a b\t1900\t1", "fields"),
        ("a b", "fields"),
        ("a b\t1900\t1\t1\t1", "fields"),
        ("a b\tx\t1\t1", "number"),
        ("a b\t1900,1", "fields"),
        ("a b\t1900,-1,1", "number"),
        ("a b c d e f\t1900\t1\t1", "5 words"),
    ],
)
def test_a_bad_line_is_named_or_skipped(tmp_path, line, problem):
    path = tmp_path / "grams"
    path.write_text(f"a b\t1900\t1\t1\n{line}\nb c\t1901\t1\t1\n")
    with pytest.raises(InputError, match=rf"grams, line 2: .*{problem}"):
        wordtide.count(path, format="ngrams")
    counts = wordtide.count(path, format="ngrams", skip_bad=True)
    assert sum(counts.summary.skipped.values()) == 1
    assert counts.tokens.tolist() == [1, 1]


def test_tables_are_recognized_by_googles_names_and_never_counted_as_texts(tmp_path):
    lines = "".join(f"steam power\t{year}\t3\t2\n" for year in range(1900, 1904))
    table = tmp_path / "googlebooks-eng-all-2gram-20120701-st.gz"
    with gzip.open(table, "wt", encoding="utf-8") as file:
        file.write(lines)
    found = wordtide.count(table)
    assert (found.labels, found.words) == (["1900", "1901", "1902", "1903"], ["power", "steam"])
    for name, content in (
        ("1900.txt", lines),
        ("1900", "steam power\t1900,3,2\t1901,1,1\nof it\t1900,1,1\nto\t1950,7,7\n"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match="is a table of n-grams, not a text"):
            wordtide.count(tmp_path / name)
