"""What was understood of files: dry runs, encodings, arrays, markup, and documents that are damaged."""

import contextlib
import json
import random

import numpy as np
import pytest
from cli.command_line import run
from cli.typed_lines import CHINESE, GERMAN, JAPANESE, THAI, table, write_files
from office_files import docx, odt, pdf, rtf, xlsx

import wordtide
from wordtide.corpus.byte_streams import no_progress
from wordtide.corpus.columns import Fields
from wordtide.corpus.documents import BadRows
from wordtide.corpus.encodings import HEAD_BYTES, detect_encoding
from wordtide.corpus.jsonlines import read_json_lines
from wordtide.corpus.sources import find_corpus
from wordtide.counts.count import preview
from wordtide.errors import WordtideError

MIXED = {
    "1901.txt": GERMAN.encode("cp1252"),
    "1902 or 1903.txt": "Steam power",
    "letters/Brief 12.03.1904.docx": docx("Liebe Mutter"),
    "x.csv": table(("1905", "Steam, power"), ("1850s", "mill"), delimiter=";"),
    "y.json": '[{"date": "1906-01-02", "text": "fish &amp; chips"}, {"date": "soon", "text": "x"}]',
    "z.jsonl": json.dumps({"date": "1907", "text": CHINESE}),
}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed")
    write_files(folder, MIXED)
    return folder


def test_a_dry_run_shows_what_is_understood_and_writes_nothing(mixed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("count", mixed, "--dry-run")
    assert done.code == 0, done.err
    for part in (
        "2 text files, 1 JSON array file, 1 csv file, 1 docx file, 1 jsonl file",
        "encoding utf-8 (4), cp1252 (1); delimiter ';'; columns date, text",
        "dates from 1850s (x.csv:3) to 1907 (z.jsonl:1); precision: year 4, day 2, several years 1",
        "  1901  1901.txt  Die Grüße aus Köln waren schön",
        "7 documents, ",
        "█",
        "warning: dates less precise than a slice: 1 of 7 documents, such as 1850s (x.csv:3)",
        "1903 for '1902 or 1903.txt', not 1902",
        "bad: 1 row, date not understood; the first: ",
        "y.json, item 2: 'soon' is not a date",
    ):
        assert part in done.out
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_in_json_holds_the_same(mixed):
    found = json.loads(run("count", mixed, "--dry-run", "--report", "json", "--every", "decade").out)
    assert found["files"] == {"text": 2, "docx": 1, "csv": 1, "JSON array": 1, "jsonl": 1}
    assert found["earliest"] == {"date": "1850s", "document": "x.csv:3"}
    assert [one["label"] for one in found["slices"]] == ["1850-1859", "1900-1909"]
    assert sum(one["words"] for one in found["slices"]) == found["words"]
    assert found["ambiguous_names"] == [{"name": "1902 or 1903.txt", "chosen": "1903", "others": ["1902"]}]
    assert (len(found["samples"]), found["coarse_dates"], found["bad_rows"][0]["rows"]) == (3, 0, 1)


def test_a_dry_run_finds_what_the_count_finds(mixed):
    counts = wordtide.count(mixed, skip_bad=True)
    found = preview(mixed)
    assert found.slices.labels == counts.slices.labels
    assert np.array_equal(found.slices.tokens, counts.tokens)


def test_the_summary_does_not_depend_on_workers(mixed):
    one, three = (wordtide.count(mixed, skip_bad=True, workers=workers) for workers in (1, 3))
    assert one.findings.as_json() == three.findings.as_json()


@pytest.mark.slow
def test_the_summary_and_the_counts_do_not_depend_on_a_cluster(mixed, tmp_path):
    alone = wordtide.count(mixed, output=tmp_path / "alone", skip_bad=True)
    shared = wordtide.count(mixed, output=tmp_path / "shared", skip_bad=True, scheduler="local:2")
    assert json.dumps(alone.findings.as_json(), sort_keys=True) == json.dumps(
        shared.findings.as_json(), sort_keys=True
    )
    for file in sorted((tmp_path / "alone").iterdir()):
        assert file.read_bytes() == (tmp_path / "shared" / file.name).read_bytes()


def test_valid_utf_8_is_never_taken_for_anything_else():
    for text in (GERMAN, CHINESE, THAI, "ASCII only", "Â£ Ã¼", "\ufeff" + GERMAN):
        assert detect_encoding(text.encode(), whole=True) == "utf-8"


def test_a_character_that_is_cut_at_the_end_of_the_head_is_no_sign_of_another_encoding(tmp_path):
    text = "x" * (HEAD_BYTES - 15) + "ü" * 20
    (tmp_path / "x.csv").write_text(table(("1901", text)), encoding="utf-8")
    assert wordtide.count(tmp_path / "x.csv").findings.encodings == {"utf-8": 1}


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "L'été dernier, à l'école, les élèves étaient très fâchés et déçus."),
        ("cp1252", "It’s a “quoted” word — really…"),
        ("cp1250", "Zażółć gęślą jaźń, powiedział król w Łodzi źle śpiąc."),
        ("iso8859_2", "Zażółć gęślą jaźń, powiedział król w Łodzi źle śpiąc."),
        ("cp1251", "Все счастливые семьи похожи друг на друга, каждая несчастливая по-своему."),
        ("koi8_r", "Все счастливые семьи похожи друг на друга, каждая несчастливая по-своему."),
        ("cp1253", "Η Ελλάδα είναι μια όμορφη χώρα με πολλά νησιά."),
        ("cp932", JAPANESE + "どこで生れたかとんと見当がつかぬ。"),
        ("gb18030", CHINESE),
        ("utf-16", GERMAN),
        ("utf-32", GERMAN),
    ],
)
def test_common_encodings_are_told_apart(encoding, text):
    found = detect_encoding(text.encode(encoding), whole=True)
    assert text.encode(encoding).decode(found) == text
    assert found == detect_encoding(text.encode(encoding), whole=True)


