"""A model folder is read as it was written; a damaged or hostile one is refused with a clear error."""

import contextlib
import json
import math
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from embeddings.models import KINDS, MOMENTS, WORDS, diffusion_of, model_of, posterior_of
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from wordtide.api import DynamicEmbeddings, load
from wordtide.embeddings.folder import FILES
from wordtide.errors import FolderError, OutputError, SettingsError, WordtideError
from wordtide.model.prior import ProductPrior
from wordtide.storage.arrays import write_tensors


def refused():
    """A refusal that says what to do."""
    return pytest.raises(
        FolderError, match=r"\n  (Copy the model folder|Make the model folder|Check the path)"
    )


@pytest.fixture
def folder(tmp_path):
    model_of("smoother").save(tmp_path / "model")
    return tmp_path / "model"


def change_header(folder, **changes):
    """Change the header, and list the sizes of files as they are now."""
    header = json.loads((folder / "header.json").read_text()) | changes
    if "files" not in changes:
        for name in FILES:
            header["files"][name] = {"bytes": (folder / name).stat().st_size, "crc32": 0}
    (folder / "header.json").write_text(json.dumps(header))


def change_arrays(folder, **changes):
    """Put other arrays in place of some (None: leave it out), in a file that is sound by itself."""
    arrays = load_file(folder / "arrays.safetensors") | changes
    write_tensors(
        folder / "arrays.safetensors", {name: array for name, array in arrays.items() if array is not None}
    )
    change_header(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_saving_and_loading_changes_no_bit_of_an_answer(kind, tmp_path):
    model = model_of(kind)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model", check=True)
    for word in WORDS:
        assert (loaded.mean(word, MOMENTS) == model.mean(word, MOMENTS)).all()
        assert (loaded.context_variance(word, MOMENTS) == model.context_variance(word, MOMENTS)).all()
        assert (loaded.occurrences(word) == model.occurrences(word)).all()
    assert (loaded.at(1855.0).U_variance == model.at(1855.0).U_variance).all()


def test_saving_and_loading_changes_no_fact(folder):
    loaded, model = load(folder), model_of("smoother")
    for name in ("words", "labels", "method", "solver", "settings", "curve", "kind", "dim", "elbo", "index"):
        assert getattr(loaded, name) == getattr(model, name), name
    assert (loaded.times == model.times).all()
    assert (loaded.diffusion.constant, loaded.diffusion.prior_variance) == (0.05, 1.7)


def test_a_loaded_model_saves_the_same_bytes(folder, tmp_path):
    load(folder).save(tmp_path / "again")
    for name in (*FILES, "header.json"):
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_a_curve_may_have_missing_numbers(tmp_path):
    row = {"step": 1, "slice": None, "elbo": float("nan"), "rate": None, "seconds": float("inf")}
    model_of("point", curve=[row]).save(tmp_path / "model")
    loaded = load(tmp_path / "model").curve[0]
    assert math.isnan(loaded.pop("elbo"))
    assert loaded == {"step": 1, "slice": None, "rate": None, "seconds": float("inf")}


def test_fractions_of_occurrences_are_kept(tmp_path):
    values = np.arange(19) / 5
    model_of("point", values=values).save(tmp_path / "model")
    assert load(tmp_path / "model").occurrences("always").tolist() == values[:8].tolist()


def test_states_stay_on_disk(folder):
    arrays = load(folder).fitted.posterior.arrays()
    assert all(isinstance(array, np.memmap) and not array.flags.owndata for array in arrays.values())


def test_a_model_can_be_written_over_the_folder_it_was_read_from(folder):
    loaded = load(folder)
    before = loaded.mean("gaps")
    loaded.save(folder, overwrite=True)
    assert (loaded.mean("gaps") == before).all()
    assert (load(folder, check=True).mean("gaps") == before).all()


def test_an_existing_folder_is_left_alone(folder):
    with pytest.raises(OutputError, match="exists already"):
        model_of("filter").save(folder)
    assert load(folder).kind == "smoother"


def test_the_safetensors_library_reads_the_arrays(folder):
    assert (
        load_file(folder / "arrays.safetensors")["mean_u"] == model_of("smoother").fitted.posterior.mean_u
    ).all()


def test_reading_a_model_and_asking_about_one_word_needs_no_compiler(folder):
    code = (
        "import sys; from wordtide.api import load\n"
        f"model = load({str(folder)!r}); model.mean('always'); model.variance('always'); model.means_at('1855')"
        f"\nprint({{'numba', 'pyarrow', 'pandas'}} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


@pytest.mark.parametrize("facts", [{"settings": {"rate": float("nan")}}, {"settings": {"when": object()}}])
def test_settings_that_json_cannot_hold_are_refused_before_anything_is_written(facts, tmp_path):
    with pytest.raises(SettingsError, match="settings of the model"):
        model_of("point", **facts).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_word_with_a_line_break_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="cannot be a word"):
        model_of("point", {"a\nb": [0]}).save(tmp_path / "model")


def test_a_curve_with_an_unknown_column_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="no column 'loss'"):
        model_of("point", curve=[{"loss": 1.0}]).save(tmp_path / "model")


