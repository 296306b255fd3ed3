"""How a model is fitted: one frozen record, saved with the model; presets from the paper, and settings from a file."""

import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.errors import InputError, SettingsError
from wordtide.inference.natural.negatives import AUTO
from wordtide.model.prior import PRIORS, Diffusion

METHODS = ("smoothing", "filtering", "independent", "warm-start", "static")
SOLVERS = ("natural", "adam")
#: Of `prior_variance="auto"`: the variance at d = 100, of methods whose vectors drift and of the others; it falls with the cube
#: root of d. By held-out likelihood on five corpora, checked on a sixth (docs/fitting.md).
_VARIANCE, _STANDING_VARIANCE = 0.35, 0.2
#: Most steps of the natural solver: for smoothing over all slices, otherwise for each slice.
MOST_STEPS = {"smoothing": 12, "filtering": 5, "independent": 24, "warm-start": 12, "static": 24}


@dataclass(frozen=True)
class FitSettings:
    """Settings that decide the result. (Device, threads and checkpoints do not.)

    The paper's letters: `dim` d, `diffusion` D per year, `prior_variance` sigma_0^2, `negative_ratio` eta,
    `context_exponent` gamma. `prior` names one of `PRIORS`.
    """

    method: str = "smoothing"
    solver: str = "natural"
    dim: int = 100
    diffusion: float | str = 1e-3
    prior: str = "stationary"
    prior_variance: float | str = "auto"
    seed: int = 0
    negative_ratio: float = 1.0
    context_exponent: float = 0.75
    negative_contexts: int | None = None
    max_steps: int | None = None
    tolerance: float = 1e-4
    rate: float = 0.7
    final_rate: float = 0.3
    trust: float = 1.0
    adam_steps: int = 5000
    adam_rate: float = 1e-2
    adam_minibatch_words: int = 1000
    adam_minibatch_steps: int = 5000
    adam_full_steps: int = 1000
    adam_full_rate: float = 1e-3

    def __post_init__(self) -> None:
        for name, choices in (("method", METHODS), ("solver", SOLVERS), ("prior", tuple(PRIORS))):
            if getattr(self, name) not in choices:
                raise SettingsError(
                    f"{_option(name)} {getattr(self, name)!r} is not known.",
                    f"Use {', '.join(choices[:-1])} or {choices[-1]}.",
                )
        if self.solver == "adam" and self.method not in ("smoothing", "filtering"):
            raise SettingsError(
                f"The solver adam is for smoothing and filtering, not {self.method}.", "Leave --solver out."
            )
        if isinstance(self.diffusion, str):
            if self.diffusion != "auto":
                raise SettingsError(
                    f"--diffusion {self.diffusion!r} is not a number.", "Give one like 0.001, or auto."
                )
            if self.solver == "adam" or self.method not in ("smoothing", "filtering"):
                raise SettingsError(
                    "--diffusion auto needs --solver natural and --method smoothing or filtering.",
                    "Give a number.",
                )
        for name, smallest, largest in (
            ("dim", 1, 1 << 14),
            ("seed", 0, (1 << 63) - 1),
            ("negative_contexts", 0, 1 << 24),
            ("max_steps", 1, 1_000_000),
            ("adam_steps", 1, 1_000_000),
            ("adam_minibatch_words", 1, 1 << 24),
            ("adam_minibatch_steps", 0, 1_000_000),
            ("adam_full_steps", 0, 1_000_000),
        ):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool) and smallest <= value <= largest
            if not whole and not (name in ("max_steps", "negative_contexts") and value is None):
                raise SettingsError(
                    f"{_option(name)} {value} is out of range.",
                    f"Give a whole number from {smallest} to {largest}.",
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
        if isinstance(self.prior_variance, str) and self.prior_variance != "auto":
            raise SettingsError(
                f"--prior-variance {self.prior_variance!r} is not a number.", "Give one like 0.3, or auto."
            )
        # Variances so small that float32 loses them beside others, or that a model folder refuses, end here.
        for name, smallest_value, largest_value in (
            ("diffusion", 1e-9, 1e6),
            ("prior_variance", 1e-6, 1e6),
            ("negative_ratio", 1e-6, 1e3),
            ("context_exponent", 0.0, 2.0),
            ("rate", 1e-6, 1.0),
            ("final_rate", 1e-6, 1.0),
            ("trust", 1e-6, 1e6),
            ("adam_rate", 1e-12, 1.0),
            ("adam_full_rate", 1e-12, 1.0),
            ("tolerance", 0.0, 1.0),
        ):
            value = getattr(self, name)
            if name in ("diffusion", "prior_variance") and value == "auto":
                continue
            real = isinstance(value, int | float) and not isinstance(value, bool)
            if not real or not smallest_value <= value <= largest_value:
                raise SettingsError(
                    f"{_option(name)} {value} is out of range.",
                    f"Give a number from {smallest_value:g} to {largest_value:g}.",
                )

    def prior_on(self, times: npt.NDArray[np.float64], constant: float) -> Diffusion:
        """The prior on slices at `times` (T,) with this diffusion constant."""
        return PRIORS[self.prior](times, constant, self.variance_of_prior())

    def variance_of_prior(self) -> float:
        """The prior variance in use; `auto` depends on nothing but method, prior and dimension.

        So slices that come later do not change it, and an update is the same as one fit.
        """
        if not isinstance(self.prior_variance, str):
            return float(self.prior_variance)
        if self.prior == "product":
            return 1.0
        moving = self.method in ("smoothing", "filtering")
        return float((_VARIANCE if moving else _STANDING_VARIANCE) * (100.0 / self.dim) ** (1.0 / 3.0))

    @property
    def contexts(self) -> int | None:
        """How many contexts are drawn for the negative pairs; None: the sum is exact. AUTO: as many as suit a slice."""
        return AUTO if self.negative_contexts is None else self.negative_contexts or None

    def as_json(self) -> dict[str, Any]:
        """For the header of the model folder."""
        return asdict(self)


_PAPER: dict[str, Any] = {
    "prior": "product",
    "prior_variance": 1.0,
    "negative_ratio": 1.0,
    "context_exponent": 0.75,
}
#: The paper's table of hyper-parameters; those of Adam are the defaults above.
PRESETS: dict[str, dict[str, Any]] = {
    "paper-sotu": {**_PAPER, "dim": 100, "diffusion": 1e-3},
    "paper-twitter": {**_PAPER, "dim": 100, "diffusion": 1.0},
    "paper-gbooks": {**_PAPER, "dim": 200, "diffusion": 1e-3},
}


def resolve(
    given: dict[str, Any], preset: str | None = None, config: str | Path | None = None
) -> FitSettings:
    """Settings from a preset, then a file, then what is given; later ones win."""
    known = {field.name for field in fields(FitSettings)}
    from_file = read_config(Path(config), known) if config is not None else {}
    preset_of_file = from_file.pop("preset", None)
    preset = preset_of_file if preset is None else preset
    if preset is not None and (not isinstance(preset, str) or preset not in PRESETS):
        raise SettingsError(f"There is no preset {preset!r}.", f"Use one of {', '.join(PRESETS)}.")
    unknown = sorted(set(given) - known)
    if unknown:
        raise SettingsError(
            f"There is no setting {unknown[0]!r}.", f"Settings are {', '.join(sorted(known))}."
        )
    # NumPy's numbers are welcome, but the settings are written to JSON.
    given = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    return FitSettings(**{**(PRESETS[preset] if preset else {}), **from_file, **given})


def read_config(path: Path, known: set[str]) -> dict[str, Any]:
    """Settings from a TOML file, one `name = value` a line, names as in Python or with hyphens, `preset` among them."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no file {path}.", "Check the path given to --config.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(
            f"{path} cannot be read: {error}", "Write one setting a line, like: dim = 100"
        ) from error
    settings = {name.replace("-", "_"): value for name, value in content.items()}
    unknown = sorted(set(settings) - known - {"preset"})
    if unknown:
        raise InputError(
            f"{path}: there is no setting {unknown[0]!r}.", f"Settings are {', '.join(sorted(known))}."
        )
    return settings


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
