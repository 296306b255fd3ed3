"""Models of every kind: times, words, all words at once, and draws."""

import datetime as dt

import numpy as np
import pytest
from embeddings.models import KINDS, MOMENTS, TIMES, WORDS, diffusion_of, model_of, posterior_of
from numpy.testing import assert_allclose

from wordtide.cli.commands.info import model_facts
from wordtide.embeddings.posterior import Posterior
from wordtide.errors import SettingsError, UnknownWordError
from wordtide.model.chain import smooth_words
from wordtide.model.knots import prior_at_knots

MODELS = {kind: model_of(kind) for kind in KINDS}
each_kind = pytest.mark.parametrize("model", MODELS.values(), ids=KINDS)


@each_kind
@pytest.mark.parametrize("moment", MOMENTS)
def test_all_words_at_once_agree_with_each_word_alone(model, moment):
    state = model.at(moment)
    for number, word in enumerate(WORDS):
        assert_allclose(state.U[number], model.mean(word, moment), rtol=1e-6, atol=1e-7)
        assert_allclose(state.V[number], model.context_mean(word, moment), rtol=1e-6, atol=1e-7)
        assert_allclose(state.U_variance[number], model.variance(word, moment), rtol=1e-6)
        assert_allclose(state.V_variance[number], model.context_variance(word, moment), rtol=1e-6)


@each_kind
def test_a_state_is_in_single_precision(model):
    state = model.at(TIMES[3])
    assert {array.dtype for array in (state.U, state.V, state.U_variance, state.V_variance)} == {
        np.dtype(np.float32)
    }


@each_kind
def test_the_means_alone_are_those_of_the_state(model):
    assert (model.means_at(1855.0) == model.at(1855.0).U).all()
    assert (model.means_at(1855.0, context=True) == model.at(1855.0).V).all()


def test_variances_of_many_words_of_all_lengths_agree_with_one_word_at_a_time():
    generator = np.random.default_rng(5)
    lengths = generator.integers(0, 9, size=600)
    places = {
        str(n): sorted(generator.choice(8, size, replace=False).tolist()) for n, size in enumerate(lengths)
    }
    model = model_of("smoother", places)
    knots, precision = model.fitted.posterior.knots, model.fitted.posterior.precision_u
    together, data = np.empty(precision.shape), precision.astype(np.float64)
    prior = prior_at_knots(knots, model.diffusion)
    smooth_words(knots.starts, *prior, data, np.zeros_like(data), together, 0, len(places))
    for number in range(0, 600, 7):
        rows = knots.rows_of(number)
        expected = model.variance(str(number))[knots.slices[rows]]
        assert_allclose(together[rows], expected, rtol=1e-12)


@each_kind
def test_a_state_on_the_grid_knows_its_slice_and_its_occurrences(model):
    state = model.at(TIMES[4])
    assert (state.time, state.slice) == (TIMES[4], 4)
    assert state.occurrences.tolist() == [model.occurrences(word)[4] for word in WORDS]


@each_kind
def test_a_state_off_the_grid_is_entirely_predicted(model):
    state = model.at(1855.0)
    assert state.slice is None
    assert not state.occurrences.any()
    assert state.predicted.all()


@each_kind
def test_a_word_that_does_not_occur_in_a_slice_is_predicted_there(model):
    for t, time in enumerate(TIMES):
        expected = [model.occurrences(word)[t] == 0 for word in WORDS]
        assert model.at(time).predicted.tolist() == expected
        assert [model.is_prediction(word, time) for word in WORDS] == expected


def test_occurrences_are_zero_where_a_word_is_absent():
    assert model_of("point", {"a": [1], "b": [0, 2]}, diffusion_of(TIMES[:3])).occurrences("b").tolist() == [
        2,
        0,
        3,
    ]


def test_point_estimates_are_carried_over_to_slices_without_any():
    model = MODELS["point"]
    fitted = model.fitted.posterior.mean_u[model.fitted.posterior.knots.rows_of(WORDS.index("middle"))]
    assert (model.mean("middle") == fitted[[0, 0, 0, 0, 0, 1, 1, 1]]).all()
    assert (model.mean("middle", [1700.0, 1860.9, 2000.0]) == fitted[[0, 0, 1]]).all()


