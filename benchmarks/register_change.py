"""Is a change of register reported as style, and a change of meaning as an effect?

    PYTHONPATH=benchmarks python benchmarks/register_change.py [--seeds 11,12,13] [--dim 50] [--meanings-only]

plants a change of register in worlds of text (docs/evidence.md), on top of the words that drift and jump. Of
ten new particles five precede nouns and five precede verbs; in the course of the middle third of the time the
two groups exchange their places, sentence by sentence. So the use of function words changes, and with it the
contexts of all nouns and verbs, whose topics stay the same. With --meanings-only the register does not
change.

The Markdown table has, for words that change their meaning (drifts and jumps) and for all other words with a
significant change, the median effect and style in bits, and how many have more style than effect; then how
many words `changed --function-words` lists among the first 16, and how many of these change their meaning;
and how many of the particles are found to be function words.
"""

import argparse

import numpy as np
from results import Table
from simulation import PlantedCorpus, template_world
from simulation.planted_texts import TEMPLATES

import wordtide
from wordtide.questions.function_words import function_words

#: Before nouns in the old register, and before verbs in the new one; and the other way round.
FIRST, SECOND = ("ba", "do", "ke", "lu", "mi"), ("na", "po", "ra", "su", "ti")
#: The share of nouns and verbs that follow a particle.
SHARE = 0.6
LISTED = 16
COLUMNS = (
    *("world", "meaning: words", "effect", "style", "more style than effect"),
    *("others with a verdict: words", "effect", "style", "more style than effect"),
    *("listed, of them with a change of meaning", "particles found, of"),
)


def in_registers(world: PlantedCorpus, seed: int, changing: bool) -> list[tuple[str, str]]:
    """The documents with particles before nouns and verbs, whose places change in the middle third."""
    rng = np.random.default_rng(seed)
    days = np.array([date for date, _ in world.documents], dtype="datetime64[D]").astype(np.float64)
    progress = np.clip(3.0 * (days - days[0]) / (days[-1] - days[0]) - 1.0, 0.0, 1.0)
    return [
        (
            date,
            ". ".join(_sentence(one, rng, bool(rng.random() < new * changing)) for one in text.split(". ")),
        )
        for (date, text), new in zip(world.documents, progress, strict=True)
    ]


def _sentence(sentence: str, rng: np.random.Generator, new: bool) -> str:
    """A sentence in one of the two registers."""
    words = sentence.split()
    template = next(one for one in map(str.split, TEMPLATES) if _fits(one, words))
    said: list[str] = []
    for slot, word in zip(template, words, strict=True):
        if slot in "NV" and rng.random() < SHARE:
            said.append(str(rng.choice(FIRST if (slot == "N") != new else SECOND)))
        said.append(word)
    return " ".join(said)


def _fits(template: list[str], words: list[str]) -> bool:
    plain = [word.lower().rstrip(".") for word in words]
    return len(template) == len(plain) and all(
        slot in "NVF" or slot == word for slot, word in zip(template, plain, strict=True)
    )


def row(seed: int, dim: int, changing: bool) -> list[str]:
    """The cells of one world."""
    world = template_world(seed, slices=30)
    model = wordtide.fit(
        wordtide.count(in_registers(world, seed, changing), workers=1), dim=dim, threads=1, seed=seed
    )
    dynamics, found = model.dynamics, function_words(model)
    moving = {word.word for word in world.moving}
    parts: list[str] = []
    for meaning in (True, False):
        words = [
            number
            for number in np.flatnonzero(dynamics.significant)
            if (model.words[number] in moving) == meaning
        ]
        effect, style = dynamics.effect[words], dynamics.style[words]
        medians = [f"{np.median(values):.3f}" if len(words) else "" for values in (effect, style)]
        parts += [str(len(words)), *medians, str(int((style > effect).sum()))]
    listed = list(model.changed(top=LISTED, function_words=True)["word"])
    particles = [model.word_number(word) for word in (*FIRST, *SECOND)]
    kinds = "register and meaning" if changing else "meaning only"
    return [
        f"{seed}, {kinds}",
        *parts,
        f"{len(listed)}, {len(moving.intersection(listed))}",
        f"{found[particles].sum()}, {len(particles)}",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Is a change of register reported as style?")
    parser.add_argument("--seeds", default="11,12,13")
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--meanings-only", action="store_true", help="do not change the register")
    options = parser.parse_args()
    name = "meanings-only" if options.meanings_only else "register"
    with Table(f"register_change.{name}", COLUMNS) as table:
        for seed in map(int, options.seeds.split(",")):
            table.row(*row(seed, options.dim, not options.meanings_only))


if __name__ == "__main__":
    main()
