"""The result has the same bits for any number of workers, order of input, memory and division into parts."""

import json
import random
from pathlib import Path

import pytest

import wordtide
from wordtide.counts import segments, sums
from wordtide.counts import texts as slice_counting
from wordtide.counts.counts import merge_counts


@pytest.fixture
def corpus(tmp_path):
    """A folder of JSON Lines files with documents in random order."""
    rng = random.Random(7)
    words = [f"w{n}" for n in range(300)]
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(9):
        rows = []
        for _ in range(40):
            sentences = [
                " ".join(rng.choices(words, weights=range(300, 0, -1), k=rng.randint(1, 15))).capitalize()
                + "."
                for _ in range(rng.randint(0, 6))
            ]
            rows.append(
                {
                    "date": f"{rng.randint(1990, 1999)}-{rng.randint(1, 12):02d}-01",
                    "text": " ".join(sentences),
                }
            )
        (folder / f"part{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def files_of(folder):
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


OPTIONS = {"vocabulary_size": 120, "examples": 2, "every": "month"}


@pytest.mark.parametrize("every", ["month", "5-years", "document"])
def test_workers_order_and_memory_change_no_byte(corpus, tmp_path, monkeypatch, every):
    options = OPTIONS | {"every": every}
    wordtide.count(corpus, output=tmp_path / "plain", workers=1, **options)
    expected = files_of(tmp_path / "plain")
    wordtide.count(corpus, output=tmp_path / "three", workers=3, **options)
    assert files_of(tmp_path / "three") == expected
    shuffled = [str(path) for path in corpus.iterdir()]
    random.Random(3).shuffle(shuffled)
    wordtide.count(shuffled, output=tmp_path / "shuffled", workers=2, **options)
    assert files_of(tmp_path / "shuffled") == expected
    monkeypatch.setattr(segments, "SEGMENT_IDS", 500)
    monkeypatch.setattr(slice_counting, "_PART_IDS", 300)
    monkeypatch.setattr(sums, "_BLOCK", 64)
    wordtide.count(corpus, output=tmp_path / "tight", workers=2, memory=1, **options)
    assert files_of(tmp_path / "tight") == expected


@pytest.mark.parametrize("every", ["month", "document"])
def test_counting_parts_and_merging_gives_the_counts_of_the_whole(corpus, tmp_path, every):
    options = OPTIONS | {"every": every}
    whole = wordtide.count(corpus, output=tmp_path / "whole", **options)
    files = sorted(corpus.iterdir())
    fixed = options | {"vocabulary": str(tmp_path / "whole")}
    parts = [
        wordtide.count(files[start::3], output=tmp_path / f"part{start}", **fixed) for start in (2, 0, 1)
    ]
    merged = merge_counts(parts, tmp_path / "merged")
    expected, found = files_of(tmp_path / "whole"), files_of(tmp_path / "merged")
    assert found.keys() == expected.keys()
    assert [name for name in expected if name != "header.json" and expected[name] != found[name]] == []
    assert merged.summary.tokens == whole.summary.tokens
    assert (parts[0] + parts[1]).tokens.sum() == parts[0].tokens.sum() + parts[1].tokens.sum()


def test_merging_unites_close_documents_across_parts(tmp_path):
    options = {"every": "document", "merge_within": "7d"}
    left = [("2000-01-01", "a b"), ("2000-01-13", "a b")]
    right = [("2000-01-07", "a b"), ("2000-03-01", "a b")]
    whole = wordtide.count(left + right, **options)
    merged = wordtide.count(left, **options) + wordtide.count(right, **options)
    assert len(whole) == len(merged) == 2
    assert whole.times.tolist() == merged.times.tolist()
    assert [(a != b).nnz for a, b in zip(whole, merged, strict=True)] == [0, 0]


def test_ngrams_give_the_same_bytes_for_every_number_of_workers(tmp_path, monkeypatch):
    rng = random.Random(5)
    folder = tmp_path / "grams"
    folder.mkdir()
    for number in range(4):
        lines = []
        for _ in range(500):
            gram = " ".join(rng.choices("abcdefghij", k=5))
            lines.append(
                "\t".join(
                    [
                        gram,
                        *(
                            f"{year},{rng.randint(1, 9)},1"
                            for year in sorted(rng.sample(range(1900, 1920), 4))
                        ),
                    ]
                )
            )
        (folder / f"{number}").write_text("\n".join(lines) + "\n")
    options = {"format": "ngrams", "vocabulary_by": "share", "vocabulary_size": 8}
    wordtide.count(folder, output=tmp_path / "one", workers=1, **options)
    expected = files_of(tmp_path / "one")
    monkeypatch.setattr("wordtide.counts.ngrams.tables.SEGMENT_ENTRIES", 300)
    monkeypatch.setattr("wordtide.counts.ngrams.pair_lists._GRAM_BITS", 5)
    monkeypatch.setattr(sums, "_BLOCK", 64)
    wordtide.count(folder, output=tmp_path / "two", workers=2, memory=1, **options)
    assert files_of(tmp_path / "two") == expected
