"""Ethereum improvement proposals, 43 quarters of 600 to 71,000 words: a short span of technical texts with
real change.
"""

from experiment import Experiment, main

IMPROVEMENT_PROPOSALS = Experiment(
    name="improvement-proposals",
    title="Ethereum improvement proposals, 2015 to 2026, by quarter",
    counting={"every": "quarter"},
    fitting={"dim": 100, "diffusion": 1e-3},
    holdout=0.2,
    pairs={"gas": ("limit", "blob"), "merge": ("beacon",), "account": ("abstraction",)},
    labelled=(
        "gas",
        "blob",
        "merge",
        "beacon",
        "account",
        "rollup",
        "token",
        "block",
        "transaction",
        "contract",
    ),
)

if __name__ == "__main__":
    main(IMPROVEMENT_PROPOSALS)
