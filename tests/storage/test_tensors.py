"""Arrays in safetensors files: mapped, in agreement with the library, and rejected if invalid."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as shapes
from numpy.testing import assert_array_equal
from safetensors.numpy import load_file, save_file

from wordtide.errors import FolderError
from wordtide.storage.arrays import map_tensors, write_tensors

DTYPES = st.sampled_from([np.float32, np.float64, np.int32, np.int64])
ARRAYS = st.dictionaries(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=5),
    DTYPES.flatmap(
        lambda dtype: shapes.arrays(
            dtype, shapes.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=5)
        )
    ),
    max_size=6,
)


def write_raw(path, description, data):
    text = (description if isinstance(description, str) else json.dumps(description)).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


@given(ARRAYS)
def test_the_library_reads_our_files(tmp_path_factory, arrays):
    path = tmp_path_factory.getbasetemp() / "ours.safetensors"
    write_tensors(path, arrays)
    read = load_file(path)
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        assert_array_equal(read[name], array, strict=True)


@given(ARRAYS)
def test_we_read_files_of_the_library(tmp_path_factory, arrays):
    path = tmp_path_factory.getbasetemp() / "theirs.safetensors"
    save_file(arrays, path, metadata={"by": "the library"})
    read = map_tensors(path)
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        assert_array_equal(read[name], array, strict=True)


def test_non_contiguous_arrays_are_written_correctly(tmp_path):
    array = np.arange(24.0).reshape(4, 6)[::2, ::-2]
    write_tensors(tmp_path / "a", {"a": array, "b": array.T.astype(">f4").astype(np.float32)})
    assert_array_equal(map_tensors(tmp_path / "a")["a"], array)


def test_a_large_array_is_written_in_pieces_without_gaps(tmp_path):
    array = np.arange(5_000_000, dtype=np.float32)
    write_tensors(tmp_path / "a", {"a": array})
    assert (map_tensors(tmp_path / "a")["a"] == array).all()


def test_arrays_are_aligned(tmp_path):
    arrays = {"a": np.zeros(3, dtype=np.float32), "b": np.zeros(2), "c": np.zeros(1, dtype=np.int32)}
    write_tensors(tmp_path / "a", arrays)
    assert all(array.flags.aligned for array in map_tensors(tmp_path / "a").values())


def test_mapped_arrays_are_read_only(tmp_path):
    write_tensors(tmp_path / "a", {"a": np.zeros(3)})
    with pytest.raises(ValueError, match="read-only"):
        map_tensors(tmp_path / "a")["a"][0] = 1.0


PLACE = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    "description",
    [
        "",
        "{",
        "[]",
        "null",
        '{"a": 1}',
        '{"a": {}}',
        "[" * 100_000,
        '{"a": ' * 5_000,
        {"a": PLACE | {"dtype": "F16"}},
        {"a": PLACE | {"dtype": ["F32"]}},
        {"a": PLACE | {"shape": [3]}},
        {"a": PLACE | {"shape": [-2]}},
        {"a": PLACE | {"shape": [2.0]}},
        {"a": PLACE | {"shape": [True, 2]}},
        {"a": PLACE | {"shape": 2}},
        {"a": PLACE | {"shape": []}},
        {"a": PLACE | {"shape": [1, 1, 2]}},
        {"a": PLACE | {"shape": [10**30, 0]}},
        {"a": PLACE | {"shape": [2**61, 2], "data_offsets": [0, 2**64]}},
        {"a": PLACE | {"data_offsets": [0, 8, 8]}},
        {"a": PLACE | {"data_offsets": [8, 16]}},
        {"a": PLACE | {"data_offsets": [8, 0]}},
        {"a": PLACE | {"data_offsets": [-8, 0]}},
        {"a": PLACE | {"more": 1}},
        {"a": PLACE, "b": PLACE},
        {"a": PLACE, "b": PLACE | {"data_offsets": [4, 12]}},
        {"a": PLACE, "b": PLACE | {"data_offsets": [8, 16]}},
        {"a": PLACE | {"shape": [1], "data_offsets": [0, 4]}},
        f'{{"a": {json.dumps(PLACE)}, "a": {json.dumps(PLACE)}}}',
    ],
    ids=lambda description: str(description)[:60],
)
def test_an_invalid_description_is_rejected(tmp_path, description):
    write_raw(tmp_path / "a", description, bytes(8))
    with pytest.raises(FolderError, match="is damaged"):
        map_tensors(tmp_path / "a")


@pytest.mark.parametrize(
    "content", [b"", b"\x01", bytes(7), (2**63).to_bytes(8, "little"), (5).to_bytes(8, "little") + b"{}"]
)
def test_a_file_shorter_than_described_is_rejected(tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(FolderError, match="is damaged"):
        map_tensors(tmp_path / "a")


def test_an_overlong_description_is_not_read(tmp_path):
    write_raw(tmp_path / "a", json.dumps({"a": PLACE}) + " " * (1 << 20), bytes(8))
    with pytest.raises(FolderError, match="does not begin with a description"):
        map_tensors(tmp_path / "a")
