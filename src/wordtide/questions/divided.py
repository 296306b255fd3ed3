"""Groups of texts: a model as one group uses it, and the words that groups use differently."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.embeddings.trajectories import ShiftedTrajectories
from wordtide.errors import SettingsError
from wordtide.model.verdicts import Groups
from wordtide.questions.answers import Answer, checked_number, question_time
from wordtide.questions.contrasts import contrast_of_groups
from wordtide.questions.effect import divergence, share_beyond_noise
from wordtide.questions.function_words import Contexts
from wordtide.questions.function_words import function_words as find_function_words
from wordtide.questions.vectors import vectors_of
from wordtide.timeline import Time
from wordtide.types import Floats, Integers

#: The name that stands for a group if all groups use a word alike.
ALL = "all"
Model = TypeVar("Model", bound=Embeddings)


def groups_of(model: Embeddings) -> Groups:
    """The groups of a model; raises a SettingsError if it has none."""
    if model.fitted.groups is None:
        raise SettingsError(
            "The model has no groups.", "Count with --group-field, and fit by smoothing, filtering or static."
        )
    return model.fitted.groups


def named_groups(model: Embeddings, given: Sequence[str]) -> list[str] | None:
    """The groups named on a command line, separated by commas or given one by one; None if there are none.

    The name of a group may contain commas.
    """
    names = groups_of(model).names
    listed = [[text] if text in names else [part.strip() for part in text.split(",")] for text in given]
    return [name for part in listed for name in part] or None


def in_group(model: Model, name: str, *words: str) -> tuple[Model, list[str]]:
    """The model as a group uses some words, and notes. All other words keep their shared vectors."""
    groups = groups_of(model)
    number, notes = groups.number(name), []
    mean, variance = np.zeros((2, len(model.words), model.dim))
    for word in words:
        place = model.word_number(word)
        row = int(np.searchsorted(groups.words, place))
        if row < len(groups.words) and groups.words[row] == place:
            mean[place], variance[place] = groups.mean[number, row], groups.variance[number, row]
        else:
            notes.append(f"Groups use {model.words[place]!r} alike: there is no significant difference.")
    view = copy.copy(model)
    view.derived = {}
    view.__dict__["sides"] = (ShiftedTrajectories(model.sides[0], mean, variance), model.sides[1])
    return view, notes


def group_views(model: Model, word: str) -> tuple[dict[str, Model], list[str]]:
    """The model as each group uses a word, by name, and notes.

    If all groups use the word alike, it is the model itself, named "all".
    """
    views = {name: in_group(model, name, word) for name in groups_of(model).names}
    alike = next(notes for _, notes in views.values())
    return ({ALL: model}, alike) if alike else ({name: view for name, (view, _) in views.items()}, [])


def by_group(model: Model, word: str, ask: Callable[[Model], Answer]) -> dict[str, Answer]:
    """The answer for each group that uses a word in its own way, or for all of them together."""
    views, alike = group_views(model, word)
    answers = {name: ask(view) for name, view in views.items()}
    return {name: replace(answer, notes=[*answer.notes, *alike]) for name, answer in answers.items()}


def joined(answers: Mapping[str, Answer]) -> Answer:
    """The answers of groups as one, with a column that names the group."""
    first = next(iter(answers.values()))
    columns: dict[str, list[Any]] = {name: [] for name in ("group", *first.columns)}
    for group, answer in answers.items():
        columns["group"] += [group] * len(answer)
        for name, values in answer.columns.items():
            columns[name] += list(values)
    sentences = [f"{group}: {answer.facts['sentence']}" for group, answer in answers.items() if answer.facts]
    facts = {"sentence": "\n".join(sentences)} if sentences else {}
    return Answer(columns, list(dict.fromkeys(note for one in answers.values() for note in one.notes)), facts)


def divided(
    model: Embeddings,
    groups: Sequence[str] | None = None,
    at: Time = "last",
    top: int = 20,
    function_words: bool = False,
    vectors: str | None = None,
) -> Answer:
    """The words that groups use most differently at one time.

    With more than two groups, each word is listed with the pair of groups that differ most. Columns: word,
    group, other, effect and its lower bound effect_low (bits: how much a use of the word says about the group
    it comes from), log_bayes_factor, since (the first time by which both groups have used the word), near
    (words near it in the group and not in the other), other_near (the other way round), and the occurrences
    in both.
    """
    known = groups_of(model)
    names = list(known.names) if groups is None else list(groups)
    chosen = [known.number(name) for name in names]
    if len(set(chosen)) < 2:
        raise SettingsError("There is only one group to compare.", "Give two of them: --groups A B.")
    year, _, notes = question_time(model, at)
    rows = np.arange(len(known.words))
    if not function_words:
        rows = rows[~find_function_words(model)[known.words]]
    effect, low, pairs = _effects(model, known, rows, list(combinations(chosen, 2)), year)
    order = np.lexsort([-effect, -low])[: checked_number("top", top)]
    order = order[low[order] >= 0.0]
    if not len(order):
        notes.append("No significant difference: the texts show no word that these groups use differently.")
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for row in order.tolist():
        word = int(known.words[rows[row]])
        one, other = pairs[row]
        views = [
            vectors_of(in_group(model, known.names[side], model.words[word])[0], vectors)
            for side in (one, other)
        ]
        near = contrast_of_groups(views[0], views[1], word, year)
        values = (
            model.words[word],
            *(known.names[one], known.names[other]),
            *(float(effect[row]), float(low[row]), float(known.log_bayes_factor[word])),
            float(max(known.first[one, word], known.first[other, word])),
            *(", ".join(model.words[number] for number in side) for side in (near.lost, near.gained)),
            *(int(known.occurrences[side, word]) for side in (one, other)),
        )
        for name, value in zip(_COLUMNS, values, strict=True):
            columns[name].append(value)
    return Answer(columns, notes)


_COLUMNS = (
    *("word", "group", "other", "effect", "effect_low", "log_bayes_factor", "since", "near", "other_near"),
    *("occurrences", "other_occurrences"),
)


def _effects(
    model: Embeddings, groups: Groups, rows: Integers, pairs: list[tuple[int, int]], year: float
) -> tuple[Floats, Floats, list[tuple[int, int]]]:
    """The effect on each word and its lower bound (n,), and the pair of groups that differ most."""
    contexts, words = Contexts.of(model, year), groups.words[rows]
    shared = model.sides[0].means_at(year, words)
    best, low = np.zeros(len(rows)), np.full(len(rows), -1.0)
    chosen = [pairs[0]] * len(rows)
    for one, other in pairs:
        start, end = (shared + groups.mean[side, rows] for side in (one, other))
        before, after = contexts.predicted(start), contexts.predicted(end)
        effect = divergence(before, after)
        variance = groups.variance[one, rows].astype(np.float64) + groups.variance[other, rows]
        bound = effect * share_beyond_noise(contexts, (before + after) / 2.0, end - start, variance)
        both = (groups.occurrences[[one, other]][:, words] > 0).all(axis=0)
        for row in np.flatnonzero(both & (bound > low)):
            best[row], low[row], chosen[row] = effect[row], bound[row], (one, other)
    return best, low, chosen
