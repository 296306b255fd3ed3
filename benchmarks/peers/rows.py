"""One row of the comparison: a method on a corpus, trained in a process of its own, then scored.

Finished rows are kept.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from corpora import SOTU, Prepared, prepared
from gensim_peers import NEGATIVES
from likelihoods import best_shift, own_scores, peer_scores, shift_of
from methods import LEAVING_OUT, OURS, PWE, settings_of
from point_models import model_of
from simulation import score_model
from slice_vectors import load_slices

import wordtide
from wordtide.embeddings.states import Embeddings
from wordtide.evaluation.scores import held_out_slices
from wordtide.inference.problem import Problem, problem_of
from wordtide.model.verdicts import VERDICTS

HERE = Path(__file__).parent
#: The share of slices left out; there are few decades.
HOLDOUT = {SOTU: 0.2}
Row = dict[str, Any]


class Comparison:
    """Rows in a folder: `row` trains and scores what is not there yet."""

    def __init__(self, root: Path, pwe_python: Path) -> None:
        self.root, self.pwe_python = root, pwe_python
        (root / "rows").mkdir(parents=True, exist_ok=True)

    def row(self, world: str, seed: int, method: str, given: dict[str, Any] | None = None) -> Row:
        """The row of a method on a corpus, from its file or made now."""
        settings = settings_of(given)
        identity = json.dumps([world, seed, method, settings], sort_keys=True)
        path = (
            self.root
            / "rows"
            / f"{world}-{seed}-{method}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}.json".replace(
                " ", "-"
            )
        )
        if path.exists():
            found: Row = json.loads(path.read_text(encoding="utf-8"))
            return found
        print(f"{world}, seed {seed}: {method} {settings}", file=sys.stderr, flush=True)
        made = {"world": world, "seed": seed, "method": method, "settings": settings}
        made |= self._measured(prepared(world, seed, self.root), world, method, settings)
        beside = path.with_suffix(".new")
        beside.write_text(json.dumps(made, indent=1), encoding="utf-8")
        beside.replace(path)
        return made

    def _measured(self, corpus: Prepared, world: str, method: str, settings: dict[str, Any]) -> Row:
        counts = corpus.counts
        problem = problem_of(counts)
        held = held_out_slices(len(counts), HOLDOUT.get(world, 0.1), seed=0)
        output = corpus.folder / f"trained-{os.getpid()}"
        measured = self._trained(corpus, method, settings, output)
        model = _loaded(corpus, method, output)
        if corpus.plan is not None and method != "static":
            measured["planted"] = _planted(corpus, model, method)
            measured["verdicts"] = _verdicts(corpus, model)
        if method in LEAVING_OUT:
            self._trained(corpus, method, {**settings, "without": held}, output)
            model = _loaded(corpus, method, output)
        measured["likelihood"] = _likelihood(model, problem, method, held, settings)
        shutil.rmtree(output)
        return measured

    def _trained(self, corpus: Prepared, method: str, settings: dict[str, Any], output: Path) -> Row:
        output.mkdir(exist_ok=True)
        script, python = (
            ("pwe_training.py", str(self.pwe_python)) if method == PWE else ("training.py", sys.executable)
        )
        target = output / ("model" if method in OURS else "vectors.npz")
        command = [python, str(HERE / script), str(corpus.folder), method, json.dumps(settings), str(target)]
        alone = {
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",
        }
        answer = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **alone}
        )
        result: Row = json.loads(answer.stdout.splitlines()[-1])
        return result


def _loaded(corpus: Prepared, method: str, output: Path) -> Embeddings:
    if method in OURS:
        return wordtide.load(output / "model")
    return model_of(corpus.counts, load_slices(output / "vectors.npz"), method)


def _planted(corpus: Prepared, model: Embeddings, method: str) -> dict[str, dict[str, float]]:
    """All scores by what words are ranked by: intervals' low ends and changes of ours, vectors of peers."""
    assert corpus.plan is not None
    asked: dict[str, dict[str, str]]
    if method in OURS:
        asked = {by: {"by": by} for by in ("low", "change")}
    else:
        asked = {vectors: {"vectors": vectors} for vectors in ("word", "sum")}
    return {
        name: {
            f"{score.kind}: {score.score}": score.value
            for score in score_model(corpus.plan, model, **options)
        }
        for name, options in asked.items()
    }


def _verdicts(corpus: Prepared, model: Embeddings) -> dict[str, float] | None:
    """How many planted jumps were judged to be jumps, of how many, and how far off their dates are.

    None if the model has no verdicts.
    """
    if corpus.plan is None or model.dynamics is None:
        return None
    planted = [word for word in corpus.plan.moving if word.kind == "jump"]
    numbers = np.array([model.word_number(word.word) for word in planted])
    found = [verdict == VERDICTS[0] for verdict in model.dynamics.verdicts(numbers)]
    errors = np.abs(model.dynamics.date[numbers] - [word.halfway for word in planted])[found]
    return {
        "jumps": len(planted),
        "found": sum(found),
        "date error, median": float(np.median(errors)) if len(errors) else np.nan,
    }


def _likelihood(
    model: Embeddings, problem: Problem, method: str, held: list[int], settings: dict[str, Any]
) -> dict[str, float | None]:
    """Means over the slices left out, and over all slices but the first where the method predicts them."""
    if method in OURS:
        slices = held if method in LEAVING_OUT else list(range(1, len(problem)))
        scores = dict(zip(slices, own_scores(model, problem, slices), strict=True))
        everywhere = None if method in LEAVING_OUT else float(np.mean(list(scores.values())))
        return {"held": float(np.mean([scores[t] for t in held])), "all": everywhere}
    slices = list(range(1, len(problem)))
    plain = dict(zip(slices, peer_scores(model, problem, slices, 0.0), strict=True))
    fair = dict(zip(slices, peer_scores(model, problem, slices, shift_of(NEGATIVES)), strict=True))
    constant, best = best_shift(lambda shift: float(np.mean(peer_scores(model, problem, held, shift))))
    return {
        "held": float(np.mean([fair[t] for t in held])),
        "all": float(np.mean(list(fair.values()))),
        "held, no shift": float(np.mean([plain[t] for t in held])),
        "held, best constant": best,
        "best constant": constant,
    }
