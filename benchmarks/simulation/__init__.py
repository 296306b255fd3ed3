"""Worlds in which it is known which words change, and when; and scores of what a method finds there."""

from simulation.findings import findings_of, score_model
from simulation.plan import Cast, Plan, PlantedCorpus, PlantedCounts, PlantedWord
from simulation.planted_counts import model_world
from simulation.planted_texts import template_world
from simulation.scores import Findings, Score, score_findings, score_table

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
