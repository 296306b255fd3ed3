"""The starting point of tied vectors: eigenvectors of a shrunk matrix of log odds.

With tied contexts the scores of all pairs form the symmetric matrix U S U^T, where S = diag(+-1) has the
signs of its eigenvalues. The log odds of positive against negative pairs estimate the scores, shrunk where
there are few pairs:

    log((n+ + 1/2) / (n- + 1/2)) n / (n + 4),   n = n+ + n-
"""

import numpy as np
import scipy.sparse as sp

from wordtide.inference.problem import SliceData
from wordtide.types import Array, Floats, Indices

_SCALE = 0.5  # of the eigenvectors: vectors shorter than those of the matrix leave room for the fit
_SHRINKAGE = 4.0
_MOST_WORDS = 3000  # the most frequent ones; all others start at the origin
_SPREAD = 0.1  # of random vectors, if a slice has too few words for all eigenvectors
_MORE_AXES = 1.5  # as many axes as dimensions: eigenvalues of both signs must be among the largest in size
_ITERATIONS = 2  # of the subspace: more do not change what the fit predicts
_POSITIVE = 0.7  # fraction of positive signs, if the data may not decide


def signs_by_rule(dim: int) -> Array:
    """Return the signs of S (d,), positive ones first, for a model that must not look ahead."""
    positive = max(1, round(_POSITIVE * dim))
    return np.where(np.arange(dim) < positive, 1.0, -1.0).astype(np.float32)


def eigen_start(part: SliceData, signs: Array, seed: int = 0) -> Floats:
    """Compute vectors (a, d) from the eigenvectors with the largest eigenvalues of either sign."""
    dim, words = len(signs), _most_frequent(part)
    generator = np.random.default_rng([seed, 1 << 33])
    values, vectors = _eigenvectors(_log_odds(part, words), dim, generator)
    start = np.zeros((len(part), dim))
    start[words] = _SPREAD * generator.standard_normal((len(words), dim))
    for sign in (1.0, -1.0):
        axes = np.flatnonzero(signs == sign)
        largest = np.argsort(-sign * values, kind="stable")[: len(axes)]
        largest = largest[sign * values[largest] > 0.0]
        lengths = _SCALE * np.sqrt(np.abs(values[largest]))
        start[np.ix_(words, axes[: len(largest)])] = vectors[:, largest] * lengths
    return start


def _eigenvectors(scores: Array, dim: int, generator: np.random.Generator) -> tuple[Array, Array]:
    """Compute eigenvalues (k,) of a symmetric matrix and eigenvectors (n, k), k >= d, the largest in size.

    Those of a large matrix are approximations by subspace iteration, which suffice for a start.
    """
    size = round(_MORE_AXES * dim)
    if len(scores) <= max(500, 2 * size):
        return np.linalg.eigh(scores)
    basis = generator.standard_normal((len(scores), size)).astype(scores.dtype)
    for _ in range(_ITERATIONS):
        basis = np.linalg.qr(scores @ basis)[0]
    values, rotation = np.linalg.eigh(basis.T @ (scores @ basis))
    return values, basis @ rotation


def _most_frequent(part: SliceData) -> Indices:
    order = np.argsort(-part.word_probability, kind="stable")[:_MOST_WORDS]
    return np.sort(order)


def _log_odds(part: SliceData, words: Indices) -> Array:
    """Compute the shrunk log odds between some words, (n, n), with zeros on the diagonal."""
    matrix = part.positive_matrix()
    chosen: sp.csr_array = matrix if len(words) == len(part) else matrix[words][:, words]
    positives = chosen.astype(np.float32).toarray()
    p, p_context = part.word_probability[words], part.context_probability[words]
    rows, columns = np.stack([p, p_context], axis=1), np.stack([p_context, p])
    negatives = (part.negatives / 2.0 * rows).astype(np.float32) @ columns.astype(np.float32)
    weights = positives + negatives
    weights /= weights + np.float32(_SHRINKAGE)
    positives += np.float32(0.5)
    negatives += np.float32(0.5)
    positives /= negatives
    scores: Array = np.log(positives)
    scores *= weights
    np.fill_diagonal(scores, 0.0)
    return scores
