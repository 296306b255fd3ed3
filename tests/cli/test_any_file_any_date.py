"""Files and dates as people have them, one row for each: what is typed, and what must come out.

Each row is counted by the command as typed. A refusal names the file, the candidates and the options.
"""

import contextlib
import datetime as dt
import json
import random
from dataclasses import dataclass, field

import numpy as np
import pytest
from cli.command_line import run
from office_files import archive, docx, odt, pdf, rtf, xlsx

import wordtide
from wordtide.corpus.byte_streams import no_progress
from wordtide.corpus.columns import Fields
from wordtide.corpus.documents import BadRows
from wordtide.corpus.encodings import HEAD_BYTES, detect_encoding
from wordtide.corpus.jsonlines import read_json_lines
from wordtide.corpus.sources import find_corpus
from wordtide.counts.count import preview
from wordtide.errors import WordtideError

GERMAN = "Die Grüße aus Köln waren schön, und über die Straße ging ein müder Mann."
TWEET = "Wed Aug 27 13:08:45 +0000 2008"
CHINESE = "天下大势，分久必合，合久必分。今天天气很好。"
JAPANESE = "吾輩は猫である。名前はまだ無い。"
THAI = "ประเทศไทยมีภาษาไทย"


@dataclass(frozen=True)
class Row:
    """Files to write and options to type after `wordtide count FOLDER`; then the slices and words that must be
    counted and what must be said, or else what the refusal must say.
    """

    files: dict[str, bytes | str]
    options: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    said: tuple[str, ...] = ()
    refused: tuple[str, ...] = field(default=())


def table(*rows, delimiter=","):
    return "".join(delimiter.join(row) + "\n" for row in (("date", "text"), *rows))


def dated(date):
    return {"x.csv": table((str(date), "steam power"))}


def words(text):
    return frozenset(text.split())