def test_point_estimates_have_no_uncertainty():
    model = MODELS["point"]
    assert not model.variance("gaps").any()
    assert not model.covariance("gaps", TIMES[0], TIMES[3]).any()
    assert (model.sample("gaps", 3) == model.mean("gaps")).all()


@each_kind
def test_one_time_gives_a_vector_and_several_a_row_for_each(model):
    assert model.mean("gaps", 1855.0).shape == model.variance("gaps", 1855.0).shape == (3,)
    assert model.context_mean("gaps", [1855.0, "1854"]).shape == (2, 3)
    assert model.context_variance("gaps").shape == (len(model), 3)


@each_kind
def test_times_may_come_in_any_order_and_twice(model):
    asked = [1870.5, 1851.0, 1870.5]
    assert (model.mean("gaps", asked)[[1, 2, 0]] == model.mean("gaps", [1851.0, 1870.5, 1870.5])).all()


@pytest.mark.parametrize(
    "time", ["1862", 1862, "1862-11", np.int64(1862), dt.date(1862, 11, 25), "1862-11-25"]
)
def test_a_date_that_holds_a_slice_means_the_slice(time):
    assert MODELS["filter"].year(time) == 1862.9


@pytest.mark.parametrize(
    ("time", "year"),
    [
        ("1865", 1865.5),
        (1865, 1865.5),
        (1865.0, 1865.0),
        ("1865.25", 1865.25),
        ("1864-01-01", 1864 + 0.5 / 366),
    ],
)
def test_any_other_date_means_its_middle(time, year):
    assert MODELS["filter"].year(time) == pytest.approx(year, abs=1e-12)


def test_a_date_within_a_long_slice_means_the_slice():
    times = np.array([1805.0, 1815.3])
    extents = np.array([[1800.5, 1809.5], [1810.5, 1819.5]])
    model = model_of("point", {"a": [0], "b": [1]}, diffusion_of(times), extents=extents)
    assert [model.year(date) for date in ("1801", "1809-03", "1819", dt.date(1811, 2, 3))] == [
        1805.0,
        1805.0,
        1815.3,
        1815.3,
    ]


@pytest.mark.parametrize(
    "time",
    [
        "spring",
        "1862-13",
        "",
        float("nan"),
        float("inf"),
        1e300,
        "99999-01",
        True,
        [],
        b"1862",
        object(),
        ["1862", "x"],
    ],
)
def test_an_invalid_time_is_refused_with_an_example(time):
    with pytest.raises(SettingsError, match="Give"):
        MODELS["filter"].mean("gaps", time)


def test_an_unknown_word_is_refused_with_similar_spellings():
    with pytest.raises(UnknownWordError, match="middle"):
        MODELS["filter"].mean("midle")


def test_a_word_is_found_in_lower_case():
    assert MODELS["filter"].word_number("Gaps") == WORDS.index("gaps")


@pytest.mark.parametrize("kind", ["filter", "smoother"])
def test_draws_are_the_same_for_the_same_seed(kind):
    assert (MODELS[kind].sample("gaps", 4, seed=7) == MODELS[kind].sample("gaps", 4, seed=7)).all()


@pytest.mark.parametrize("kind", ["filter", "smoother"])
def test_draws_of_word_and_context_vectors_are_independent(kind):
    word = MODELS[kind].sample("gaps", 2000, seed=1)[:, 0, 0]
    context = MODELS[kind].sample("gaps", 2000, seed=1, context=True)[:, 0, 0]
    assert abs(np.corrcoef(word, context)[0, 1]) < 0.1


@pytest.mark.parametrize("kind", ["filter", "smoother"])
def test_draws_at_the_last_slice_have_its_variance(kind):
    draws = MODELS[kind].sample("once", 4000, seed=2)
    assert draws.shape == (4000, len(TIMES), 3)
    assert_allclose(draws[:, -1].var(axis=0), MODELS[kind].variance("once", TIMES[-1]), rtol=0.15)


