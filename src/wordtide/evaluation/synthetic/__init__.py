"""Worlds with planted drift: texts and counts in which it is known which words change, and when; and scores on them."""

from wordtide.evaluation.synthetic.findings import findings_of, score_model
from wordtide.evaluation.synthetic.model_worlds import model_world
from wordtide.evaluation.synthetic.planted import Cast, Plan, PlantedCorpus, PlantedCounts, PlantedWord
from wordtide.evaluation.synthetic.scoring import Findings, Score, score_findings, score_table
from wordtide.evaluation.synthetic.templates import template_world

__all__ = [
    "Cast",
    "Findings",
    "Plan",
    "PlantedCorpus",
    "PlantedCounts",
    "PlantedWord",
    "Score",
    "findings_of",
    "model_world",
    "score_findings",
    "score_model",
    "score_table",
    "template_world",
]
