"""Ten slices of short dated texts: some hundred sentences of the UN debates of each year from 2000 to 2009."""

from pathlib import Path

from experiment import Experiment, main
from short_texts import SENTENCES, few_sentences

YEARS = range(2000, 2010)


def sentences_of_a_decade(debates: Path, folder: Path) -> Path:
    """A file with a few sentences of each of the ten years."""
    return few_sentences(debates, folder, years=YEARS)


DECADE_OF_SHORT_TEXTS = Experiment(
    name="decade-of-short-texts",
    title=f"Short texts: {SENTENCES} sentences a year of the UN General Debates, {YEARS[0]} to {YEARS[-1]}",
    prepare=sentences_of_a_decade,
    counting={},
    fitting={"dim": 100, "diffusion": 1e-3},
    holdout=0.5,
    pairs={"climate": ("change",), "sustainable": ("development",), "nuclear": ("weapons",)},
    labelled=("climate", "sustainable", "terrorism", "peace", "war", "nuclear", "economic", "security"),
)

if __name__ == "__main__":
    main(DECADE_OF_SHORT_TEXTS)
