"""Rows of growing files and of standard input: each read once, complete, with its position."""

import contextlib
import os
import threading

import numpy as np
import pytest

from wordtide.corpus.columns import Fields
from wordtide.corpus.documents import BadRows
from wordtide.errors import InputError, SettingsError
from wordtide.streaming import journal as journal_module
from wordtide.streaming.followed_file import FollowedFile
from wordtide.streaming.journal import JournaledInput
from wordtide.streaming.rows import RowReader
from wordtide.streaming.settings import WatchOptions

TEXTS = ["steam power", "a café", 'said "no"', "two\nlines", "x" * 300, "", "the end"]
JSON_LINES = "".join(
    f'{{"date": "18{n:02}", "text": {json!r}}}\n'.replace("'", '"')
    for n, json in enumerate(["a b", "c d", "e f"])
)
CSV = "date,text\n" + "".join(
    f'18{n:02},"{text.replace(chr(34), chr(34) * 2)}"\n' for n, text in enumerate(TEXTS)
)
CONTENT = {"jsonl": JSON_LINES, "csv": CSV}


def taken(source):
    """The text and offset of all rows that exist now."""
    found = []
    while (parts := source.read()) is not None:
        found += [
            (part.batch.text(n).decode(), int(part.offsets[n])) for part in parts for n in range(len(part))
        ]
    return found


def followed(path, format, **options):
    return contextlib.closing(FollowedFile(path, RowReader(format, Fields(), BadRows()), **options))


@pytest.fixture
def write(tmp_path):
    def add(text, name="posts"):
        with open(tmp_path / name, "ab") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return tmp_path / name

    return add


def whole(path, format):
    """The rows of a finished file, read at once."""
    with followed(path, format) as source:
        return taken(source)


@pytest.mark.parametrize("format", CONTENT)
def test_rows_do_not_depend_on_how_the_file_grows(write, tmp_path, format):
    content = CONTENT[format].encode()
    expected = whole(write(content, "whole"), format)
    assert len(expected) == (len(TEXTS) if format == "csv" else 3)
    cuts = np.sort(np.random.default_rng(3).choice(len(content), 40, replace=False)).tolist()
    path = write(b"")
    found = []
    with followed(path, format, follow=True) as source:
        for start, stop in zip([0, *cuts], [*cuts, len(content)], strict=True):
            write(content[start:stop])
            found += taken(source)
    assert found == expected


@pytest.mark.parametrize("format", CONTENT)
def test_reading_can_resume_at_any_row(write, format):
    path = write(CONTENT[format])
    with followed(path, format) as source:
        (part,) = source.read()
        positions = [source.saved_position(part.position(n)) for n in range(len(part))]
        expected = [part.batch.text(n).decode() for n in range(len(part))]
    for n, position in enumerate(positions):
        with followed(path, format, position=position) as source:
            assert [text for text, _ in taken(source)] == expected[n:]


def test_a_last_row_without_line_break_is_complete_only_if_the_file_is(write):
    path = write(JSON_LINES.rstrip())
    with followed(path, "jsonl", follow=True) as source:
        assert len(taken(source)) == 2
    assert len(whole(path, "jsonl")) == 3


def test_a_renamed_file_is_read_to_its_end_before_the_new_one(write):
    path = write(JSON_LINES)
    with followed(path, "jsonl", follow=True) as source:
        assert len(taken(source)) == 3
        path.rename(path.with_name("posts.1"))
        write(JSON_LINES, "posts.1")
        assert len(taken(source)) == 3  # its writer has not yet gone on to the new file
        write("")
        assert taken(source) == []
        write(JSON_LINES)
        found = taken(source)
    assert found[0][1] == 2 * len(JSON_LINES)
    assert len(found) == 3


def test_a_truncated_file_is_read_again_and_reported(write):
    path = write(JSON_LINES)
    told = []
    with followed(path, "jsonl", follow=True, report=told.append) as source:
        taken(source)
        os.truncate(path, 0)
        write(JSON_LINES.splitlines(keepends=True)[0])
        assert len(taken(source)) == 1
    assert "was truncated" in told[0]


@pytest.mark.parametrize(
    ("delimiter", "encoding", "reading"),
    [
        (";", "utf-8", {}),
        ("\t", "utf-8", {}),
        (",", "cp1252", {"encoding": "cp1252"}),
        (";", "cp1252", {"encoding": "cp1252", "delimiter": ";"}),
    ],
)
def test_the_header_determines_the_delimiter_and_the_user_the_encoding(write, delimiter, encoding, reading):
    rows = [f'"date"{delimiter}"text"', f'1850{delimiter}"a café, b; c"', f"1851{delimiter}naïve"]
    lines = [f"{row}\n".encode(encoding) for row in rows]
    path = write(lines[0][:5])
    reader = RowReader("csv", Fields(), BadRows(), **reading)
    with contextlib.closing(FollowedFile(path, reader, follow=True)) as source:
        assert taken(source) == []
        write(lines[0][5:] + lines[1])
        assert taken(source) == [("a café, b; c", len(lines[0]))]
        write(lines[2])
        place = len(lines[0]) + len(lines[1])
        assert taken(source) == [("naïve", place)]


def test_encodings_with_wide_line_breaks_cannot_be_watched():
    with pytest.raises(SettingsError, match="utf-16 cannot be watched"):
        WatchOptions(encoding="utf-16")
    assert WatchOptions(delimiter="tab").delimiter == "\t"


