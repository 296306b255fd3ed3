"""The General Debates of the United Nations in full: 79 yearly slices of 90,000 to 900,000 words."""

from experiment import Experiment, main

UN_DEBATES = Experiment(
    name="un-debates",
    title="UN General Debates, 1946 to 2024",
    counting={},
    fitting={"dim": 100, "diffusion": 1e-3},
    holdout=0.1,
    pairs={"climate": ("change", "confidence"), "pandemic": ("virus",), "sustainable": ("development",)},
    labelled=(
        "climate",
        "pandemic",
        "sustainable",
        "peace",
        "war",
        "nuclear",
        "debt",
        "aid",
        "technology",
        "women",
    ),
)

if __name__ == "__main__":
    main(UN_DEBATES)
