"""What a model says of the words of a planted world: the same questions as `changed`, asked of all words."""

import numpy as np

from simulation.plan import Plan
from simulation.scores import Findings, Score, score_findings
from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.questions.movement import change_of, halfway, movement
from wordtide.questions.vectors import vectors_of

RANKINGS = ("low", "change")


def findings_of(model: Embeddings, plan: Plan, by: str = "low", vectors: str | None = None) -> Findings:
    """How much a model says that each word changed, and when the words of a plan were half-way.

    `by`: what words are ranked by, the "low" end of the interval (before it is cut off at 0) or the "change"
    itself. Methods without a posterior have no intervals, so they are ranked by change.
    """
    if by not in RANKINGS:
        raise SettingsError(f"Changed words cannot be ranked by {by!r}.", f"Choose {' or '.join(RANKINGS)}.")
    asked = vectors_of(model, vectors)
    start, end = float(model.times[0]), float(model.times[-1])
    if start == end:
        raise SettingsError(
            "A model of one slice knows of no change.", "Fit smoothing, filtering or a baseline, not static."
        )
    moved = movement(asked, np.arange(len(model.words)), start, end)
    change = change_of(asked, np.arange(len(model.words)), start, end, moved)
    rank = moved.least + 1e-9 * moved.distance if asked.uncertain and by == "low" else change.expected
    planted = np.array(
        [model.index[word.word] for word in plan.moving if word.word in model.index], dtype=np.int64
    )
    dates = dict(
        zip((model.words[word] for word in planted), halfway(model, asked, planted, start, end), strict=True)
    )
    scores = dict(zip(model.words, rank.tolist(), strict=True))
    when = {word: found.date for word, found in dates.items()}
    if not asked.uncertain:
        return Findings(scores, when)
    return Findings(
        scores,
        when,
        {word: (found.earliest, found.latest) for word, found in dates.items()},
        dict(zip(model.words, zip(change.low.tolist(), change.high.tolist(), strict=True), strict=True)),
    )


def score_model(
    plan: Plan, model: Embeddings, by: str = "low", top: int | None = None, vectors: str | None = None
) -> list[Score]:
    """Scores of a fitted model, of whatever method, on the world that it was fitted to."""
    return score_findings(plan, findings_of(model, plan, by, vectors), top)