@pytest.mark.parametrize("name", [*FILES, "header.json"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(FolderError, match=name):
        load(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_is_named(folder, name):
    (folder / name).write_bytes((folder / name).read_bytes()[:-1])
    with pytest.raises(FolderError, match=name):
        load(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_is_found_by_the_check(folder, name):
    content = bytearray((folder / name).read_bytes())
    content[-2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(FolderError, match=f"{name} is damaged"):
        load(folder, check=True)


@pytest.mark.parametrize("number", [np.nan, np.inf, -1.0])
def test_an_impossible_precision_is_found_by_the_check(folder, number, tmp_path):
    posterior = posterior_of("smoother")
    posterior.precision_v[3, 1] = number
    model_of("smoother", posterior=posterior).save(tmp_path / "other")
    with pytest.raises(FolderError, match="precision_v"):
        load(tmp_path / "other", check=True)


def test_another_version_is_refused(folder):
    change_header(folder, version=5)
    with pytest.raises(FolderError, match="version 5"):
        load(folder)


def test_a_counts_folder_is_not_a_model(folder):
    change_header(folder, kind="counts")
    with pytest.raises(FolderError, match="not a model folder"):
        load(folder)


@pytest.mark.parametrize("name", ["../words.txt", "/etc/passwd", "a/b", "", "."])
def test_a_file_outside_the_folder_is_not_read(folder, name):
    files = json.loads((folder / "header.json").read_text())["files"]
    change_header(folder, files=files | {name: {"bytes": 0, "crc32": 0}})
    with refused():
        load(folder, check=True)


def test_a_file_that_the_header_does_not_list_is_not_read(folder):
    files = json.loads((folder / "header.json").read_text())["files"]
    del files["words.txt"]
    change_header(folder, files=files)
    with pytest.raises(FolderError, match=r"words\.txt"):
        load(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_pipe_in_place_of_a_file_is_not_waited_for(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    change_header(folder)
    with pytest.raises(FolderError, match="is not a regular file"):
        load(folder, check=True)


def test_a_model_that_does_not_name_its_prior_has_that_of_the_paper(folder):
    before = load(folder)
    header = json.loads((folder / "header.json").read_text())
    assert header.pop("prior") == "product"
    (folder / "header.json").write_text(json.dumps(header))
    after = load(folder)
    assert type(after.diffusion) is ProductPrior
    for word in before.words:
        assert np.array_equal(
            after.mean(word, [1845.0, 1857.5, 1880.0]), before.mean(word, [1845.0, 1857.5, 1880.0])
        )
        assert np.array_equal(
            after.variance(word, [1845.0, 1857.5, 1880.0]), before.variance(word, [1845.0, 1857.5, 1880.0])
        )


@pytest.mark.parametrize(
    "changes",
    [
        {"posterior": "oracle"},
        {"posterior": "filter"},
        {"posterior": ["point"]},
        {"method": None},
        {"settings": []},
        {"diffusion": -1},
        {"diffusion": True},
        {"diffusion": "0.1"},
        {"diffusion": 1e300},
        {"prior": "guess"},
        {"prior": ["product"]},
        {"prior_variance": float("nan")},
        {"prior_variance": 10**400},
        {"prior_variance": 0},
        {"files": None},
    ],
    ids=str,
)
def test_a_header_that_contradicts_itself_is_refused(folder, changes):
    change_header(folder, **changes)
    with refused():
        load(folder)


@pytest.mark.parametrize(
    "times",
    [
        [1, 2, 3],
        [5.0, 4.0],
        [1.0] * 8,
        [np.nan] * 8,
        [*range(7), np.inf],
        [*range(7), 1e9],
        [0.0, 1e-300, *range(1, 7)],
    ],
)
def test_times_that_do_not_increase_are_refused(folder, times):
    change_arrays(folder, times=np.array(times, dtype=np.float64))
    with refused():
        load(folder)


@pytest.mark.parametrize("name", ["knot", "occurrence"])
@pytest.mark.parametrize(
    "starts",
    [
        [0] * 8,
        [0, 8, 12, 13, 13, 15, 17, 20],
        [1, 8, 12, 13, 13, 15, 17, 19],
        [0, 19],
        [0, 12, 8, 13, 13, 15, 17, 19],
        [],
    ],
    ids=str,
)
def test_starts_that_do_not_divide_the_knots_are_refused(folder, name, starts):
    change_arrays(folder, **{f"{name}_starts": np.array(starts, dtype=np.int64)})
    with refused():
        load(folder)


@pytest.mark.parametrize("name", ["knot", "occurrence"])
@pytest.mark.parametrize(("row", "t"), [(0, -1), (7, 8), (3, 2), (3, 5), (0, 2**31 - 1), (0, -(2**31))])
def test_slices_out_of_order_or_out_of_range_are_refused(folder, name, row, t):
    slices = load_file(folder / "arrays.safetensors")[f"{name}_slices"]
    slices[row] = t
    change_arrays(folder, **{f"{name}_slices": slices})
    with pytest.raises(FolderError, match="not in order, or outside"):
        load(folder)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("mean_u", np.zeros((19, 4), dtype=np.float32)),
        ("mean_u", np.zeros((18, 3), dtype=np.float32)),
        ("mean_v", np.zeros((19, 3), dtype=np.float64)),
        ("mean_v", np.zeros(57, dtype=np.float32)),
        ("precision_u", None),
        ("times", None),
        ("times", np.zeros((8, 1))),
        ("extents", np.zeros((8, 3))),
        ("extents", np.full((8, 2), np.nan)),
        ("extents", np.zeros((8, 2), dtype=np.int64)),
        ("knot_slices", np.zeros(19, dtype=np.int64)),
        ("occurrence_values", np.zeros(19, dtype=np.int32)),
        ("occurrence_values", np.zeros(18, dtype=np.int64)),
    ],
)
def test_arrays_of_another_shape_or_dtype_are_refused(folder, name, array):
    change_arrays(folder, **{name: array})
    with refused():
        load(folder)


def test_a_huge_dimension_is_refused_though_its_file_is_small(tmp_path):
    model = model_of("point", {"a": [], "b": []})
    model.save(tmp_path / "model")
    huge = np.zeros((0, 1 << 40), dtype=np.float32)
    change_arrays(tmp_path / "model", mean_u=huge, mean_v=huge)
    with pytest.raises(FolderError, match="dimensions"):
        load(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "text"),
    [("words.txt", b"a\n" * 7), ("words.txt", b"\xff\n"), ("words.txt", b""), ("labels.txt", b"1\n")],
)
def test_texts_that_do_not_fit_are_refused(folder, name, text):
    (folder / name).write_bytes(text)
    change_header(folder)
    with refused():
        load(folder)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "step\n",
        "step,slice,elbo,rate,seconds\n1,2\n",
        "step,slice,elbo,rate,seconds\n1,x,0,0,0\n",
        "step,é\n",
    ],
)
def test_a_damaged_curve_is_refused(folder, text):
    (folder / "curve.csv").write_text(text, encoding="utf-8")
    change_header(folder)
    with pytest.raises(FolderError, match=r"curve\.csv is damaged"):
        load(folder)


@pytest.mark.parametrize("path", ["nowhere", "file", "x" * 300])
def test_a_path_without_a_folder_is_refused(tmp_path, path):
    (tmp_path / "file").write_text("")
    with refused():
        load(tmp_path / path)


HOSTILE = {kind: model_of(kind, diffusion=diffusion_of()) for kind in KINDS}


@given(st.data())
@settings(max_examples=80)
def test_hostile_bytes_raise_a_folder_error_and_nothing_else(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp() / "hostile"
    shutil.rmtree(folder, ignore_errors=True)
    HOSTILE[data.draw(st.sampled_from(KINDS))].save(folder)
    name = data.draw(st.sampled_from([*FILES, "header.json"]))
    content = bytearray((folder / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (folder / name).write_bytes(content)
    # The states may be any numbers; any other error is a failure.
    with contextlib.suppress(WordtideError), np.errstate(all="ignore"):
        model = DynamicEmbeddings.load(folder)
        for word in model.words:
            assert model.mean(word).shape == model.variance(word).shape == (len(model), model.dim)
            model.occurrences(word)
        model.at(1855.0)
        model.sample(model.words[0], 2)
