"""Bad input: each case has its exit code and one message that names place and remedy, and leaves no file."""

import gzip
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli.command_line import Run, listing, run

GOOD = b'{"date": "1862", "text": "Steam power."}\n'
GRAM = b"steam power\t1862\t3\t2\n"
LATIN_1 = "Müller".encode("latin-1") + "und Söhne für Öl".encode()  # damaged UTF-8, no other encoding
LONG = b"".join(b'{"date": "1862", "text": "word%d steam"}\n' % number for number in range(500))


def parquet(**columns):
    """The bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


def zst(content):
    return pa.compress(content, codec="zstd", asbytes=True)


def with_changed_middle(content):
    middle = len(content) // 2
    return (
        content[:middle] + bytes(byte ^ 0x55 for byte in content[middle : middle + 8]) + content[middle + 8 :]
    )


@dataclass(frozen=True)
class Case:
    """Files to write, what to type, and what must come out. {folder} stands for the folder with the files."""

    files: dict[str, bytes]
    place: str  # the message must begin with this, after "wordtide: "
    remedy: str  # and its second line must hold this
    options: tuple[str, ...] = ()
    sources: tuple[str, ...] = field(default=())
    code: int = 3


PARTY = b'{"date": "1862", "text": "Steam power.", "party": "R"}\n'
GROUPED = ("--group-field", "party")

CASES = {
    # Groups
    "a row without a group": Case(
        {"x.jsonl": PARTY + GOOD}, "{folder}/x.jsonl, line 2: the group is missing.", "--skip-bad", GROUPED
    ),
    "a row with an empty group": Case(
        {"x.csv": b"date,text,party\n1862,Steam,R\n1862,Steam,  \n"},
        "{folder}/x.csv, line 3: the group is missing.", "--group-field", GROUPED,
    ),
    "a Parquet row with null for a group": Case(
        {"x.parquet": parquet(date=["1862"] * 2, text=["Steam"] * 2, party=["R", None])},
        "{folder}/x.parquet, row 2: the group is missing.", "--skip-bad", GROUPED,
    ),
    "a group with a line break in its name": Case(
        {"x.jsonl": PARTY + PARTY.replace(b'"R"', b'"R\\nD"')},
        "{folder}/x.jsonl, line 2: the group 'R\\nD' contains a control character.", "--skip-bad", GROUPED,
    ),
    "no such group field": Case(
        {"x.csv": b"date,text\n1862,Steam\n"}, "{folder}/x.csv, line 1: there is no field 'party'.", "--group-field", GROUPED
    ),
    "groups in a column that holds lists": Case(
        {"x.parquet": parquet(date=["1862"], text=["Steam"], party=[["R"]])},
        "{folder}/x.parquet: the column 'party' holds list", "--group-field", GROUPED,
    ),
    "thousands of groups": Case(
        {"x.jsonl": b"".join(PARTY.replace(b'"R"', b'"%d"' % n) for n in range(3000))},
        "--group-field party gives more than 100 groups, which is the limit.", "few values", GROUPED,
    ),
    "a column of text files as groups": Case(
        {"1862.txt": b"Steam power."}, "{folder}/1862.txt has no field 'party': it is a text.", "folder:1", GROUPED
    ),
    "a text file that is in no folder": Case(
        {"1862.txt": b"Steam power."},
        "{folder}/1862.txt: the file is in no folder of level 1.", "--skip-bad", ("--group-field", "folder:1"), ("{folder}",),
    ),
    "a level of folders that is none": Case(
        {"1862.txt": b"Steam power."},
        "--group-field 'folder:0' is not a level of folders.", "folder:1", ("--group-field", "folder:0"), code=2,
    ),
    "groups of n-grams": Case(
        {"x.gz": gzip.compress(GRAM)}, "N-gram tables have no documents, and so no groups.", "--group-field",
        (*GROUPED, "--format", "ngrams"), code=2,
    ),
    "groups on a cluster": Case(
        {"x.jsonl": PARTY}, "--group-field does not work on a cluster.", "--scheduler",
        (*GROUPED, "--scheduler", "local:1"), code=2,
    ),
    # JSON Lines
    "a JSON row without a date": Case(
        {"x.jsonl": GOOD + b"\n" + b'{"text": "No date."}\n'}, "{folder}/x.jsonl, line 3: ", "--skip-bad"
    ),
    "a JSON row with an empty date": Case(
        {"x.jsonl": GOOD + b'{"date": "", "text": "No date."}\n'}, "{folder}/x.jsonl, line 2: ", "--skip-bad"
    ),
    "a JSON row with null for a date": Case(
        {"x.jsonl": GOOD * 2 + b'{"date": null, "text": "No date."}\n' + GOOD}, "{folder}/x.jsonl, line 3: ", "--skip-bad"
    ),
    "a JSON row with a date that is none": Case(
        {"x.jsonl": GOOD * 3 + b'{"date": "last Tuesday", "text": "No date."}\n'}, "{folder}/x.jsonl, line 4: ", "--date-format"
    ),
    "a JSON date of another type than the first": Case(
        {"x.jsonl": GOOD + b'{"date": [1862], "text": "No date."}\n'}, "{folder}/x.jsonl, line 2: ", "--date-format"
    ),
    "a JSON row whose date is beyond all calendars": Case(
        {"x.jsonl": GOOD + b'{"date": 1e300, "text": "Far."}\n'}, "{folder}/x.jsonl, line 2: ", "--date-format"
    ),
    "a JSON date that does not fit the pattern": Case(
        {"x.jsonl": b'{"date": "01/12/1862", "text": "Steam."}\n{"date": "1862", "text": "power"}\n'},
        "{folder}/x.jsonl, line 2: ",
        "--date-format",
        ("--date-format", "%d/%m/%Y"),
    ),
    "a JSON row without a text": Case({"x.jsonl": GOOD + b'{"date": "1862"}\n'}, "{folder}/x.jsonl, line 2: ", "--skip-bad"),
    "a JSON text that is a number": Case(
        {"x.jsonl": GOOD + b'{"date": "1862", "text": 7}\n'}, "{folder}/x.jsonl, line 2: ", "--text-field"
    ),
    "a line that is not JSON": Case({"x.jsonl": GOOD + GOOD[:20] + b"\n" + GOOD}, "{folder}/x.jsonl, line 2: ", "--skip-bad"),
    "a first line that is not JSON": Case({"x.jsonl": b"{oops\n" + GOOD}, "{folder}/x.jsonl, line 1: ", "--skip-bad"),
    "a line that is JSON but no object": Case({"x.jsonl": GOOD + b"[1862]\n"}, "{folder}/x.jsonl, line 2: ", "object"),
    "a JSON line that is not UTF-8": Case(
        {"x.jsonl": GOOD + b'{"date": "1862", "text": "' + LATIN_1 + b'"}\n'}, "{folder}/x.jsonl, line 2: ", "UTF-8"
    ),
    "a JSON line that is not UTF-8 after a blank one": Case(
        {"x.jsonl": GOOD + b"\n" + b'{"date": "1862", "text": "' + LATIN_1 + b'"}\n'}, "{folder}/x.jsonl, line 3: ", "UTF-8"
    ),
    "a first JSON line that is not UTF-8": Case(
        {"x.jsonl": b'{"date": "1862", "text": "' + LATIN_1 + b'"}\n'}, "{folder}/x.jsonl, line 1: ", "UTF-8"
    ),
    "a JSON text with half a surrogate pair": Case(
        {"x.jsonl": GOOD + b'{"date": "1862", "text": "\\ud800"}\n'}, "{folder}/x.jsonl, line 2: ", "--skip-bad"
    ),
    "a file whose name has a colon and whose line is not UTF-8": Case(
        {"a:b.jsonl": GOOD + b'{"date": "1862", "text": "' + LATIN_1 + b'"}\n'}, "{folder}/a:b.jsonl, line 2: ", "UTF-8"
    ),
    "a bad row in a compressed file": Case(
        {"x.jsonl.gz": gzip.compress(GOOD + b'{"date": "soon", "text": "No date."}\n')},
        "{folder}/x.jsonl.gz, line 2: ",
        "--date-format",
    ),
    "a missing JSON field": Case(
        {"x.jsonl": GOOD}, "{folder}/x.jsonl, line 1: ", "date, text", ("--date-field", "written")
    ),
    "an empty JSON Lines file": Case({"x.jsonl": b""}, "{folder}/x.jsonl ", "file"),
    "a JSON Lines file of blank lines": Case({"x.jsonl": b"\n\n \n"}, "{folder}/x.jsonl ", "file"),
    # CSV and TSV: the quoted line breaks make records and lines differ
    "a CSV row without a date": Case(
        {"x.csv": b'date,text\n1862,"two\nlines"\n,No date.\n'}, "{folder}/x.csv, line 4: ", "--skip-bad"
    ),
    "a CSV row with a date that is none": Case(
        {"x.csv": b'date,text\n1862,"three\nmore\nlines"\n1862,ok\nsoon,x\n'}, "{folder}/x.csv, line 6: ", "--date-format"
    ),
    "a CSV row after blank lines with a date that is none": Case(
        {"x.csv": b"date,text\n\n1862,ok\n\nsoon,No date.\n"}, "{folder}/x.csv, line 5: ", "--date-format"
    ),
    "a CSV row with Windows line ends and a date that is none": Case(
        {"x.csv": b'date,text\r\n1862,"two\r\nlines"\r\nsoon,No date.\r\n'}, "{folder}/x.csv, line 4: ", "--date-format"
    ),
    "a CSV text that is not UTF-8": Case(
        {"x.csv": b'date,text\n1862,"two\nlines"\n1862,' + LATIN_1 + b"\n"}, "{folder}/x.csv, line 4: ", "UTF-8"
    ),
    "a CSV date that is not UTF-8": Case(
        {"x.csv": b"date,text\n1862,ok\n18\xff62,steam\n"}, "{folder}/x.csv, line 3: ", "--skip-bad"
    ),
    "a CSV header that is not UTF-8": Case({"x.csv": LATIN_1 + b",date,text\n1,1862,ok\n"}, "{folder}/x.csv", "UTF-8"),
    "a CSV row with too many fields": Case(
        {"x.csv": b'date,text\n1862,"two\nlines"\n1862,one,two\n'}, "{folder}/x.csv, line 4: ", "--skip-bad"
    ),
    "a CSV row with too few fields": Case(
        {"x.csv": b'date,text\n1862,"two\nlines"\n1862,ok\n1862\n1862,ok\n'}, "{folder}/x.csv, line 5: ", "--skip-bad"
    ),
    "a CSV row with too few fields after a blank line": Case(
        {"x.csv": b"date,text\n1862,ok\n\n1862\n1862,ok\n"}, "{folder}/x.csv, line 4: ", "--skip-bad"
    ),
    "a CSV row with too many fields one of which is not UTF-8": Case(
        {"x.csv": b"date,text\n1862,ok\n1862,one," + LATIN_1 + b"\n"}, "{folder}/x.csv, line 3: ", "--skip-bad"
    ),
    "a CSV row with a bad date after one with a bad number of fields in a compressed file": Case(
        {"x.csv.gz": gzip.compress(b'date,text\n1862,"two\nlines"\n1862,one,two\nsoon,No date.\n')},
        "{folder}/x.csv.gz, line 4: ",
        "--skip-bad",
    ),
    "a CSV quote that is never closed": Case({"x.csv": b'date,text\n1862,ok\n1862,"not\nclosed\n'}, "{folder}/x.csv", "quote"),
    "a missing CSV column": Case(
        {"x.csv": b"when,what\n1862,ok\n"}, "{folder}/x.csv, line 1: ", "The fields are: when, what"
    ),
    "a CSV file with the line ends of an old Mac": Case({"x.csv": b"date,text\r1862,steam\rsoon,x\r"}, "{folder}/x.csv", ""),
    "an empty CSV file": Case({"x.csv": b""}, "{folder}/x.csv is empty", "columns"),
    "a CSV file with nothing but a header": Case({"x.csv": b"date,text\n"}, "There is nothing to count", "--text-field"),
    "a TSV row with a date that is none": Case(
        {"x.tsv": b'date\ttext\n1862\t"two\nlines"\nsoon\tNo date.\n'}, "{folder}/x.tsv, line 4: ", "--date-format"
    ),
    # Parquet
    "a Parquet row without a date": Case(
        {"x.parquet": parquet(date=["1862", None], text=["a", "b"])}, "{folder}/x.parquet, row 2: ", "--skip-bad"
    ),
    "a Parquet row without a timestamp": Case(
        {"x.parquet": parquet(date=pa.array([1, None], pa.timestamp("s")), text=["a", "b"])},
        "{folder}/x.parquet, row 2: ",
        "--skip-bad",
    ),
    "a Parquet row without a text": Case(
        {"x.parquet": parquet(date=["1862", "1863"], text=["a", None])}, "{folder}/x.parquet, row 2: ", "--skip-bad"
    ),
    "a missing Parquet column": Case(
        {"x.parquet": parquet(date=["1862"], what=["a"])}, "{folder}/x.parquet: ", "The fields are: date, what"
    ),
    "a Parquet text that is a number": Case(
        {"x.parquet": parquet(date=["1862"], text=[7])}, "{folder}/x.parquet: ", "--text-field"
    ),
    "a Parquet date that is a list": Case(
        {"x.parquet": parquet(date=[["1862"]], text=["a"])}, "{folder}/x.parquet", "--date-field"
    ),
    "a truncated Parquet file": Case(
        {"x.parquet": parquet(date=["1862"], text=["a"])[:-20]}, "{folder}/x.parquet is damaged", "again"
    ),
    "an empty Parquet file": Case({"x.parquet": b""}, "{folder}/x.parquet is damaged", "again"),
    # Text files
    "a text file without a date in its name": Case({"lincoln.txt": b"Steam."}, "{folder}/lincoln.txt: ", "1862-12-01"),
    "a text file whose name does not fit the pattern": Case(
        {"1862.txt": b"Steam."}, "{folder}/1862.txt: ", "--date-format", ("--date-format", "%d-%m-%Y")
    ),
    "a text file that is not UTF-8": Case(
        {"1862.txt": b"Steam power\nby " + LATIN_1 + b".\n"}, "{folder}/1862.txt, line 2: ", "--encoding"
    ),
    "a text file that is cut in the middle of UTF-16": Case(
        {"1862.txt": "Steam power".encode("utf-16")[:-1]}, "{folder}/1862.txt: ", "--encoding"
    ),
    "a picture with the name of a text": Case({"1862.txt": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"}, "{folder}/1862.txt: ", "Leave it out"),
    "an empty text file": Case({"1862.txt": b""}, "There is nothing to count", "text"),
    "texts without words": Case({"1862.txt": b"...!\n\n--- ?"}, "There is nothing to count", "text"),
    # Compressed files
    "a truncated gzip": Case({"x.jsonl.gz": gzip.compress(LONG)[:-30]}, "{folder}/x.jsonl.gz is cut short", "again"),
    "a gzip truncated in its header": Case({"x.jsonl.gz": gzip.compress(LONG)[:6]}, "{folder}/x.jsonl.gz is cut", "again"),
    "a gzip without its checksum": Case({"x.jsonl.gz": gzip.compress(LONG)[:-6]}, "{folder}/x.jsonl.gz is cut short", "again"),
    "a corrupt gzip": Case({"x.jsonl.gz": with_changed_middle(gzip.compress(LONG))}, "{folder}/x.jsonl.gz is damaged", "again"),
    "a gzip with a wrong checksum": Case(
        {"x.jsonl.gz": gzip.compress(LONG)[:-8] + bytes(4) + gzip.compress(LONG)[-4:]},
        "{folder}/x.jsonl.gz is damaged",
        "again",
    ),
    "a gzip with garbage after it": Case({"x.jsonl.gz": gzip.compress(LONG) + b"garbage"}, "{folder}/x.jsonl.gz", "again"),
    "a truncated zst": Case({"x.jsonl.zst": zst(LONG)[:-30]}, "{folder}/x.jsonl.zst is ", "again"),
    "a corrupt zst": Case({"x.jsonl.zst": zst(LONG)[:6] + b"\xff" * 8 + zst(LONG)[14:]}, "{folder}/x.jsonl.zst is ", "again"),
    "a truncated gzip of CSV": Case(
        {"x.csv.gz": gzip.compress(b"date,text\n" + b"1862,steam power\n" * 5000)[:-30]}, "{folder}/x.csv.gz is cut", "again"
    ),
    "a truncated zst of CSV": Case(
        {"x.csv.zst": zst(b"date,text\n" + b"1862,steam power\n" * 5000)[:-20]}, "{folder}/x.csv.zst is ", "again"
    ),
    "a truncated gzip of text": Case(
        {"1862.txt.gz": gzip.compress(b"Steam power. " * 500)[:-10]}, "{folder}/1862.txt.gz is cut short", "again"
    ),
    "a truncated gzip of n-grams": Case(
        {"x.gz": gzip.compress(GRAM * 500)[:-10]}, "{folder}/x.gz is cut short", "again", ("--format", "ngrams")
    ),
    # N-grams
    "an n-gram line with too few fields": Case(
        {"x": GRAM * 2 + b"steam power\t1862\t3\n"}, "{folder}/x, line 3: ", "version 2", ("--format", "ngrams")
    ),
    "an n-gram line with too many fields": Case(
        {"x": GRAM + b"steam power\t1862\t3\t2\t1\n"}, "{folder}/x, line 2: ", "version 2", ("--format", "ngrams")
    ),
    "an n-gram line without tabs": Case(
        {"x": GRAM + b"\n" + b"steam power\n" + GRAM}, "{folder}/x, line 3: ", "version 2", ("--format", "ngrams")
    ),
    "an n-gram line with a bad year": Case(
        {"x": GRAM + b"steam power\tMDCCC\t3\t2\n"}, "{folder}/x, line 2: ", "version 2", ("--format", "ngrams")
    ),
    "an n-gram line with a bad count": Case(
        {"x": GRAM + b"steam power\t1862\t-3\t2\n"}, "{folder}/x, line 2: ", "version 2", ("--format", "ngrams")
    ),
    "an n-gram line of version 3 with a year that lacks its volumes": Case(
        {"x": b"a b\t1862,3,2\t1863,1,1\nc d\t1862,3,2\t1863,1\n"}, "{folder}/x, line 2: ", "version 3", ("--format", "ngrams")
    ),
    "an n-gram of six words": Case(
        {"x": GRAM + b"a b c d e f\t1862\t3\t2\n"}, "{folder}/x, line 2: ", "--skip-bad", ("--format", "ngrams")
    ),
    "an n-gram line that is not UTF-8": Case(
        {"x": GRAM * 3 + LATIN_1 + b" power\t1862\t3\t2\n"}, "{folder}/x, line 4: ", "--skip-bad", ("--format", "ngrams")
    ),
    "an empty n-gram table": Case({"x": b""}, "There is nothing to count", "files", ("--format", "ngrams")),
    "an n-gram table with months for slices": Case(
        {"x": GRAM}, "N-gram tables have years only", "N-years", ("--format", "ngrams", "--every", "month"), code=2
    ),
    # Sources
    "a path that does not exist": Case({}, "{folder}/nowhere.txt does not exist", "path", sources=("{folder}/nowhere.txt",)),
    "a glob that matches nothing": Case({}, "No file matches {folder}/*.jsonl", "pattern", sources=("{folder}/*.jsonl",)),
    "a folder without readable files": Case({"x.jpg": b""}, "{folder} holds no files", ".txt", sources=("{folder}",)),
    "an empty folder": Case({}, "{folder} holds no files", ".txt", sources=("{folder}",)),
    "a file given twice": Case(
        {"x.jsonl": GOOD}, "{folder}/x.jsonl is listed twice", "once", sources=("{folder}/x.jsonl", "{folder}/x.jsonl")
    ),
    "a file given by name and by glob": Case(
        {"x.jsonl": GOOD}, "{folder}/x.jsonl is listed twice", "once", sources=("{folder}/x.jsonl", "{folder}/*.jsonl")
    ),
    "a file given by name and by folder": Case(
        {"x.jsonl": GOOD}, "{folder}/x.jsonl is listed twice", "once", sources=("{folder}/x.jsonl", "{folder}")
    ),
    "standard input given twice": Case({}, "- is listed twice", "once", sources=("-", "-")),
    "nothing within the dates": Case({"x.jsonl": GOOD}, "There is nothing to count", "--since", ("--since", "1900")),
    "the sample together with a file": Case(
        {"x.jsonl": GOOD}, "The sample 'sotu' cannot be combined with other sources", "alone", sources=("{folder}/x.jsonl", "sotu"), code=2
    ),
    "a vocabulary that does not exist": Case(
        {"x.jsonl": GOOD}, "{folder}/words.txt does not exist", "word per line", ("--vocabulary", "{folder}/words.txt"),
        sources=("{folder}/x.jsonl",),
    ),
    "a vocabulary that is not UTF-8": Case(
        {"x.jsonl": GOOD, "words.txt": LATIN_1}, "{folder}/words.txt", "UTF-8", ("--vocabulary", "{folder}/words.txt"),
        sources=("{folder}/x.jsonl",),
    ),
    "a vocabulary with a word twice": Case(
        {"x.jsonl": GOOD, "words.txt": b"steam\npower\nsteam\n"}, "{folder}/words.txt, line 3: ", "once",
        ("--vocabulary", "{folder}/words.txt"), sources=("{folder}/x.jsonl",),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """A case after its run."""

    case: Case
    run: Run
    left: list[str]
    folder: str

    def expected(self, text):
        return text.replace("{folder}", self.folder)


@pytest.fixture(scope="module", params=list(CASES))
def outcome(request, tmp_path_factory):
    case = CASES[request.param]
    folder, place = tmp_path_factory.mktemp("input"), tmp_path_factory.mktemp("output")
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    sources = case.sources or [f"{{folder}}/{name}" for name in case.files]
    arguments = [text.replace("{folder}", str(folder)) for text in (*sources, *case.options)]
    return Outcome(case, run("count", *arguments, "-o", place / "counts"), listing(place), str(folder))


def test_bad_input_ends_with_its_exit_code(outcome):
    assert outcome.run.code == outcome.case.code


def test_bad_input_gives_one_message_of_two_lines(outcome):
    first, second = outcome.run.err.splitlines()
    assert first.startswith("wordtide: ")
    assert second.startswith("  ")


def test_bad_input_is_named_by_file_and_line(outcome):
    assert outcome.run.err.startswith("wordtide: " + outcome.expected(outcome.case.place))


def test_bad_input_comes_with_its_remedy(outcome):
    assert outcome.case.remedy in outcome.run.err.partition("\n")[2]


def test_bad_input_leaves_nothing_behind(outcome):
    assert outcome.left == []


def test_bad_input_prints_nothing_on_standard_output(outcome):
    assert outcome.run.out == ""


def test_a_text_file_in_a_folder_is_named_by_its_whole_path(tmp_path):
    (tmp_path / "speeches" / "old").mkdir(parents=True)
    path = tmp_path / "speeches" / "old" / "1862.txt"
    path.write_bytes(b"Steam power\n" + LATIN_1)
    assert f"{path}, line 2: " in run("count", tmp_path / "speeches", "-o", tmp_path / "counts").err


def test_a_bad_csv_row_in_a_later_block_is_named_by_its_line(monkeypatch, tmp_path):
    monkeypatch.setattr("wordtide.corpus.delimited.BLOCK_BYTES", 1 << 10)
    path = tmp_path / "x.csv"
    path.write_bytes(
        b"date,text\n" + b'1862,"steam\npower"\n' * 400 + b"soon,No date.\n" + b"1862,ok\n" * 400
    )
    assert f"{path}, line 802: " in run("count", path, "-o", tmp_path / "counts").err


def test_a_csv_row_of_odd_length_in_a_later_block_is_named_by_its_line(monkeypatch, tmp_path):
    monkeypatch.setattr("wordtide.corpus.delimited.BLOCK_BYTES", 1 << 10)
    path = tmp_path / "x.csv"
    path.write_bytes(b"date,text\n" + b'1862,"steam\npower"\n' * 400 + b"1862,one,two\n" + b"1862,ok\n" * 400)
    assert f"{path}, line 802: " in run("count", path, "-o", tmp_path / "counts").err


def test_a_bad_json_row_in_a_later_block_is_named_by_its_line(tmp_path):
    path = tmp_path / "x.jsonl"
    padding = b'{"date": "1862", "text": "' + b"steam power " * 5000 + b'"}\n'
    path.write_bytes(padding * 200 + b'{"date": "soon", "text": "No date."}\n' + GOOD)
    assert f"{path}, line 201: " in run("count", path, "-o", tmp_path / "counts").err


def test_a_bad_ngram_line_in_a_later_block_is_named_by_its_line(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(GRAM * 500_000 + b"steam power\t1862\n" + GRAM)
    assert f"{path}, line 500001: " in run("count", path, "--format", "ngrams", "-o", tmp_path / "counts").err


def test_an_empty_name_does_not_stand_for_the_current_folder(monkeypatch, tmp_path):
    (tmp_path / "1862.txt").write_text("Steam power.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run("count", "", "-o", tmp_path / "counts").code in (2, 3)
