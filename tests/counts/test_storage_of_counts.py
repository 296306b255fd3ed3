"""A counts folder can be moved and read back; a damaged or hostile one is refused with a clear error."""

import contextlib
import json
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordtide
from wordtide.counts.count_arrays import ARRAYS
from wordtide.errors import FolderError, OutputError, UnknownWordError, WordtideError

CORPUS = [("1900", "Steam power drives the mill. The mill grinds."), ("1950", "Atomic power. Power plants.")]


@pytest.fixture
def folder(tmp_path):
    wordtide.count(CORPUS, output=tmp_path / "counts")
    return tmp_path / "counts"


def test_saving_and_loading_changes_nothing(tmp_path):
    counts = wordtide.count(CORPUS)
    counts.save(tmp_path / "saved")
    loaded = wordtide.Counts.load(tmp_path / "saved", check=True)
    assert loaded.words == counts.words
    assert loaded.times.tolist() == counts.times.tolist()
    assert loaded.settings == counts.settings
    assert loaded.summary == counts.summary
    assert [(a != b).nnz for a, b in zip(loaded, counts, strict=True)] == [0, 0]


def test_a_folder_can_be_moved(folder, tmp_path):
    shutil.move(folder, tmp_path / "elsewhere")
    assert len(wordtide.Counts.load(tmp_path / "elsewhere")) == 2


def test_large_arrays_stay_on_disk(folder):
    assert isinstance(wordtide.Counts.load(folder).arrays.values, np.memmap)


def test_an_existing_target_is_rejected_before_the_work_and_unchanged(folder):
    before = (folder / "header.json").read_bytes()
    with pytest.raises(OutputError, match="exists already"):
        wordtide.count(iter(CORPUS), output=folder)
    assert (folder / "header.json").read_bytes() == before


def test_an_unknown_word_suggests_similar_spellings(folder):
    with pytest.raises(UnknownWordError, match="steam"):
        wordtide.Counts.load(folder).word_number("steem")


@pytest.mark.parametrize(
    "name",
    [*(f"{array}.npy" for array in ARRAYS), "words.txt", "labels.txt", "header.json", "slice_tokens.npy"],
)
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(FolderError, match=name):
        wordtide.Counts.load(folder)


@pytest.mark.parametrize("name", ["columns.npy", "words.txt", "slice_first.npy"])
def test_a_truncated_file_is_named(folder, name):
    path = folder / name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FolderError, match=name):
        wordtide.Counts.load(folder)


def test_a_flipped_bit_is_detected_by_the_check(folder):
    path = folder / "values.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(FolderError, match=r"values.npy is damaged"):
        wordtide.Counts.load(folder, check=True)


def test_a_pickle_in_place_of_an_array_is_not_loaded(folder):
    path = folder / "values.npy"
    np.save(path, np.array([print], dtype=object), allow_pickle=True)
    header = json.loads((folder / "header.json").read_text())
    header["files"]["values.npy"]["bytes"] = path.stat().st_size
    (folder / "header.json").write_text(json.dumps(header))
    with pytest.raises(FolderError, match="damaged"):
        wordtide.Counts.load(folder)


def test_a_newer_version_is_rejected_with_both_versions(folder):
    header = json.loads((folder / "header.json").read_text())
    header["version"] = 99
    (folder / "header.json").write_text(json.dumps(header))
    with pytest.raises(FolderError, match=r"version 99 .*reads version 1 and 2"):
        wordtide.Counts.load(folder)


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    """A counts folder that tests damage and restore."""
    folder = tmp_path_factory.mktemp("hostile") / "counts"
    wordtide.count(CORPUS, output=folder)
    return folder


@given(st.data())
@settings(max_examples=200)
def test_hostile_arrays_raise_only_folder_errors(intact, data):
    path = data.draw(st.sampled_from(sorted(intact.iterdir())))
    original = path.read_bytes()
    content = bytearray(original)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        with contextlib.suppress(WordtideError):  # anything else is a failure
            counts = wordtide.Counts.load(intact)
            for t in range(len(counts)):
                counts[t].sum()
                counts.unigrams(t)
            assert len(counts.times) == len(counts.dates) == len(counts)
    finally:
        path.write_bytes(original)
