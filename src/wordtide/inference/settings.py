"""Settings of a fit: one frozen record, saved with the model; the paper's presets; settings from a file."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordtide.errors import SettingsError
from wordtide.inference.natural.negatives import AUTO
from wordtide.settings import check_settings, read_settings, setting, settings_of
from wordtide.types import Floats

if TYPE_CHECKING:
    from wordtide.model.prior import Diffusion

METHODS = ("smoothing", "filtering", "independent", "warm-start", "static")
SOLVERS = ("natural", "adam")
CONTEXTS = ("tied", "separate")
#: The names in `wordtide.model.prior.PRIORS`.
PRIOR_NAMES = ("stationary", "product")
#: `prior_variance="auto"`: the variance at d = 100 for methods whose vectors drift, and for the others. It
#: falls with the cube root of d. Chosen by held-out likelihood on five corpora, checked on a sixth
#: (docs/evidence.md).
_VARIANCE, _STATIC_VARIANCE = 0.35, 0.2
#: The most steps of the natural solver: over all slices for smoothing, for each slice otherwise.
MOST_STEPS = {"smoothing": 12, "filtering": 5, "independent": 24, "warm-start": 12, "static": 24}
_MANY_STEPS, _MANY_WORDS = 1_000_000, 1 << 24


@dataclass(frozen=True)
class FitSettings:
    """Settings that determine the result; threads, precision and checkpoints are arguments of `fit`.

    In the paper's letters: `dim` d, `diffusion` D per year, `prior_variance` sigma_0^2, `negative_ratio` eta,
    `context_exponent` gamma.
    """

    method: str = setting("smoothing", "Method", choices=METHODS)
    solver: str = setting("natural", "Solver", choices=SOLVERS, note="adam runs the paper's own algorithms")
    dim: int = setting(100, "Dimensions of a vector", minimum=1, maximum=1 << 14)
    # Bounds of variances: float32 loses smaller ones beside others, and a model folder refuses them.
    diffusion: float | str = setting(
        1e-3,
        "Diffusion constant D, a variance per year; in fit, auto chooses it",
        minimum=1e-9,
        maximum=1e6,
        choices=["auto"],
        example="0.001",
    )
    contexts: str = setting(
        "tied",
        "Context vectors",
        choices=CONTEXTS,
        note="tied ones share the vectors of words, separate ones are those of the paper",
    )
    prior: str = setting("stationary", "Prior", choices=PRIOR_NAMES, note="product is the prior of the paper")
    prior_variance: float | str = setting(
        "auto",
        "Prior variance of a coordinate; auto depends on the method and --dim",
        minimum=1e-6,
        maximum=1e6,
        choices=["auto"],
        example="0.3",
    )
    seed: int = setting(0, "Random seed", minimum=0, maximum=(1 << 63) - 1)
    negative_ratio: float = setting(1.0, "Negative pairs per positive pair", minimum=1e-6, maximum=1e3)
    context_exponent: float = setting(0.75, "Exponent of context frequencies", minimum=0.0, maximum=2.0)
    negative_contexts: int | None = setting(
        None,
        "Contexts drawn for negative pairs; 0 takes all",
        minimum=0,
        maximum=_MANY_WORDS,
        shown_default="32, or more where words have many partners",
    )
    max_steps: int | None = setting(
        None,
        "Maximum number of steps (per slice, except for smoothing)",
        minimum=1,
        maximum=_MANY_STEPS,
        shown_default="depends on the method",
    )
    tolerance: float = setting(
        1e-4, "Stop when the relative change of the ELBO is below this", minimum=0.0, maximum=1.0
    )
    rate: float = setting(0.7, "Rate of the first natural-gradient step", minimum=1e-6, maximum=1.0)
    final_rate: float = setting(0.3, "Rate of the last natural-gradient step", minimum=1e-6, maximum=1.0)
    trust: float = setting(1.0, "Maximum distance that a word moves in one step", minimum=1e-6, maximum=1e6)
    adam_steps: int = setting(5000, "Filtering with adam: steps per slice", minimum=1, maximum=_MANY_STEPS)
    adam_rate: float = setting(1e-2, "Adam's learning rate", minimum=1e-12, maximum=1.0)
    adam_minibatch_words: int = setting(
        1000, "Smoothing with adam: words in a minibatch", minimum=1, maximum=_MANY_WORDS
    )
    adam_minibatch_steps: int = setting(
        5000, "Smoothing with adam: steps on minibatches", minimum=0, maximum=_MANY_STEPS
    )
    adam_full_steps: int = setting(
        1000, "Smoothing with adam: steps on all words", minimum=0, maximum=_MANY_STEPS
    )
    adam_full_rate: float = setting(1e-3, "Adam's learning rate on all words", minimum=1e-12, maximum=1.0)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.solver == "adam" and self.method not in ("smoothing", "filtering"):
            raise SettingsError(
                f"--solver=adam is for smoothing and filtering, not for {self.method}.", "Leave --solver out."
            )
        if self.diffusion == "auto" and (
            self.solver == "adam" or self.method not in ("smoothing", "filtering")
        ):
            raise SettingsError(
                "--diffusion=auto needs --solver=natural and --method=smoothing or --method=filtering.",
                "Give a number.",
            )
        if (
            self.solver == "adam"
            and self.method == "smoothing"
            and not self.adam_minibatch_steps + self.adam_full_steps
        ):
            raise SettingsError(
                "--adam-minibatch-steps and --adam-full-steps are both 0, so nothing would be fitted.",
                "Give at least one of them a number above 0, or leave both out.",
            )
        if self.solver == "adam" and self.contexts == "tied":
            raise SettingsError(
                "--solver=adam, the paper's solver, has separate contexts only.",
                "Leave --contexts out.",
            )

    def prior_on(self, times: Floats, constant: float) -> "Diffusion":
        """The prior on slices at `times` (T,) with this diffusion constant."""
        from wordtide.model.prior import PRIORS  # not needed to read or check settings

        return PRIORS[self.prior](times, constant, self.variance_of_prior())

    def variance_of_prior(self) -> float:
        """The prior variance in use.

        "auto" depends only on method, prior and dimension, so later slices do not change it, and an update
        gives the same result as one fit.
        """
        if not isinstance(self.prior_variance, str):
            return float(self.prior_variance)
        if self.prior == "product":
            return 1.0
        moving = self.method in ("smoothing", "filtering")
        return float((_VARIANCE if moving else _STATIC_VARIANCE) * (100.0 / self.dim) ** (1.0 / 3.0))

    @property
    def sample_size(self) -> int | None:
        """The number of contexts drawn for negative pairs; None for all, AUTO for a number by slice."""
        return AUTO if self.negative_contexts is None else self.negative_contexts or None

    def as_json(self) -> dict[str, Any]:
        """The settings as the header of a model folder holds them."""
        return asdict(self)


_PAPER: dict[str, Any] = {
    "contexts": "separate",
    "prior": "product",
    "prior_variance": 1.0,
    "negative_ratio": 1.0,
    "context_exponent": 0.75,
}
#: The paper's table of hyperparameters; those of Adam are the defaults above.
PRESETS: dict[str, dict[str, Any]] = {
    "paper-sotu": {**_PAPER, "dim": 100, "diffusion": 1e-3},
    "paper-twitter": {**_PAPER, "dim": 100, "diffusion": 1.0},
    "paper-gbooks": {**_PAPER, "dim": 200, "diffusion": 1e-3},
}


def resolve(
    given: dict[str, Any], preset: str | None = None, config: str | Path | None = None
) -> FitSettings:
    """Combine settings.

    Args:
        given: Settings by name. They override those of the file.
        preset: One of `PRESETS`. It overrides a preset that the file names.
        config: A TOML file. It overrides the preset.

    Raises:
        SettingsError: A name or value cannot be used.
        InputError: The file cannot be read.
    """
    known = settings_of(FitSettings)
    from_file = read_settings(Path(config), FitSettings, also=["preset"]) if config is not None else {}
    preset_of_file = from_file.pop("preset", None)
    preset = preset_of_file if preset is None else preset
    if preset is not None and (not isinstance(preset, str) or preset not in PRESETS):
        raise SettingsError(f"There is no preset {preset!r}.", f"Use one of {', '.join(PRESETS)}.")
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise SettingsError(
            f"There is no setting {unknown[0]!r}.", f"Settings are {', '.join(sorted(known))}."
        )
    chosen = {**(PRESETS[preset] if preset else {}), **from_file, **given}
    if chosen.get("solver") == "adam":
        chosen.setdefault("contexts", "separate")
    return FitSettings(**chosen)