def test_a_long_array_is_read_piece_by_piece(tmp_path):
    item = json.dumps({"date": "1901", "text": "steam power " * 100})
    (tmp_path / "x.json").write_text("[" + ",\n".join([item] * 5000) + "]", encoding="utf-8")
    (file,) = find_corpus(tmp_path / "x.json").files
    blocks = list(read_json_lines(file, Fields(), BadRows(), no_progress))
    assert max(len(block.args[0]) for block in blocks) < 2 << 20 < file.byte_count()
    counts = wordtide.count(tmp_path / "x.json")
    assert (counts.summary.documents, int(counts.tokens.sum())) == (5000, 1_000_000)


def test_later_texts_are_counted_without_the_same_stop_words(tmp_path):
    (tmp_path / "stop.txt").write_text("the\n", encoding="utf-8")
    counts = wordtide.count([("1901", "the fish RT")], stop_words=tmp_path / "stop.txt", drop="RT")
    assert counts.recipe()["stop_words"] == ("the",)
    assert counts.recipe()["drop"] == "RT"
    (tmp_path / "stop.txt").unlink()
    again = wordtide.count([("1902", "the fish")], stop_words=list(counts.recipe()["stop_words"]))
    assert again.words == ["fish"]


def test_a_pattern_with_nested_repeats_takes_linear_time():
    text = "a" * 200_000 + "!"
    assert wordtide.count([("1901", text + " fish")], drop="(a+)+b").words == ["fish"]


DOCUMENTS = {
    "1901.docx": docx("steam power", "mill"),
    "1901.odt": odt("steam power"),
    "1901.pdf": pdf("steam power"),
    "1901.rtf": rtf("steam power"),
    "1901.html": b"<!DOCTYPE html><html><body><p>steam &amp; <b>power</p></html>",
    "x.xlsx": xlsx(["date", "text"], ["1901", "steam power"]),
    "x.json": b'[{"date": "1901", "text": "steam \\"power"}, {"date": "1902", "text": "b"}]',
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_damaged_document_is_read_or_refused_with_one_explained_error(name, tmp_path):
    draw, whole = random.Random(0), DOCUMENTS[name]
    for turn in range(40):
        data = bytearray(whole[: draw.randrange(1, len(whole))] if turn % 4 == 0 else whole)
        for _ in range(draw.randrange(1, 20)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        (tmp_path / name).write_bytes(data)
        with contextlib.suppress(WordtideError):
            wordtide.count(tmp_path / name, workers=1)
