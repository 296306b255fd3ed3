"""The State of the Union, a slice per address (T = 230), as in the paper."""

from experiment import Experiment, main

STATE_OF_THE_UNION = Experiment(
    name="state-of-the-union",
    title="State of the Union addresses, 1790 to 2016",
    preset="paper-sotu",
    settings={"default": {}},
    source="sotu",
    counting={"every": "document", "until": "2016"},
    holdout=0.1,
    pairs={
        "energy": ("vigor", "oil"),
        "economy": ("simplicity", "growth"),
        "welfare": ("prosperity", "reform"),
    },
    labelled="energy work power public information money health war treaty trade".split(),
    between=("1850", "2000"),
    small_counting={"every": "10-years"},
)

if __name__ == "__main__":
    main(STATE_OF_THE_UNION)
