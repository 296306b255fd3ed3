"""Settings of a fit: their precedence, and errors that name the option and a remedy."""

import math

import numpy as np
import pytest

from wordtide.errors import InputError, SettingsError
from wordtide.inference.settings import PRIOR_NAMES, FitSettings, resolve
from wordtide.model.prior import PRIORS

WHOLE = {
    "dim": (0, -1, 16_385),
    "seed": (-1, 1 << 63),
    "negative_contexts": (-1, (1 << 24) + 1),
    "max_steps": (0, -1, 1_000_001),
    "adam_steps": (0, 1_000_001),
    "adam_minibatch_words": (0, (1 << 24) + 1),
    "adam_minibatch_steps": (-1, 1_000_001),
    "adam_full_steps": (-1, 1_000_001),
}
REAL = {
    "diffusion": (0, 1e-40, 1.1e6),
    "prior_variance": (0, 1e-40, 1.1e6),
    "negative_ratio": (0, 1001.0),
    "context_exponent": (2.1,),
    "rate": (0, 1.1),
    "final_rate": (0, 1.1),
    "trust": (0, 1.1e6),
    "adam_rate": (0, 1.1),
    "adam_full_rate": (0, 1.1),
    "tolerance": (1.1,),
}
NEVER_WHOLE = (2.5, "many", True, math.nan, [3])
NEVER_REAL = (-0.5, math.nan, math.inf, -math.inf, True, None, [0.5], 10**400)
BAD = [
    *((name, value) for name, values in WHOLE.items() for value in (*values, *NEVER_WHOLE)),
    *((name, value) for name, values in REAL.items() for value in (*values, *NEVER_REAL)),
    *((name, "much") for name in REAL),
    *(
        (name, value)
        for name in ("method", "solver", "contexts")
        for value in ("best", "", None, 3, ["smoothing"])
    ),
]


def config(tmp_path, content):
    path = tmp_path / "run.toml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(("name", "value"), BAD, ids=lambda value: str(value)[:20])
def test_a_bad_value_is_named_with_its_option(name, value):
    with pytest.raises(SettingsError) as caught:
        FitSettings(**{name: value})
    assert caught.value.problem.startswith("--" + name.replace("_", "-") + "=")


@pytest.mark.parametrize(("name", "value"), BAD, ids=lambda value: str(value)[:20])
def test_a_bad_value_has_a_remedy(name, value):
    with pytest.raises(SettingsError) as caught:
        FitSettings(**{name: value})
    assert caught.value.remedy.startswith(("Give ", "Use "))


@pytest.mark.parametrize("name", ["tolerance", "context_exponent", "seed", "negative_contexts"])
def test_zero_is_accepted_where_it_has_a_meaning(name):
    assert getattr(FitSettings(**{name: 0}), name) == 0


def test_no_contexts_mean_an_exact_sum():
    assert FitSettings(negative_contexts=0).sample_size is None


def test_adam_supports_separate_contexts_only():
    with pytest.raises(SettingsError, match="separate contexts"):
        FitSettings(solver="adam", contexts="tied")


def test_adam_has_separate_contexts_unless_others_are_asked_for():
    assert resolve({"solver": "adam"}).contexts == "separate"
    with pytest.raises(SettingsError, match="separate contexts"):
        resolve({"solver": "adam", "contexts": "tied"})


@pytest.mark.parametrize("method", ["independent", "warm-start", "static"])
def test_adam_is_refused_for_the_other_methods(method):
    with pytest.raises(SettingsError, match=method):
        FitSettings(method=method, solver="adam")


@pytest.mark.parametrize(
    "settings",
    [{"solver": "adam"}, {"method": "independent"}, {"method": "warm-start"}, {"method": "static"}],
)
def test_diffusion_auto_is_refused_where_it_cannot_be_estimated(settings):
    with pytest.raises(SettingsError, match="diffusion='auto'"):
        FitSettings(diffusion="auto", **settings)


def test_smoothing_by_adam_without_any_step_is_refused():
    with pytest.raises(SettingsError, match="adam_full_steps="):
        FitSettings(solver="adam", adam_minibatch_steps=0, adam_full_steps=0)


def test_a_preset_overrides_defaults():
    assert resolve({}, "paper-gbooks").dim == 200


@pytest.mark.parametrize(
    ("preset", "dim", "diffusion"),
    [("paper-sotu", 100, 1e-3), ("paper-twitter", 100, 1.0), ("paper-gbooks", 200, 1e-3)],
)
def test_presets_hold_the_table_of_the_paper(preset, dim, diffusion):
    settings = resolve({}, preset)
    assert settings.contexts == "separate"
    assert (settings.dim, settings.diffusion, settings.prior, settings.prior_variance) == (
        dim,
        diffusion,
        "product",
        1.0,
    )
    assert (settings.negative_ratio, settings.context_exponent) == (1.0, 0.75)