ROWS = {
    # Numbers that are no clear date
    "36525": Row(dated(36525), refused=("line 2", "1999-12-31 as an Excel serial date (--date-format excel)")),
    "199912": Row(dated(199912), refused=("1999-12 as YYYYMM (--date-format '%Y%m')", "1970-01-03")),
    "991231": Row(dated(991231), refused=("1999-12-31 as YYMMDD (--date-format '%y%m%d')",)),
    "20180": Row(dated(20180), refused=("1955-04-01 as an Excel serial date", "--date-format epoch")),
    "36525 as an Excel date": Row(dated(36525), ("--date-format", "excel", "--every", "day"), ("1999-12-31",)),
    "36525.75 as an Excel date": Row(
        dated(36525.75), ("--date-format", "excel", "--every", "hour"), ("1999-12-31T18",)
    ),
    "199912 as YYYYMM": Row(dated(199912), ("--date-format", "%Y%m", "--every", "month"), ("1999-12",)),
    "991231 as YYMMDD": Row(dated(991231), ("--date-format", "%y%m%d", "--every", "day"), ("1999-12-31",)),
    "20180 as seconds": Row(dated(20180), ("--date-format", "epoch"), ("1970",)),
    # Names of files
    "MS 1234 fol 12, 1899-05.txt": Row(
        {"MS 1234 fol 12, 1899-05.txt": "steam"}, ("--every", "month"), ("1899-05",),
        said=("file names with several dates: 1", "1899-05 for 'MS 1234 fol 12, 1899-05.txt'"),
    ),
    "Vol 3 p 1000 (1902).txt": Row(
        {"Vol 3 p 1000 (1902).txt": "steam"}, (), ("1902",), said=("1902 for 'Vol 3 p 1000 (1902).txt'",)
    ),
    "1984 by Orwell, 1949.txt": Row(
        {"1984 by Orwell, 1949.txt": "steam"}, (), ("1949",), said=("1949 for '1984 by Orwell, 1949.txt'",)
    ),
    "a name with one date": Row({"1862-12-01_lincoln_12.txt": "steam"}, (), ("1862",), said=("1862-12-01",)),
    "a manuscript in a folder of its year": Row({"1899/MS 1234.txt": "steam"}, (), ("1899",)),
    # Precision
    "1901.txt by month": Row(
        {"1901.txt": "steam"}, ("--every", "month"), ("1901-07",),
        said=("dates less precise than a slice: 1 of 1 document, such as 1901 (1901.txt)",),
    ),
    "Brief 12.03.1901.txt by month": Row({"Brief 12.03.1901.txt": "steam"}, ("--every", "month"), ("1901-03",)),
    "Brief 5. März 1902.txt by day": Row({"Brief 5. März 1902.txt": "steam"}, ("--every", "day"), ("1902-03-05",)),
    # Delimiters and encodings
    "a semicolon CSV": Row(
        {"x.csv": table(("1901", "Steam, power"), ("1902", "mill"), delimiter=";")}, (), ("1901", "1902"),
        words("steam power mill"), said=("delimiter ';'",),
    ),
    "a semicolon CSV with commas in its header": Row(
        {"x.csv": "date;title, subtitle;text\n1901;a;steam\n1902;b, c, d;mill\n"}, (), ("1901", "1902"), words("steam mill")
    ),
    "a comma CSV with semicolons in its texts": Row(
        {"x.csv": table(("1901", "steam; power; a"), ("1902", "mill; b"))}, (), ("1901", "1902"), said=("delimiter ','",)
    ),
    "a tab-separated .csv": Row(
        {"x.csv": table(("1901", "Steam, power"), delimiter="\t")}, (), ("1901",), words("steam power"), said=("delimiter tab",)
    ),
    "a delimiter of one's own": Row(
        {"x.csv": table(("1901", "steam"), delimiter="^")}, ("--delimiter", "^"), ("1901",), words("steam")
    ),
    "a Windows-1252 CSV": Row(
        {"x.csv": table(("1901", GERMAN), delimiter=";").encode("cp1252")}, (), ("1901",), words("grüße köln straße"),
        said=("encoding cp1252",),
    ),
    "a Windows-1252 text": Row(
        {"1901.txt": GERMAN.encode("cp1252")}, (), ("1901",), words("grüße köln"), said=("encoding cp1252",)
    ),
    "Windows-1252 JSON Lines": Row(
        {"x.jsonl": b'{"date": "1901", "text": "' + GERMAN.encode("cp1252") + b'"}\n'}, (), ("1901",), words("grüße straße")
    ),
    "a UTF-16 CSV": Row(
        {"x.csv": table(("1901", GERMAN.replace(",", ""))).encode("utf-16")}, (), ("1901",), words("grüße"), said=("encoding utf-16",)
    ),
    "a UTF-16 text without a mark": Row(
        {"1901.txt": GERMAN.encode("utf-16-le")}, (), ("1901",), words("grüße"), said=("encoding utf-16-le",)
    ),
    "a byte-order mark": Row({"x.csv": "\ufeff" + table(("1901", "steam"))}, (), ("1901",), words("steam")),
    "an encoding of one's own": Row(
        {"1901.txt": "ŁÓDŹ".encode("cp852")}, ("--encoding", "cp852"), ("1901",), words("łódź"), said=("encoding cp852",)
    ),
    # Documents
    "a Word document": Row(
        {"1901.docx": docx("Liebe <w:b/>Mutter", "viele Grüße")}, (), ("1901",), words("liebe mutter grüße"), said=("1 docx file",)
    ),
    "a Word document with the name of a text": Row({"1901.txt": docx("steam")}, (), ("1901",), words("steam")),
    "an OpenDocument text": Row({"1901.odt": odt("steam", "power")}, (), ("1901",), words("steam power")),
    "a web page": Row(
        {"1901.html": "<!DOCTYPE html><html><head><style>p{color:red}</style></head><body><p class='x'>Fish &amp; <b>ch</b>ips"
                      "<script>var spam = 1;</script></body></html>"},
        (), ("1901",), words("fish chips"), words("class color spam p amp"),
    ),
    "a web page that declares its encoding": Row(
        {"1901.html": "<html><meta charset=iso-8859-2><p>Łódź</p></html>".encode("iso-8859-2")}, (), ("1901",), words("łódź")
    ),
    "a PDF file": Row({"1901.pdf": pdf("steam power")}, (), ("1901",), words("steam power"), said=("1 pdf file",)),
    "a Rich Text file": Row({"1901.rtf": rtf("steam \\b power")}, (), ("1901",), words("steam power"), words("rtf1 ansi times")),
    "a workbook": Row(
        {"x.xlsx": xlsx(["Date", "Text"], [dt.date(1999, 12, 31), "steam"], ["c. 1850", "mill"])}, ("--every", "year"),
        ("1850", "1999"), words("steam mill"), said=("1 xlsx file; columns Date, Text", "day 1, year 1"),
    ),
    "a workbook with the name of a table": Row(
        {"x.csv": xlsx(["date", "text"], ["1901", "steam"])}, refused=("x.csv", "workbook", "--format xlsx")
    ),
    "an old Word document": Row(
        {"1901.txt": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)}, refused=("1901.txt", "old version of Office", "save it as .docx")
    ),
    "a damaged PDF file": Row({"1901.pdf": b"%PDF-1.7 nothing"}, refused=("1901.pdf", "cannot be read", "save it as text")),
    "a bomb in a Word document": Row(
        {"1901.docx": archive(word__document_xml="<a>" + " " * 80_000_000 + "</a>")}, refused=("1901.docx", "--max-expansion")
    ),
    "entities in a Word document": Row(
        {"1901.docx": archive(word__document_xml='<!DOCTYPE a [<!ENTITY b "b"><!ENTITY c "&b;&b;">]><a>&c;</a>')},
        refused=("1901.docx", "declares XML entities"),
    ),
    "a picture": Row({"1901.txt": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0"}, refused=("1901.txt", "not text")),
    # Forms of dates, of files and of slices
    "a JSON array": Row(
        {"x.json": json.dumps([{"date": "1901", "text": 'a "steam, [mill]"'}, {"date": "1902", "text": "b\n{c}"}], indent=2)},
        (), ("1901", "1902"), words("steam mill c"), said=("1 JSON array file",),
    ),
    "a JSON array that is cut": Row({"x.json": '[{"date": "1901", "text": "steam"}, {"da'}, refused=("x.json", "cut short")),
    "an item without a date": Row(
        {"x.json": '[{"date": "1901", "text": "steam"},\n {"text": "mill"}]'}, refused=("x.json, item 2", "'date' is missing")
    ),
    "Twitter's created_at": Row(
        {"x.jsonl": json.dumps({"created_at": TWEET, "text": "steam"})}, ("--every", "hour"), ("2008-08-27T13",)
    ),
    "31.12.1999": Row(dated("31.12.1999"), ("--every", "day"), ("1999-12-31",)),
    "31 Dec 1999": Row(dated("31 Dec 1999"), ("--every", "day"), ("1999-12-31",)),
    "31/12/1999": Row(dated("31/12/1999"), ("--every", "day"), ("1999-12-31",)),
    "03/04/1999": Row(
        dated("03/04/1999"), refused=("1999-04-03 (--date-format day-first)", "1999-03-04 (--date-format month-first)")
    ),
    "03/04/1999 day-first": Row(
        dated("03/04/1999"), ("--date-format", "day-first", "--every", "day"), ("1999-04-03",)
    ),
    "03/04/1999 month-first": Row(
        dated("03/04/1999"), ("--date-format", "month-first", "--every", "day"), ("1999-03-04",)
    ),
    "1850s": Row(dated("1850s"), ("--every", "decade"), ("1850-1859",), said=("several years 1",)),
    "c. 1850": Row(dated("c. 1850"), (), ("1850",)),
    "--every decade": Row(dated(1856), ("--every", "decade"), ("1850-1859",)),
    "--every 10years": Row(dated(1856), ("--every", "10years"), ("1850-1859",)),
    # Markup
    "entities": Row(
        dated("1901") | {"y.csv": table(("1901", "fish &amp; chips &#8217; caf&eacute; R&D"))}, (), ("1901",),
        words("fish chips café r d"), words("amp eacute"),
    ),
    "stop words": Row(
        {"x.csv": table(("1901", "The fish and the chips")), "stop.lst": "the\nAnd  # a comment\n"}, ("--stop-words", "{folder}/stop.lst"),
        ("1901",), words("fish chips"), words("the and"),
    ),
    "retweet markers": Row(
        {"x.csv": table(("2008", "RT @bob: fish"))}, ("--drop", r"RT @\w+:"), ("2008",), words("fish"), words("rt bob")
    ),
    "reStructuredText": Row(
        {"1901.txt": ".. code-block:: python\n\nThe :class:`fish` swims."}, ("--drop", r"(?m)^\.\. .*|:\w+:"), ("1901",),
        words("the fish swims"), words("code-block python class"),
    ),
    "wiki markup": Row(
        {"1901.txt": "{{Infobox|a=b}} The [[fish|Fish]] <ref name=x>spam</ref> swims."},
        ("--drop", r"\{\{[^}]*\}\}|<ref[^>]*>[^<]*</ref>|\[\[[^|\]]*\|"), ("1901",), words("the fish swims"), words("infobox ref spam"),
    ),
    "a pattern for n-grams": Row(
        {"x": "steam power\t1862\t3\t2\n"}, ("--format", "ngrams", "--drop", "x"), refused=("N-gram tables", "--drop")
    ),
    "a pattern that is no regular expression": Row(dated("1901"), ("--drop", "(a"), refused=("--drop '(a' cannot be used", "RE2")),
    # Scripts without spaces
    "Chinese": Row({"1901.txt": CHINESE}, (), ("1901",), said=("82% of the text has no spaces", "jieba")),
    "Japanese": Row({"1901.txt": JAPANESE}, (), ("1901",), said=("% of the text has no spaces", "MeCab")),
    "Thai": Row({"1901.txt": THAI}, (), ("1901",), said=("100% of the text has no spaces", "PyThaiNLP")),
    "English": Row({"1901.txt": "Steam power."}, (), ("1901",), words("steam power")),
}  # fmt: skip


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.mark.parametrize("name", ROWS)
def test_a_file_or_date_is_counted_or_refused_as_the_table_says(name, tmp_path):
    row, folder, counts = ROWS[name], tmp_path / "texts", tmp_path / "counts"
    write(folder, row.files)
    done = run(
        "count",
        folder,
        "-o",
        counts,
        *(part.format(folder=folder) if part.startswith("{folder}") else part for part in row.options),
    )
    if row.refused:
        assert done.code in (2, 3)
        assert "Traceback" not in done.err
        assert not counts.exists()
        for part in row.refused:
            assert part in done.err
        return
    assert done.code == 0, done.err
    for part in row.said:
        assert part in done.err
    found = wordtide.Counts.load(counts)
    assert tuple(found.labels) == row.slices
    assert row.words <= set(found.words)
    assert not row.absent & set(found.words)
    assert name == "Chinese" or name == "Japanese" or name == "Thai" or "no spaces" not in done.err


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
    write(folder, MIXED)
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
        "1903 for '1902 or 1903.txt', which also holds 1902",
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
    assert one.reading.as_json() == three.reading.as_json()


@pytest.mark.slow
def test_the_summary_and_the_counts_do_not_depend_on_a_cluster(mixed, tmp_path):
    alone = wordtide.count(mixed, output=tmp_path / "alone", skip_bad=True)
    shared = wordtide.count(mixed, output=tmp_path / "shared", skip_bad=True, scheduler="local:2")
    assert json.dumps(alone.reading.as_json(), sort_keys=True) == json.dumps(
        shared.reading.as_json(), sort_keys=True
    )
    for file in sorted((tmp_path / "alone").iterdir()):
        assert file.read_bytes() == (tmp_path / "shared" / file.name).read_bytes()


def test_valid_utf_8_is_never_taken_for_anything_else():
    for text in (GERMAN, CHINESE, THAI, "ASCII only", "Â£ Ã¼", "\ufeff" + GERMAN):
        assert detect_encoding(text.encode(), whole=True) == "utf-8"


def test_a_character_that_is_cut_at_the_end_of_the_head_is_no_sign_of_another_encoding(tmp_path):
    text = "x" * (HEAD_BYTES - 15) + "ü" * 20
    (tmp_path / "x.csv").write_text(table(("1901", text)), encoding="utf-8")
    assert wordtide.count(tmp_path / "x.csv").reading.encodings == {"utf-8": 1}


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
