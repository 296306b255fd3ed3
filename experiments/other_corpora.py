"""The paper's order of methods on corpora that it did not have.

    python experiments/other_corpora.py NAME --source FILE [-o FOLDER] [--small]

The prior is our default, and contexts are separate as in the paper. No figures are drawn.
"""

import sys
from functools import partial

from experiment import Experiment, main
from short_texts import few_sentences

_common = partial(
    Experiment, preset=None, settings={"stationary": {"contexts": "separate"}}, pairs={}, labelled=()
)
CORPORA = {
    one.name: one
    for one in (
        _common(
            name="un-debates",
            title="UN General Debates, 1946 to 2024, by year",
            counting={},
            holdout=0.1,
        ),
        _common(
            name="recent-debates",
            title="UN General Debates, 2015 to 2024, by year",
            counting={"every": "year", "since": "2015", "until": "2024"},
            holdout=0.5,
        ),
        _common(
            name="improvement-proposals",
            title="Ethereum improvement proposals, 2015 to 2026, by quarter",
            counting={"every": "quarter"},
            holdout=0.2,
        ),
        _common(
            name="changelogs",
            title="Debian package changelogs, 1995 to 2026, by year",
            counting={"every": "year"},
            holdout=0.2,
        ),
        _common(
            name="many-short-texts",
            title="300 sentences a year of the UN General Debates, 1946 to 2024",
            prepare=partial(few_sentences, number=300, years=range(1946, 2025)),
            counting={},
            holdout=0.2,
        ),
    )
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in CORPORA:
        raise SystemExit(f"Give one of {', '.join(CORPORA)}.")
    main(CORPORA[sys.argv.pop(1)])