@pytest.mark.parametrize("method", ["smoothing", "filtering"])
@pytest.mark.parametrize(
    "times", [np.array([1850.0]), np.arange(1790.0, 2017.0), 2020.0 + np.arange(300) / 365.0]
)
def test_the_default_prior_variance_does_not_depend_on_the_slices(method, times):
    marginal = FitSettings(method=method).prior_on(times, 1e-3).marginal
    assert (marginal == FitSettings().variance_of_prior()).all()


def test_the_product_prior_has_the_papers_variance():
    assert FitSettings(prior="product").variance_of_prior() == 1.0


def test_a_given_prior_variance_is_used_unchanged():
    assert FitSettings(prior_variance=7).variance_of_prior() == 7.0


def test_a_prior_variance_that_is_a_word_is_refused():
    with pytest.raises(SettingsError, match="'much' is not a number"):
        FitSettings(prior_variance="much")


def test_a_file_overrides_a_preset(tmp_path):
    assert resolve({}, "paper-gbooks", config(tmp_path, "dim = 30")).dim == 30


def test_arguments_override_a_file(tmp_path):
    assert resolve({"dim": 7}, "paper-gbooks", config(tmp_path, "dim = 30")).dim == 7


def test_settings_missing_from_a_file_come_from_the_preset(tmp_path):
    assert resolve({}, "paper-twitter", config(tmp_path, "dim = 30")).diffusion == 1.0


def test_a_file_may_name_a_preset(tmp_path):
    assert resolve({}, None, config(tmp_path, 'preset = "paper-twitter"')).diffusion == 1.0


def test_a_preset_argument_overrides_that_of_the_file(tmp_path):
    assert resolve({}, "paper-gbooks", config(tmp_path, 'preset = "paper-twitter"')).dim == 200


@pytest.mark.parametrize("name", ["prior-variance", "prior_variance"])
def test_names_in_a_file_have_hyphens_or_underscores(tmp_path, name):
    assert resolve({}, None, config(tmp_path, f"{name} = 2.5")).prior_variance == 2.5


def test_a_bad_value_in_a_file_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="dim=-3"):
        resolve({}, None, config(tmp_path, "dim = -3"))


@pytest.mark.parametrize(
    "content", ["dim = ", "dim 100", "method = smoothing", b"\xff\xfe", "dim = 1\ndim = 2"]
)
def test_a_file_that_is_not_toml_is_reported_with_an_example(tmp_path, content):
    path = config(tmp_path, content)
    with pytest.raises(InputError) as caught:
        resolve({}, None, path)
    assert (str(path) in caught.value.problem, "dim = 100" in caught.value.remedy) == (True, True)


def test_an_unknown_name_in_a_file_is_reported_with_the_known_names(tmp_path):
    path = config(tmp_path, "dimension = 100")
    with pytest.raises(InputError) as caught:
        resolve({}, None, path)
    assert caught.value.problem == f"{path}: there is no setting 'dimension'."
    assert "dim, " in caught.value.remedy


def test_a_table_in_a_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="'fit'"):
        resolve({}, None, config(tmp_path, "[fit]\ndim = 100"))


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        resolve({}, None, tmp_path / "nowhere.toml")


def test_a_folder_is_refused_as_a_settings_file(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        resolve({}, None, tmp_path)


@pytest.mark.parametrize("preset", ["paper", ""])
def test_an_unknown_preset_is_reported_with_the_known_presets(preset):
    with pytest.raises(SettingsError) as caught:
        resolve({}, preset)
    assert "paper-sotu, paper-twitter, paper-gbooks" in caught.value.remedy


@pytest.mark.parametrize("preset", ["3", '["paper-sotu"]', '"paper"'])
def test_an_unknown_preset_in_a_file_is_refused(tmp_path, preset):
    with pytest.raises(SettingsError, match="There is no preset"):
        resolve({}, None, config(tmp_path, f"preset = {preset}"))


def test_an_unknown_setting_is_reported_with_the_known_settings():
    with pytest.raises(SettingsError) as caught:
        resolve({"dimension": 100})
    assert ("'dimension'" in caught.value.problem, "dim, " in caught.value.remedy) == (True, True)


def test_numpy_numbers_become_python_numbers():
    settings = resolve({"dim": np.int64(7), "diffusion": np.float32(0.5)})
    assert [type(settings.dim), type(settings.diffusion)] == [int, float]


def test_the_names_of_priors_are_those_of_the_model():
    assert set(PRIORS) == set(PRIOR_NAMES)
