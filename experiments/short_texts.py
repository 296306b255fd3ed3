"""Short dated texts in place of the paper's tweets: 21 slices of 722 sentences.

The number of dates and the median per date are those of the paper. Sentences are drawn from the UN debates of
21 years.
"""

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Container, Iterator
from pathlib import Path

import numpy as np
from experiment import Experiment, main

from wordtide.errors import InputError
from wordtide.storage.folders import write_files

SENTENCES = 722
YEARS = range(2004, 2025)
_SEED = 1
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def few_sentences(
    debates: Path,
    folder: Path,
    number: int = SENTENCES,
    seed: int = _SEED,
    years: Container[int] = YEARS,
) -> Path:
    """Write a file with up to `number` sentences of each of the `years`, drawn at random."""
    by_year: dict[int, list[str]] = defaultdict(list)
    for year, text in _speeches(debates):
        if year in years:
            by_year[year] += _SENTENCE_END.split(text)
    generator = np.random.default_rng(seed)
    lines = []
    for year, sentences in sorted(by_year.items()):
        drawn = generator.choice(len(sentences), min(number, len(sentences)), replace=False)
        lines += [json.dumps({"year": year, "text": sentences[place]}) + "\n" for place in np.sort(drawn)]
    write_files(folder, {"sentences.jsonl": "".join(lines).encode()})
    return folder / "sentences.jsonl"


def _speeches(debates: Path) -> Iterator[tuple[int, str]]:
    """Year and text of each line of a JSON Lines file."""
    read = 0
    try:
        with (
            gzip.open(debates, "rt", encoding="utf-8")
            if debates.suffix == ".gz"
            else open(debates, encoding="utf-8") as file
        ):
            for line in file:
                speech = json.loads(line)
                yield int(speech["year"]), str(speech["text"])
                read += 1
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        remedy = 'Give JSON Lines, plain or gzipped, with {"year": 1946, "text": "..."} on each line.'
        raise InputError(f"{debates}, after line {read}: {error}.", remedy) from error


SHORT_TEXTS = Experiment(
    name="short-texts",
    title=f"Short texts: {SENTENCES} sentences a year of the UN General Debates, {YEARS[0]} to {YEARS[-1]}",
    preset="paper-twitter",
    settings={"default": {}, "default-D-1": {"diffusion": 1.0}},
    prepare=few_sentences,
    counting={},
    holdout=0.2,
    pairs={"climate": ("change",), "sustainable": ("development",), "nuclear": ("weapons",)},
    labelled=("climate", "sustainable", "peace", "war", "nuclear", "economic", "women", "security"),
)

if __name__ == "__main__":
    main(SHORT_TEXTS)
