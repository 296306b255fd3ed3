"""Files behind URLs are counted like files on disk; errors name the URL."""

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli.command_line import run
from corpus.dated_documents import DOCUMENTS, assert_same_counts, write_json_lines
from corpus.serving_files import serving

import wordtide
from wordtide.errors import InputError, SettingsError


@pytest.fixture(scope="module")
def expected():
    return wordtide.count(DOCUMENTS)


def write_all(folder):
    write_json_lines(folder / "posts.jsonl")
    write_json_lines(folder / "posts.jsonl.gz")
    dates, texts = zip(*DOCUMENTS, strict=True)
    pq.write_table(pa.table({"date": dates, "text": texts}), folder / "posts.parquet")


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("name", ["posts.jsonl", "posts.jsonl.gz", "posts.jsonl?key=secret"])
def test_a_file_is_counted_by_its_url(name, ranges, tmp_path, expected):
    write_all(tmp_path)
    with serving(tmp_path, ranges) as (address, _):
        assert_same_counts(wordtide.count(f"{address}/{name}"), expected)


def test_parquet_is_read_in_byte_ranges(tmp_path, expected):
    write_all(tmp_path)
    with serving(tmp_path) as (address, asked):
        assert_same_counts(wordtide.count(f"{address}/posts.parquet"), expected)
        assert asked != []
        assert [request for request in asked if request.startswith("GET") and "bytes=" not in request] == []


def test_parquet_from_a_server_without_ranges_is_refused_with_a_remedy(tmp_path):
    write_all(tmp_path)
    with (
        serving(tmp_path, ranges=False) as (address, _),
        pytest.raises(InputError, match="does not support byte ranges"),
    ):
        wordtide.count(f"{address}/posts.parquet")


def test_a_label_does_not_reveal_the_query_of_a_url(tmp_path):
    write_all(tmp_path)
    with serving(tmp_path) as (address, _):
        counts = wordtide.count(f"{address}/posts.jsonl?key=secret", every="document")
    assert counts.labels == [f"posts.jsonl:{number}" for number in (1, 2, 3, 4)]


@pytest.mark.parametrize("name", ["posts.jsonl", "posts.jsonl.gz"])
def test_a_connection_that_ends_too_early_is_an_error(name, tmp_path):
    write_all(tmp_path)
    with serving(tmp_path, cut_short=True) as (address, _):
        result = run("count", f"{address}/{name}", "-o", tmp_path / "counts")
    assert result.code == InputError.exit_code
    assert f"{address}/{name} is cut short" in " ".join(result.err.split())
    assert not (tmp_path / "counts").exists()


def test_a_missing_file_is_an_error_with_its_url(tmp_path):
    with (
        serving(tmp_path) as (address, _),
        pytest.raises(InputError, match=r"nothing\.jsonl does not exist, or cannot be reached"),
    ):
        wordtide.count(f"{address}/nothing.jsonl")


def test_a_server_that_does_not_answer_is_an_error_with_the_url():
    with pytest.raises(
        InputError, match=r"http://127\.0\.0\.1:1/posts\.jsonl does not exist, or cannot be reached"
    ):
        wordtide.count("http://127.0.0.1:1/posts.jsonl")


@pytest.fixture
def store():
    """A store in memory, in place of s3:// and others."""
    files = fsspec.filesystem("memory")
    for number, (date, text) in enumerate(DOCUMENTS):
        files.pipe_file(f"/texts/{date}_{number}.txt", text.encode())
    files.pipe_file("/texts/cover.jpg", b"")
    files.pipe_file("/texts/.hidden/1900.txt", b"hidden")
    yield files
    files.rm("/texts", recursive=True)


@pytest.mark.parametrize("url", ["memory://texts", "memory://texts/", "memory://texts/*.txt"])
def test_a_folder_or_a_pattern_of_a_store_is_counted(url, store, expected):
    counts = wordtide.count(url)
    assert_same_counts(counts, expected)
    assert counts.summary.ignored_files == (0 if "*" in url else 1)


def test_a_pattern_without_files_is_an_error(store):
    with pytest.raises(InputError, match=r"There is no file at memory://texts/\*\.csv"):
        wordtide.count("memory://texts/*.csv")


def test_files_of_a_listing_over_http_are_counted(tmp_path, expected):
    folder = tmp_path / "posts"
    folder.mkdir()
    for number in (0, 2):
        write_json_lines(folder / f"{number}.jsonl", DOCUMENTS[number : number + 2])
    with serving(tmp_path) as (address, _):
        assert_same_counts(wordtide.count(f"{address}/posts/*.jsonl"), expected)


def test_an_unknown_protocol_is_refused():
    with pytest.raises(SettingsError, match=r"pigeon://roof/posts\.jsonl cannot be read: Protocol not known"):
        wordtide.count("pigeon://roof/posts.jsonl")


def test_a_missing_library_of_a_store_is_named():
    with pytest.raises(SettingsError, match="pip install gcsfs"):
        wordtide.count("gs://bucket/posts.jsonl")
