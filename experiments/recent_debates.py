"""The last ten years of the UN General Debates: few slices, each of them large (350,000 to 410,000 words)."""

from experiment import Experiment, main

RECENT_DEBATES = Experiment(
    name="recent-debates",
    title="UN General Debates, 2015 to 2024, by year",
    counting={"every": "year", "since": "2015", "until": "2024"},
    fitting={"dim": 100, "diffusion": 1e-3},
    holdout=0.5,
    pairs={"pandemic": ("virus", "vaccines"), "ukraine": ("war",), "climate": ("change",)},
    labelled=(
        "pandemic",
        "virus",
        "ukraine",
        "war",
        "climate",
        "peace",
        "migration",
        "terrorism",
        "nuclear",
        "sustainable",
    ),
)

if __name__ == "__main__":
    main(RECENT_DEBATES)
