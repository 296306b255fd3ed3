"""The starting point of tied vectors: eigenvectors of a shrunk matrix of log odds.

With tied contexts the scores of all pairs form the symmetric matrix U S U^T, where S = diag(+-1) has the
signs of its eigenvalues. The log odds of positive against negative pairs estimate the scores, shrunk where
there are few pairs:

    log((n+ + 1/2) / (n- + 1/2)) n / (n + 4),   n = n+ + n-
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from wordtide.inference.problem import SliceData
from wordtide.types import Array, Floats, Indices

_SCALE = 0.5  # of the eigenvectors: vectors shorter than those of the matrix leave room for the fit
_SHRINKAGE = 4.0
_MOST_WORDS = 3000  # the most frequent ones; all others start at the origin
_SPREAD = 0.1  # of random vectors, if a slice has too few words for all eigenvectors
_POSITIVE = 0.7  # fraction of positive signs, if the data may not decide


def signs_by_rule(dim: int) -> Array:
    """Return the signs of S (d,), positive ones first, for a model that must not look ahead."""
    positive = max(1, round(_POSITIVE * dim))
    return np.where(np.arange(dim) < positive, 1.0, -1.0).astype(np.float32)


def eigen_start(part: SliceData, signs: Array, seed: int = 0) -> Floats:
    """Compute vectors (a, d) from the eigenvectors with the largest eigenvalues of either sign."""
    dim, words = len(signs), _most_frequent(part)
    positive, negative = int((signs > 0).sum()), int((signs < 0).sum())
    scores = _log_odds(part, words)
    generator = np.random.default_rng([seed, 1 << 33])
    if len(words) <= max(500, 4 * dim):
        values, vectors = np.linalg.eigh(scores)
    else:
        v0 = generator.standard_normal(len(words)).astype(scores.dtype)
        wanted: tuple[tuple[int, Any], ...] = ((negative, "SA"), (positive, "LA"))
        ends: list[Any] = [eigsh(scores, k, which=which, v0=v0) for k, which in wanted if k]
        values, vectors = np.concatenate([end[0] for end in ends]), np.hstack([end[1] for end in ends])
    start = np.zeros((len(part), dim))
    start[words] = _SPREAD * generator.standard_normal((len(words), dim))
    for axes, order in (
        (np.flatnonzero(signs > 0), np.argsort(-values)),
        (np.flatnonzero(signs < 0), np.argsort(values)),
    ):
        right = (
            [place for place in order if values[place] * signs[axes[0]] > 0][: len(axes)] if len(axes) else []
        )
        start[np.ix_(words, axes[: len(right)])] = _SCALE * vectors[:, right] * np.sqrt(np.abs(values[right]))
    return start


def _most_frequent(part: SliceData) -> Indices:
    order = np.argsort(-part.word_probability, kind="stable")[:_MOST_WORDS]
    return np.sort(order)


def _log_odds(part: SliceData, words: Indices) -> Array:
    """Compute the shrunk log odds between some words, (n, n), with zeros on the diagonal."""
    chosen: sp.csr_array = part.positive_matrix()[words][:, words]
    positives = chosen.toarray().astype(np.float32)
    p, p_context = part.word_probability[words], part.context_probability[words]
    negatives = np.outer(part.negatives * p, p_context).astype(np.float32)
    negatives = (negatives + negatives.T) / 2.0
    total = positives + negatives
    scores = np.log((positives + 0.5) / (negatives + 0.5))
    scores *= total / (total + _SHRINKAGE)
    np.fill_diagonal(scores, 0.0)
    return scores
