"""Models with one vector per word: the context vector is S u, derived and not stored."""

import json

import numpy as np
import pytest
from embeddings.models import KINDS, MOMENTS, TIMES, WORDS, model_of, posterior_of, tied, tied_crowd
from numpy.testing import assert_allclose

import wordtide
from wordtide.embeddings.folder import is_sliced
from wordtide.embeddings.posterior import Posterior
from wordtide.errors import FolderError, SettingsError
from wordtide.questions.neighbors import analogy, neighbors
from wordtide.questions.neighbors_over_time import neighbors_over_time
from wordtide.questions.similarity import similarity
from wordtide.questions.vectors import vectors_of
from wordtide.storage.arrays import map_tensors

SIGNS = np.array([1.0, -1.0, 1.0], dtype=np.float32)
ALL = np.arange(len(WORDS))
each_kind = pytest.mark.parametrize("kind", KINDS)


MODELS = {kind: model_of(kind, posterior=tied(posterior_of(kind), SIGNS)) for kind in KINDS}


@each_kind
def test_the_context_vector_is_the_word_vector_times_the_signs(kind):
    model = MODELS[kind]
    assert model.contexts == "tied"
    for word in WORDS:
        assert_allclose(model.context_mean(word, MOMENTS), model.mean(word, MOMENTS) * SIGNS, rtol=1e-12)
        assert (model.context_variance(word, MOMENTS) == model.variance(word, MOMENTS)).all()
    state = model.at(1857.5)
    assert_allclose(state.V, state.U * SIGNS)
    assert (state.V_variance == state.U_variance).all()


@each_kind
def test_the_sum_doubles_the_positive_axes_and_removes_the_others(kind):
    model, scale = MODELS[kind], np.array([2.0, 0.0, 2.0])
    word, both = vectors_of(model, "word"), vectors_of(model, "sum")
    weights = np.linspace(0.5, 2.0, 2 * len(WORDS)).reshape(2, -1)
    assert_allclose(both.means_at(1857.5), word.means_at(1857.5) * scale)
    assert_allclose(both.variances_at(1857.5), word.variances_at(1857.5) * scale**2)
    moved, alone = (one.movement(ALL, TIMES[1], TIMES[6], *weights) for one in (both, word))
    assert_allclose(moved.posterior, alone.posterior * scale**2)
    assert_allclose(moved.sampling, alone.sampling * scale**2)


@each_kind
def test_context_vectors_have_the_similarities_of_word_vectors(kind):
    found, expected = (
        similarity(MODELS[kind], "always", "gaps", vectors=vectors).columns for vectors in ("context", "word")
    )
    assert_allclose(found["similarity"], expected["similarity"], rtol=1e-12)
    assert_allclose(found["low"], expected["low"], rtol=1e-12)


@each_kind
def test_similarities_by_the_sum_are_those_of_a_model_of_the_positive_axes(kind):
    whole = posterior_of(kind)
    positive = np.flatnonzero(SIGNS > 0)
    sides = {
        name: None if array is None else np.ascontiguousarray(array[:, positive])
        for name, array in {"variance": whole.spread("u"), "precision": whole.spread("u")}.items()
    }
    kept = {"filter": ["variance"], "smoother": ["precision"], "point": []}[kind]
    both = {f"{name}_{side}": sides[name] for name in kept for side in "uv"}
    means = [np.ascontiguousarray(whole.mean_u[:, positive])] * 2
    other = model_of(kind, posterior=Posterior(kind, whole.knots, *means, **both))
    found = similarity(MODELS[kind], "always", "gaps", times=MOMENTS, vectors="sum").columns
    expected = similarity(other, "always", "gaps", times=MOMENTS, vectors="word").columns
    for name in ("similarity", "low", "high"):
        assert_allclose(found[name], expected[name], rtol=1e-9)


@each_kind
@pytest.mark.parametrize("vectors", ["word", "context", "sum"])
def test_neighbors_over_time_are_the_neighbors_of_each_slice(kind, vectors):
    model = tied_crowd(kind)
    found = neighbors_over_time(model, "word7", 5, vectors).columns
    for time in model.times:
        here = np.asarray(found["time"]) == time
        expected = neighbors(model, "word7", float(time), 5, vectors=vectors).columns
        assert [word for word, kept in zip(found["word"], here, strict=True) if kept] == expected["word"]
        assert_allclose(np.asarray(found["similarity"])[here], expected["similarity"], rtol=1e-5)


@pytest.mark.parametrize("kind", ["filter", "smoother"])
def test_probabilities_of_analogies_are_between_0_and_1_although_axes_are_removed(kind):
    model = tied_crowd(kind)
    found = analogy(model, "word7", TIMES[0], TIMES[-1], top=60).columns
    assert "word7" in found["word"]
    assert ((found["probability"] >= 0) & (found["probability"] <= 1)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_samples_of_context_vectors_are_those_of_the_word_vectors_with_signs(kind):
    model = MODELS[kind]
    assert_allclose(
        model.sample("gaps", 3, seed=4, context=True), model.sample("gaps", 3, seed=4) * SIGNS, rtol=1e-12
    )


@each_kind
def test_a_folder_holds_the_signs_and_no_context_vectors(kind, tmp_path):
    MODELS[kind].save(tmp_path / "model")
    header = json.loads((tmp_path / "model" / "header.json").read_text())
    assert (header["contexts"], header["version"]) == ("tied", 4 if kind == "filter" else 3)
    arrays = [map_tensors(path) for path in (tmp_path / "model").glob("*.safetensors")]
    assert not {name for found in arrays for name in found if name.endswith("_v")}
    loaded = wordtide.load(tmp_path / "model", check=True)
    assert loaded.contexts == "tied"
    assert (loaded.fitted.posterior.signs == SIGNS).all()
    for word in WORDS:
        assert (loaded.mean(word) == MODELS[kind].mean(word)).all()
        assert (loaded.context_mean(word) == MODELS[kind].context_mean(word)).all()
        assert (loaded.context_variance(word) == MODELS[kind].context_variance(word)).all()


def test_a_filter_kept_slice_by_slice_is_written_as_one_kept_word_by_word(tmp_path):
    MODELS["filter"].save(tmp_path / "one")
    loaded = wordtide.load(tmp_path / "one")
    assert is_sliced(loaded.fitted)
    loaded.save(tmp_path / "two")
    for path in (tmp_path / "one").glob("*.safetensors"):
        assert (tmp_path / "two" / path.name).read_bytes() == path.read_bytes()


@each_kind
def test_separate_contexts_are_named_in_the_header_and_assumed_without_it(kind, tmp_path):
    model_of(kind).save(tmp_path / "model")
    path = tmp_path / "model" / "header.json"
    header = json.loads(path.read_text())
    assert header.pop("contexts") == "separate"
    path.write_text(json.dumps(header))
    assert wordtide.load(tmp_path / "model").contexts == "separate"


@each_kind
def test_a_header_that_contradicts_its_version_is_refused(kind, tmp_path):
    MODELS[kind].save(tmp_path / "model")
    path = tmp_path / "model" / "header.json"
    path.write_text(path.read_text().replace('"tied"', '"separate"'))
    with pytest.raises(FolderError, match="contexts"):
        wordtide.load(tmp_path / "model")


@pytest.mark.parametrize("signs", [[1, -1], [1, 0, 1], [[1, 1, 1]], [1, np.nan, 1]])
def test_signs_must_be_one_or_minus_one_for_each_dimension(signs):
    with pytest.raises(SettingsError, match="signs of tied contexts"):
        tied(posterior_of("smoother"), signs)
