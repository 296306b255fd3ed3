"""A filter's folder has a file for each slice; answers are the same, and damaged files are refused."""

import json
import os
import shutil
from contextlib import suppress

import numpy as np
import pytest
from embeddings.models import MOMENTS, PLACES, WORDS, model_of, posterior_of
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from wordtide.api import DynamicEmbeddings, load
from wordtide.embeddings import folder as model_folder
from wordtide.embeddings.folder import FILES, write_model
from wordtide.embeddings.posterior import Posterior
from wordtide.embeddings.state_files import slice_name, slices_of
from wordtide.errors import FolderError, WordtideError
from wordtide.model.knots import Knots, Occurrences
from wordtide.storage.arrays import write_tensors
from wordtide.storage.header import file_facts

SLICES = 8
POSTERIOR = posterior_of("filter")
SLICED = Posterior.by_slice(POSTERIOR.knots, list(slices_of(POSTERIOR, SLICES)), 3)


@pytest.fixture
def folder(tmp_path):
    model_of("filter").save(tmp_path / "model")
    return tmp_path / "model"


def relist(folder):
    """List the sizes of files as they are now."""
    header = json.loads((folder / "header.json").read_text())
    for name in header["files"]:
        header["files"][name] = {"bytes": (folder / name).stat().st_size, "crc32": 0}
    (folder / "header.json").write_text(json.dumps(header))


def change_slice(folder, t, **changes):
    """Put other arrays in place of some (None: leave it out), in a file that is sound by itself."""
    arrays = load_file(folder / slice_name(t)) | changes
    write_tensors(
        folder / slice_name(t), {name: array for name, array in arrays.items() if array is not None}
    )
    relist(folder)


def change_header(folder, **changes):
    header = json.loads((folder / "header.json").read_text()) | changes
    (folder / "header.json").write_text(json.dumps(header))


def test_a_filter_has_a_file_for_each_slice(folder):
    assert {path.name for path in folder.iterdir()} == {
        *FILES,
        "header.json",
        *map(slice_name, range(SLICES)),
    }


def test_the_file_of_a_slice_holds_the_states_of_its_words(folder):
    found = load_file(folder / slice_name(3))
    rows = POSTERIOR.knots.by_slice[3]
    assert [WORDS[number] for number in found["words"]] == [word for word in WORDS if 3 in PLACES[word]]
    for name in ("mean_u", "mean_v", "variance_u", "variance_v"):
        assert np.array_equal(found[name], getattr(POSTERIOR, name)[rows])


