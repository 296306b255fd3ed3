"""`wordtide.fit` for users: every method gives the same kind of answers, and a seed determines their bits."""

import numpy as np
import pytest
from observers import RecordingObserver

import wordtide
from wordtide.embeddings import calibration, messages
from wordtide.inference.problem import PairSettings, slice_data
from wordtide.inference.settings import FitSettings
from wordtide.progress import Observer

STEMS = ("river", "mill", "road", "king", "law", "steam", "gold", "war")
WORDS = [stem + ending for stem in STEMS for ending in ("", "er", "ing", "ly")]
YEARS = (1900, 1903, 1911, 1912)
FEW = {"adam_steps": 50, "adam_minibatch_words": 8, "adam_minibatch_steps": 30, "adam_full_steps": 20}
ADAM = {"solver": "adam", "prior": "product", "contexts": "separate", **FEW}
METHODS = ("smoothing", "filtering", "independent", "warm-start", "static")
NATURAL = {
    "smoothing": {"method": "smoothing", "contexts": "separate", "negative_contexts": 8},
    "filtering": {"method": "filtering", "contexts": "separate", "negative_contexts": 8},
    "independent": {"method": "independent", "contexts": "separate"},
    "warm-start": {"method": "warm-start", "contexts": "separate"},
    "static": {"method": "static", "contexts": "separate"},
    # Tied vectors start from eigenvectors, so that without a sample nothing would depend on the seed.
    **{
        f"{method}, tied": {"method": method, "contexts": "tied", "negative_contexts": 8}
        for method in METHODS
    },
}
WAYS = {
    **NATURAL,
    "smoothing by adam": {"method": "smoothing", **ADAM},
    "filtering by adam": {"method": "filtering", **ADAM},
}
KINDS = {
    way: {"smoothing": "smoother", "independent": "point", "warm-start": "point"}.get(
        settings["method"], "filter"
    )
    for way, settings in WAYS.items()
}
TIED = [way for way, settings in WAYS.items() if settings["contexts"] == "tied"]
OVER_TIME = [way for way, settings in WAYS.items() if settings["method"] != "static"]


def text(year, length=300):
    """Words whose frequencies differ, and differ from year to year, so that some words miss some slices."""
    generator = np.random.default_rng(year)
    frequencies = 1.0 / np.arange(1, len(WORDS) + 1) ** 1.5
    return " ".join(generator.choice(generator.permutation(WORDS), length, p=frequencies / frequencies.sum()))


def fit(counts, way, **settings):
    return wordtide.fit(counts, **{"dim": 5, "prior_variance": 1.0, "threads": 1, **WAYS[way], **settings})


def vectors(model):
    """All that the posterior stores, by name."""
    return {name: np.array(array) for name, array in model.fitted.posterior.arrays().items()}


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


@pytest.fixture(scope="module")
def counts():
    return wordtide.count([(str(year), text(year)) for year in YEARS])


@pytest.fixture(scope="module")
def models(counts):
    return {way: fit(counts, way) for way in WAYS}


@pytest.fixture(params=list(WAYS))
def way(request):
    return request.param


def test_some_words_miss_some_slices_so_that_states_are_predicted(counts):
    assert any(len(np.flatnonzero(counts.unigrams(t))) < len(counts.words) for t in range(len(counts)))


def test_every_method_has_its_kind_of_posterior(models, way):
    assert models[way].kind == KINDS[way]


def test_every_method_has_the_words_of_the_counts(models, way, counts):
    assert models[way].words == counts.words


@pytest.mark.parametrize("way", OVER_TIME)
def test_every_method_over_time_has_the_times_and_labels_of_the_counts(models, way, counts):
    assert (models[way].times.tolist(), models[way].labels) == (counts.times.tolist(), counts.labels)


def test_the_static_model_has_one_slice_that_names_the_first_and_the_last(models):
    assert models["static"].labels == ["1900 to 1912"]


def test_words_and_contexts_leave_the_origin_and_stay_near_it(models, way):
    for time in models[way].times:
        state = models[way].at(float(time))
        assert 0.01 < np.abs(state.U).max() < 10.0
        assert 0.01 < np.abs(state.V).max() < 10.0


@pytest.mark.parametrize("way", [way for way in WAYS if KINDS[way] != "point"])
def test_variances_of_bayesian_methods_are_positive(models, way):
    states = [models[way].at(float(time)) for time in models[way].times]
    assert min(min(state.U_variance.min(), state.V_variance.min()) for state in states) > 0


@pytest.mark.parametrize("way", [way for way in WAYS if KINDS[way] != "point"])
def test_variances_of_bayesian_methods_are_no_larger_than_that_of_the_prior(models, way):
    states = [models[way].at(float(time)) for time in models[way].times]
    assert max(state.U_variance.max() for state in states) <= 1.0 + 1e-6


@pytest.mark.parametrize("way", [way for way in WAYS if KINDS[way] == "point"])
def test_variances_of_baselines_are_zero(models, way):
    assert not models[way].variance("river").any()


def test_the_curve_counts_its_steps_from_1(models, way):
    assert [row["step"] for row in models[way].curve] == list(range(1, len(models[way].curve) + 1))


def test_the_seconds_of_the_curve_never_decrease(models, way):
    seconds = [row["seconds"] for row in models[way].curve]
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("way", [way for way in WAYS if KINDS[way] == "smoother"])
def test_the_elbo_of_smoothing_is_the_last_one_measured(models, way):
    measured = [row["elbo"] for row in models[way].curve if row["elbo"] is not None]
    assert models[way].elbo == measured[-1]


