"""Prediction on seven corpora, most of which the paper did not have. paper_tables.py makes the table.

    python experiments/seven_corpora.py NAME [--source FILE] [-o FOLDER] [--small]

Our default prior, the paper's separate contexts, d = 100. No figures are drawn.
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
            name="all-addresses",
            title="State of the Union addresses, 1790 to 2016",
            source="sotu",
            counting={"every": "document", "until": "2016"},
            holdout=0.1,
        ),
        _common(
            name="sentences",
            title="300 sentences a year of the UN General Debates, 1946 to 2024",
            prepare=partial(few_sentences, number=300, years=range(1946, 2025)),
            counting={},
            holdout=0.2,
        ),
        _common(
            name="fiction",
            title="Google Books, English fiction: a sample of 5-grams, 1900 to 1995",
            counting={"format": "ngrams", "vocabulary_by": "share"},
            holdout=0.25,
        ),
        _common(
            name="proposals",
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
            name="recent-debates",
            title="UN General Debates, 2015 to 2024, by year",
            counting={"every": "year", "since": "2015", "until": "2024"},
            holdout=0.5,
        ),
        _common(
            name="sentences-of-ten-years",
            title="300 sentences a year of the UN General Debates, 2000 to 2009",
            prepare=partial(few_sentences, number=300, years=range(2000, 2010)),
            counting={},
            holdout=0.5,
        ),
    )
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in CORPORA:
        raise SystemExit(f"Give one of {', '.join(CORPORA)}.")
    main(CORPORA[sys.argv.pop(1)])