@pytest.mark.parametrize(
    "chosen",
    [
        slice(None),
        slice(3, 11),
        slice(0, 0),
        np.arange(19)[::-1],
        np.array([4, 4, 0]),
        np.zeros(0, np.int64),
        np.arange(19) > 7,
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["mean_u", "mean_v", "variance_u", "variance_v"])
def test_rows_kept_slice_by_slice_are_those_of_an_array(name, chosen):
    assert np.array_equal(getattr(SLICED, name)[chosen], getattr(POSTERIOR, name)[chosen])


def test_rows_can_be_asked_for_in_any_shape():
    chosen = np.arange(12).reshape(3, 4)
    assert np.array_equal(SLICED.mean_u[chosen], POSTERIOR.mean_u[chosen])
    assert np.array_equal(np.asarray(SLICED.mean_u), POSTERIOR.mean_u)


def test_the_folder_in_one_file_and_that_of_slices_give_the_same_answers(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(model_folder, "MOST_SLICES", 0)
    write_model(tmp_path / "one", model_of("filter").fitted)
    monkeypatch.undo()
    one, sliced = load(tmp_path / "one", check=True), load(folder, check=True)
    assert not list((tmp_path / "one").glob("slice-*"))
    for word in WORDS:
        assert np.array_equal(one.mean(word, MOMENTS), sliced.mean(word, MOMENTS))
        assert np.array_equal(one.context_variance(word, MOMENTS), sliced.context_variance(word, MOMENTS))
        assert np.array_equal(one.sample(word, 3), sliced.sample(word, 3))
    assert np.array_equal(one.at(1855.0).U_variance, sliced.at(1855.0).U_variance)


def test_a_model_of_slices_written_as_one_file_has_the_bytes_of_one_that_never_was_sliced(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(model_folder, "MOST_SLICES", 0)
    for name, posterior in (("array", POSTERIOR), ("slices", SLICED)):
        model_of("filter", posterior=posterior).save(tmp_path / name)
    one, other = ((tmp_path / name / "arrays.safetensors").read_bytes() for name in ("array", "slices"))
    assert one == other


def test_a_loaded_model_saves_the_same_bytes(folder, tmp_path):
    load(folder).save(tmp_path / "again")
    for path in folder.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def test_a_model_can_be_written_over_the_folder_it_was_read_from(folder):
    loaded = load(folder)
    before = loaded.mean("gaps")
    loaded.save(folder, overwrite=True)
    assert np.array_equal(loaded.mean("gaps"), before)
    assert np.array_equal(load(folder, check=True).mean("gaps"), before)


def test_states_stay_on_disk(folder):
    for states in load(folder).fitted.posterior.slices:
        assert not states.mean_u.flags.owndata
        assert not states.mean_u.flags.writeable


@pytest.mark.parametrize("t", [0, 3, 7])
def test_a_missing_slice_is_named(folder, t):
    (folder / slice_name(t)).unlink()
    with pytest.raises(FolderError, match=slice_name(t)):
        load(folder)


@pytest.mark.parametrize("t", [0, 3, 7])
def test_a_truncated_slice_is_named(folder, t):
    path = folder / slice_name(t)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FolderError, match=slice_name(t)):
        load(folder)


def test_a_truncated_slice_whose_size_the_header_believes_is_named(folder):
    path = folder / slice_name(2)
    path.write_bytes(path.read_bytes()[:-4])
    relist(folder)
    with pytest.raises(FolderError, match=slice_name(2)):
        load(folder)


def test_a_flipped_bit_in_a_slice_is_found_by_the_check(folder):
    path = folder / slice_name(4)
    content = bytearray(path.read_bytes())
    content[-9] ^= 1
    path.write_bytes(content)
    with pytest.raises(FolderError, match=f"{slice_name(4)} is damaged"):
        load(folder, check=True)


@pytest.mark.parametrize("name", [slice_name(8), "slice-0.safetensors", "notes.txt"])
def test_a_file_that_does_not_belong_to_the_model_is_refused_if_the_header_lists_it(folder, name):
    (folder / name).write_bytes(b"")
    header = json.loads((folder / "header.json").read_text())
    change_header(folder, files=header["files"] | {name: {"bytes": 0, "crc32": 0}})
    with pytest.raises(FolderError, match=name):
        load(folder)


def test_a_slice_that_the_header_does_not_list_is_named(folder):
    files = json.loads((folder / "header.json").read_text())["files"]
    del files[slice_name(5)]
    change_header(folder, files=files)
    with pytest.raises(FolderError, match=slice_name(5)):
        load(folder)


def test_a_pipe_in_place_of_a_slice_is_not_waited_for(folder):
    (folder / slice_name(1)).unlink()
    os.mkfifo(folder / slice_name(1))
    relist(folder)
    with pytest.raises(FolderError, match=r"is not a (regular )?file"):
        load(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"slices": 7},
        {"slices": 9},
        {"slices": 10**9},
        {"slices": "8"},
        {"slices": True},
        {"dim": 4},
        {"dim": 0},
        {"dim": 1 << 40},
        {"dim": "3"},
        {"posterior": "smoother"},
        {"version": 1},
        {"counts": 3},
        {"filter": []},
        {"stream": "here"},
    ],
    ids=str,
)
def test_a_header_that_contradicts_the_slices_is_refused(folder, changes):
    change_header(folder, **changes)
    with pytest.raises(FolderError):
        load(folder)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("mean_u", np.zeros((3, 4), dtype=np.float32)),
        ("mean_u", np.zeros((2, 3), dtype=np.float32)),
        ("variance_v", np.zeros((3, 3), dtype=np.float64)),
        ("variance_v", np.zeros((0, 1 << 40), dtype=np.float32)),
        ("mean_v", None),
        ("words", None),
        ("words", np.zeros(3, dtype=np.int64)),
        ("words", np.zeros((3, 1), dtype=np.int32)),
        ("words", np.zeros(2, dtype=np.int32)),
        ("more", np.zeros(2, dtype=np.int32)),
    ],
)
def test_arrays_of_another_shape_or_dtype_are_refused(folder, name, array):
    change_slice(folder, 4, **{name: array})
    with pytest.raises(FolderError, match=slice_name(4)):
        load(folder)