def test_a_compressed_file_is_refused(write):
    with pytest.raises(InputError, match="compressed"):
        whole(write(b"\x1f\x8b\x08\x00"), "jsonl")


def test_an_endless_row_is_rejected(write, monkeypatch):
    monkeypatch.setattr("wordtide.streaming.rows.CHUNK_BYTES", 1 << 10)
    monkeypatch.setattr("wordtide.streaming.rows.LONGEST_ROW", 1 << 13)
    with (
        followed(write("x" * 20_000), "jsonl", follow=True) as source,
        pytest.raises(InputError, match="line 1: the row is longer"),
    ):
        taken(source)


class Piped:
    """A journal whose input is a pipe; each start gets a new pipe with the given input."""

    def __init__(self, folder, format="jsonl"):
        self.folder, self.format = folder, format

    @contextlib.contextmanager
    def started(self, sent, position=None, **options):
        reading, writing = os.pipe()

        def send():
            with contextlib.suppress(BrokenPipeError), open(writing, "wb") as file:
                file.write(sent.encode())

        sender = threading.Thread(target=send)
        sender.start()
        reader = RowReader(self.format, Fields(), BadRows(True))
        source = JournaledInput(self.folder, reading, reader, position, **options)
        try:
            yield source
        finally:
            source.close()
            os.close(reading)
            sender.join()

    def rows(self, sent, position=None, **options):
        with self.started(sent, position, **options) as source:
            return drained(source)


def drained(source):
    found = taken(source)
    while not source.ended:
        source.wait(1.0)
        found += taken(source)
    return found


@pytest.mark.parametrize("format", CONTENT)
def test_standard_input_gives_the_rows_of_a_file(tmp_path, write, format):
    assert Piped(tmp_path, format).rows(CONTENT[format]) == whole(write(CONTENT[format]), format)


def test_standard_input_is_read_if_only_sockets_can_be_selected(tmp_path, write, monkeypatch):
    class Windows:
        name = "nt"

        def __getattr__(self, name):
            return getattr(os, name)

    def refuse(*_):
        raise OSError(10038, "not a socket")

    monkeypatch.setattr(journal_module, "os", Windows())
    monkeypatch.setattr(journal_module.select, "select", refuse)
    assert Piped(tmp_path).rows(JSON_LINES) == whole(write(JSON_LINES), "jsonl")


def test_rows_of_the_journal_precede_new_ones_after_a_restart(tmp_path):
    first, second, third = JSON_LINES.splitlines(keepends=True)
    piped = Piped(tmp_path)
    assert len(piped.rows(first + second)) == 2
    assert [text for text, _ in piped.rows(third)] == ["a b", "c d", "e f"]


def test_a_torn_row_does_not_damage_the_next_one(tmp_path):
    first, second, third = JSON_LINES.splitlines(keepends=True)
    piped = Piped(tmp_path)
    piped.rows(first + second[:9])
    assert [text for text, _ in piped.rows(third)] == ["a b", "e f"]


def test_a_replayed_stream_is_read_once(tmp_path):
    first, second, third = JSON_LINES.splitlines(keepends=True)
    piped = Piped(tmp_path)
    piped.rows(first + second[:9], replayed=True, whole_at_end=False)
    assert [text for text, _ in piped.rows(first + second + third, replayed=True)] == ["a b", "c d", "e f"]


@pytest.mark.parametrize(
    ("sent", "problem"), [("[]" * 99, "does not begin as it did"), ("{}\n", "ended .* bytes before")]
)
def test_a_replayed_stream_with_other_rows_is_rejected(tmp_path, sent, problem):
    piped = Piped(tmp_path)
    piped.rows(JSON_LINES)
    with pytest.raises(InputError, match=problem):
        piped.rows(sent, replayed=True)


def test_each_start_must_send_the_same_csv_header(tmp_path):
    piped = Piped(tmp_path, "csv")
    piped.rows("date,text\n1850,one\n")
    assert [text for text, _ in piped.rows("date,text\n1851,two\n")] == ["one", "two"]
    with pytest.raises(InputError, match="does not begin with the same header line as before: date,text"):
        piped.rows("text,date\n1851,two\n")


@pytest.mark.parametrize("format", CONTENT)
def test_discarding_rows_shortens_the_journal_and_reading_continues(tmp_path, monkeypatch, format):
    monkeypatch.setattr(journal_module, "_OBSOLETE_BYTES", 10)
    rows = [
        f"18{n:02},text {n}\n" if format == "csv" else f'{{"date": "18{n:02}", "text": "text {n}"}}\n'
        for n in range(6)
    ]
    header = "date,text\n" if format == "csv" else ""
    piped = Piped(tmp_path, format)
    with piped.started(header + "".join(rows[:4])) as source:
        source.wait(5.0)
        (part,) = source.read()
        position = source.saved_position(part.position(3))
        source.discard_before(position["place"])
        (journal,) = tmp_path.iterdir()
        assert journal.read_text() == header + rows[3]
        assert taken(source) == []
    with pytest.raises(InputError, match="lacks rows"):
        piped.rows("", {"place": 0, "line": 1})
    again = piped.rows(header + "".join(rows), position, replayed=True)
    assert [text for text, _ in again] == ["text 3", "text 4", "text 5"]
    assert again[0][1] == position["place"]
