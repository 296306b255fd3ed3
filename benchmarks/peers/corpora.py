"""What all methods are given: worlds with planted drift and the State of the Union, counted once and kept as
sentences too.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from sentence_files import write_sentences
from simulation import Cast, PlantedCorpus, template_world
from slice_texts import sentences_by_slice

import wordtide
from wordtide.counts.counts import Counts

#: Settings of `template_world`; docs/evidence.md has tables of the first three.
WORLDS = {
    "medium": {"slices": 30},
    "thin": {"slices": 120},
    "few": {"slices": 6, "tokens": 100_000, "vocabulary": 500, "topics": 8},
    "small": {
        "slices": 6,
        "tokens": 20_000,
        "vocabulary": 300,
        "topics": 5,
        "cast": Cast(drift=2, jump=2, up=1, down=1, burst=1),
    },
}
SOTU = "sotu"
#: By decades; gaps are closed because all peers close them.
SOTU_SETTINGS = {"every": "10-years", "close_gaps": True}


@dataclass(frozen=True)
class Prepared:
    """A corpus on disk: `counts` (a counts folder), `sentences.txt`, `words.json`.

    A world also has its plan, the State of the Union has none.
    """

    folder: Path
    plan: PlantedCorpus | None

    @property
    def counts(self) -> Counts:
        """The counts."""
        return Counts.load(self.folder / "counts")


def prepared(world: str, seed: int, root: Path) -> Prepared:
    """A corpus by its name and seed, counted first if it is not there yet."""
    folder = root / f"{world}-{seed}"
    plan = None if world == SOTU else template_world(seed, **WORLDS[world])
    if not (folder / "words.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        source = SOTU if plan is None else plan.documents
        settings = SOTU_SETTINGS if plan is None else {"close_gaps": True}
        counts = wordtide.count(source, output=folder / "counts", overwrite=True, workers=1, **settings)
        write_sentences(folder / "sentences.txt", sentences_by_slice(source, counts))
        (folder / "words.json").write_text(json.dumps(list(counts.words)), encoding="utf-8")
    return Prepared(folder, plan)