def test_a_slice_with_fewer_words_than_it_has_knots_is_refused(folder):
    arrays = {name: array[:2] for name, array in load_file(folder / slice_name(4)).items()}
    change_slice(folder, 4, **arrays)
    with pytest.raises(FolderError, match=f"{slice_name(4)} is damaged: it has 2 words, not 3"):
        load(folder)


def test_a_slice_with_other_words_is_found_by_the_check(folder):
    words = load_file(folder / slice_name(4))["words"]
    change_slice(folder, 4, words=words[::-1].copy())
    header = json.loads((folder / "header.json").read_text())
    for name in header["files"]:
        header["files"][name] = file_facts(folder / name)
    (folder / "header.json").write_text(json.dumps(header))
    with pytest.raises(FolderError, match="its words do not match the knots"):
        load(folder, check=True)


@pytest.mark.parametrize("number", [np.nan, np.inf, -1.0])
def test_an_impossible_variance_is_found_by_the_check(number, tmp_path):
    posterior = posterior_of("filter")
    posterior.variance_v[3, 1] = number
    model_of("filter", posterior=posterior).save(tmp_path / "model")
    with pytest.raises(FolderError, match="variance_v"):
        load(tmp_path / "model", check=True)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("pairs", np.zeros(8)),
        ("pairs", np.full(8, np.nan)),
        ("pairs", np.ones(7)),
        ("arrivals", np.full(7, 8, dtype=np.int32)),
        ("arrivals", np.full(7, -1, dtype=np.int32)),
        ("arrivals", np.zeros(6, dtype=np.int32)),
        ("arrivals", np.zeros(7, dtype=np.int64)),
    ],
)
def test_what_an_update_needs_is_checked(folder, name, array):
    arrays = load_file(folder / "arrays.safetensors") | {name: array}
    write_tensors(folder / "arrays.safetensors", arrays)
    relist(folder)
    with pytest.raises(FolderError):
        load(folder)


HOSTILE = model_of("filter")


@given(st.data())
@settings(max_examples=60)
def test_hostile_bytes_in_a_slice_raise_a_folder_error_and_nothing_else(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp() / "hostile_slices"
    shutil.rmtree(folder, ignore_errors=True)
    HOSTILE.save(folder)
    path = folder / data.draw(
        st.sampled_from([*map(slice_name, range(SLICES)), "header.json", "arrays.safetensors"])
    )
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, min(len(content), 600) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    # The states may be any numbers; any other error is a failure.
    with suppress(WordtideError), np.errstate(all="ignore"):
        model = DynamicEmbeddings.load(folder)
        for word in model.words:
            assert model.mean(word).shape == model.variance(word).shape == (len(model), model.dim)
        model.at(1855.0)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_knots_that_are_extended_are_those_made_at_once(seed):
    generator = np.random.default_rng(seed)
    size, more, slices, cut = 5, 2, 6, int(generator.integers(1, 6))
    there = generator.random((size + more, slices)) < 0.5
    there[size:, :cut] = False  # words that come in later
    values = generator.integers(1, 100, (size + more, slices))

    def made(there, values):
        starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
        return Occurrences(Knots(starts, np.nonzero(there)[1].astype(np.int32)), values[there])

    whole = made(there, values)
    grown = made(there[:size, :cut], values[:size, :cut]).extended(
        made(there[:, cut:], values[:, cut:]), cut, slices - cut
    )
    assert np.array_equal(grown.places.starts, whole.places.starts)
    assert np.array_equal(grown.places.slices, whole.places.slices)
    assert np.array_equal(grown.values, whole.values)
    active = [np.flatnonzero(there[:, t]) for t in range(cut, slices)]
    knots, rows = made(there[:size, :cut], values[:size, :cut]).places.extended(active, cut, size + more)
    assert np.array_equal(knots.words[rows], np.concatenate(active))