@pytest.mark.parametrize(("n", "seed"), [(0, 0), (3, -1)])
def test_impossible_draws_are_refused(n, seed):
    with pytest.raises(SettingsError, match="at least one draw"):
        MODELS["smoother"].sample("gaps", n, seed=seed)


@pytest.mark.parametrize("kind", ["filter", "smoother"])
def test_rotating_all_vectors_rotates_the_answers(kind):
    rotation = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    posterior = posterior_of(kind)
    isotropic = {
        name: np.repeat(array[:, :1], 3, axis=1)
        for name, array in posterior.arrays().items()
        if "mean" not in name
    }
    means = {side: (getattr(posterior, f"mean_{side}") @ rotation).astype(np.float32) for side in "uv"}
    model = model_of(
        kind, posterior=Posterior(kind, posterior.knots, posterior.mean_u, posterior.mean_v, **isotropic)
    )
    rotated = model_of(kind, posterior=Posterior(kind, posterior.knots, means["u"], means["v"], **isotropic))
    for word in WORDS:
        assert_allclose(rotated.mean(word, MOMENTS), model.mean(word, MOMENTS) @ rotation, atol=1e-6)
        assert (rotated.variance(word, MOMENTS) == model.variance(word, MOMENTS)).all()


@each_kind
def test_a_model_of_one_slice_has_the_prior_away_from_it(model):
    single = model_of(model.kind, {"a": [0], "b": []}, diffusion_of([1900.5]))
    expected = single.fitted.posterior.mean_u[0]
    assert_allclose(single.mean("a"), expected[None], rtol=1e-12)
    later, moments = 1.7 + 0.05 * (1950.0 - 1900.5), [1900.5, 1950.0]
    expected = np.zeros(2) if model.kind == "point" else np.array([1.7, later])
    assert_allclose(single.at(1950.0).U_variance[1], expected[1], rtol=1e-6)
    drawn = single.sample("b", 4000, times=moments).var(axis=0)
    assert_allclose(drawn, np.repeat(expected[:, None], 3, axis=1), rtol=0.1)


@each_kind
def test_a_model_without_knots_has_the_prior(model):
    empty = model_of(model.kind, {"a": [], "b": []})
    assert not empty.at(TIMES[2]).U.any()
    assert (empty.at(TIMES[2]).U_variance == empty.variance("a", TIMES[2]).astype(np.float32)).all()


def test_the_repr_of_a_model_is_one_line():
    assert (
        repr(MODELS["smoother"])
        == "<DynamicEmbeddings: smoothing, 8 slices (slice 0 to slice 7), 7 words, 3 dimensions>"
    )


def test_the_elbo_is_that_of_the_fit_and_nan_if_unknown():
    assert model_of("smoother", elbo=-1.0 / 3.0).elbo == -1.0 / 3.0
    assert np.isnan(model_of("point", elbo=None).elbo)


def test_the_facts_count_live_axes():
    posterior = posterior_of("smoother")
    posterior.mean_u[:, 1] = posterior.mean_v[:, 1] = 1e-5
    facts = model_facts(model_of("smoother", posterior=posterior))
    assert (facts["live_axes"], facts["dim"], facts["knots"], facts["steps"]) == (2, 3, 19, 2)


@pytest.mark.parametrize(
    ("kind", "arrays"), [("filter", {}), ("point", {"variance_u": "mean_u"}), ("neither", {})]
)
def test_a_posterior_with_the_wrong_arrays_is_refused(kind, arrays):
    whole = posterior_of("point")
    with pytest.raises(SettingsError, match="posterior of kind"):
        Posterior(
            kind,
            whole.knots,
            whole.mean_u,
            whole.mean_v,
            **{name: getattr(whole, of) for name, of in arrays.items()},
        )


def test_a_posterior_with_a_missing_row_is_refused():
    whole = posterior_of("point")
    with pytest.raises(SettingsError, match="one row per knot"):
        Posterior("point", whole.knots, whole.mean_u, whole.mean_v[:-1])


def test_labels_that_do_not_fit_the_slices_are_refused():
    with pytest.raises(SettingsError, match="labels do not match"):
        model_of("point", labels=["one"])