@pytest.mark.parametrize("way", [way for way in OVER_TIME if KINDS[way] != "smoother"])
def test_the_elbo_of_sequential_methods_is_the_mean_over_slices_weighted_by_pairs(models, way, counts):
    last = {row["slice"]: row["elbo"] for row in models[way].curve if row["elbo"] is not None}
    settings = PairSettings(tied=way in TIED)
    pairs = [slice_data(counts[t], settings).pairs for t in range(len(counts))]
    expected = sum(last[t] * pairs[t] for t in range(len(counts))) / sum(pairs)
    assert models[way].elbo == pytest.approx(expected, rel=1e-9)


def test_the_settings_are_saved_as_resolved(models, way):
    assert models[way].settings == FitSettings(dim=5, prior_variance=1.0, **WAYS[way]).as_json()


@pytest.mark.parametrize("way", OVER_TIME)
def test_occurrences_are_those_of_the_counts(models, way, counts):
    occurrences = np.column_stack([models[way].occurrences(word) for word in counts.words])
    assert occurrences.tolist() == [counts.unigrams(t).tolist() for t in range(len(counts))]


def test_occurrences_of_the_static_model_are_sums_over_slices(models, counts):
    occurrences = [int(models["static"].occurrences(word)[0]) for word in counts.words]
    assert occurrences == sum(counts.unigrams(t) for t in range(len(counts))).tolist()


def test_a_model_that_is_saved_and_loaded_answers_the_same(models, way, tmp_path):
    models[way].save(tmp_path / "model")
    loaded = wordtide.load(tmp_path / "model", check=True)
    moments = [1895.0, 1905.5, *models[way].times.tolist(), 1950.0]
    for question in ("mean", "variance", "context_mean", "context_variance"):
        for word in ("river", "warly"):
            assert np.array_equal(
                getattr(loaded, question)(word, moments), getattr(models[way], question)(word, moments)
            )


def test_the_same_seed_gives_the_same_bits(models, way, counts):
    assert same(vectors(fit(counts, way)), vectors(models[way]))


def test_another_seed_gives_another_result(models, way, counts):
    assert not same(vectors(fit(counts, way, seed=1)), vectors(models[way]))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_two_threads_give_the_bits_of_one(way, counts, precision):
    one, two = (vectors(fit(counts, way, threads=threads, precision=precision)) for threads in (1, 2))
    assert same(one, two)


@pytest.mark.parametrize("way", TIED)
def test_tied_context_means_are_the_word_means_with_the_signs_of_their_axes(models, way):
    posterior = models[way].fitted.posterior
    assert set(np.unique(posterior.signs)) == {-1.0, 1.0}
    for word in ("river", "warly"):
        expected = models[way].mean(word) * posterior.signs
        assert np.array_equal(models[way].context_mean(word), expected)
        assert np.array_equal(models[way].context_variance(word), models[way].variance(word))


@pytest.mark.parametrize("way", NATURAL)
def test_a_fit_that_was_stopped_ends_with_the_same_bits(models, way, counts, tmp_path):
    class Stops(Observer):
        steps = 0

        def step(self, amount=1, status=""):
            self.steps += 1
            if (tmp_path / "model.checkpoint").exists() and self.steps % 5 == 0:
                raise KeyboardInterrupt

    settings = {"output": tmp_path / "model", "checkpoint_every": 0}
    with pytest.raises(KeyboardInterrupt):
        fit(counts, way, observer=Stops(), **settings)
    assert same(vectors(fit(counts, way, resume=True, **settings)), vectors(models[way]))


def test_double_precision_finds_the_elbo_of_single_precision(models, way, counts):
    # Draws differ between the precisions of adam, whose estimates of the ELBO are from one sample.
    tolerance = 1e-4 if "adam" not in way else 0.05
    assert fit(counts, way, precision="float64").elbo == pytest.approx(models[way].elbo, abs=tolerance)


def test_counts_on_disk_give_the_bits_of_counts_in_memory(models, counts, tmp_path):
    counts.save(tmp_path / "counts")
    assert same(vectors(fit(tmp_path / "counts", "filtering")), vectors(models["filtering"]))


def test_every_method_fits_a_single_slice(way):
    model = fit(wordtide.count([("1900", text(1900))]), way)
    assert len(model) == 1
    assert 0.0 < np.abs(model.mean("river")).max() < 10.0


def test_a_smoothing_fit_measures_once_how_well_contexts_are_known(counts, monkeypatch):
    measure, measured = messages.context_share, []
    for module in (messages, calibration):
        monkeypatch.setattr(
            module, "context_share", lambda *arguments: measured.append(arguments) or measure(*arguments)
        )
    fit(counts, "smoothing")
    assert len(measured) == 1


@pytest.mark.parametrize("method", ["smoothing", "filtering"])
def test_an_estimated_diffusion_constant_is_kept_beside_the_settings(counts, method):
    model, given = fit(counts, method, diffusion="auto"), fit(counts, method)
    assert (model.settings["diffusion"], given.diffusion.constant) == ("auto", 1e-3)
    # The texts of different years are unrelated, so a large constant predicts better.
    assert model.diffusion.constant > 100 * given.diffusion.constant
    assert model.fitted.prediction > given.fitted.prediction


def test_the_output_is_a_model_folder_and_nothing_else_is_left(counts, tmp_path):
    model = fit(counts, "filtering", output=tmp_path / "model", checkpoint_every=0)
    assert ([path.name for path in tmp_path.iterdir()], model.path) == (["model"], tmp_path / "model")


def test_the_first_message_states_size_and_memory(counts):
    observer = RecordingObserver()
    fit(counts, "smoothing", observer=observer)
    assert observer.messages[0].startswith("smoothing by natural: 4 slices, 32 words, ")
    assert "memory needed: about 0.3 GB" in observer.messages[0]
