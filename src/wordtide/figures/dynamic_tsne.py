"""Dynamic t-SNE (Rauber, Falcao & Telea 2016): words at several times in one plane, where motion is change.

The layouts Y_t (N, 2) of all slices are found together: they minimize

    sum_t KL(P_t || Q_t) + lambda / (2 N) sum_t ||Y_t - Y_{t+1}||^2

where P_t are the affinities of the vectors of slice t, and Q_t those of the layout. As in the supplement of
Bamler & Mandt (2017) lambda starts at 0.01 and shrinks by 5 % a step over 100 steps, so that it ties the
slices to one another without making their motion look smoother than it is; the perplexity is 200; the descent
has momentum and neither exaggeration nor adaptive gains, as in the program of Rauber et al.

Differences from the supplement, with reasons:

- The start. The supplement starts all slices at the same random point cloud of size 1e-4, from which 100
  steps end far from a minimum, at random positions. Here all slices start, at full scale, from the layout
  that they would share if lambda were infinite, so that words move less between slices, at a lower
  divergence of each. With all Y_t = Y the cost is T KL(mean P_t || Q) up to a constant, so the start is a
  plain t-SNE of the mean affinities, initialized with the principal axes of the mean vectors.
- The learning rate is N / 4 (supplement: 2400, nearly the same for 10,000 words), so that small vocabularies
  are laid out alike; the momentum is 0.8 (supplement: 0.5 for the first 250 steps), which brings the layouts
  closer to their minimum in 100 steps.
- Affinities reach to the 3 x perplexity nearest words (found exactly); repulsion is exact up to 1,000 words
  and interpolated on a grid above. Both come from openTSNE.
- Steps are preconditioned by the penalty, so that no lambda, however large, makes them diverge. At 0.01 this
  shortens them by 1 % at most.
"""

import math
from collections.abc import Sequence

import numpy as np
from openTSNE.affinity import PerplexityBasedNN
from openTSNE.tsne import kl_divergence_bh, kl_divergence_fft
from scipy import sparse

from wordtide.errors import SettingsError
from wordtide.progress import Observer
from wordtide.system import available_processors
from wordtide.types import Array, Floats

Affinities = sparse.csr_matrix | sparse.csr_array

SHARED_STEPS = 150
_MOMENTUM = 0.8
FEWEST_WORDS = 10
_MOST_WORDS_EXACT = 1_000  # up to here, all pairs are faster than the grid, and one thread than several
_GRID = {"n_interpolation_points": 3, "min_num_intervals": 50, "ints_in_interval": 1}


def dynamic_tsne(
    vectors: Array,
    perplexity: float = 200.0,
    penalty: float = 0.01,
    decay: float = 0.95,
    steps: int = 100,
    seed: int = 0,
    threads: int | None = None,
    observer: Observer | None = None,
) -> Floats:
    """Compute positions (T, N, 2) of N words at T times in one plane from their vectors (T, N, d).

    Distances between vectors are Euclidean.

    `perplexity` is about how many neighbors a word keeps near; it is never above (N - 1) / 3. `penalty` is
    lambda at the first step, multiplied by `decay` after each. The same arguments give the same bits on one
    machine.
    """
    vectors = _checked_vectors(vectors)
    _check_settings(perplexity, penalty, decay, steps, seed, threads)
    slices, words = vectors.shape[:2]
    cores = _threads_for(words) if threads is None else threads
    observer, joint = observer or Observer(), []
    with observer.stage("mapping", slices + SHARED_STEPS + steps, "steps"):
        for t in range(slices):
            joint.append(affinities(vectors[t], min(perplexity, (words - 1) / 3.0), cores))
            observer.step()
        shared = sum(joint[1:], joint[0]).tocsr() / slices
        shared.sort_indices()
        start = principal_start(vectors.mean(axis=0), seed)[None]
        start = descend(start, [shared], [0.0] * SHARED_STEPS, cores, observer)
        penalties = [penalty * decay**step for step in range(steps)]
        return descend(np.repeat(start, slices, axis=0), joint, penalties, cores, observer)


def affinities(vectors: Floats, perplexity: float, threads: int = 1) -> Affinities:
    """The symmetric affinities P (N, N) of vectors (N, d), which sum to 1."""
    found: Affinities = PerplexityBasedNN(
        vectors, perplexity, method="exact", metric="euclidean", n_jobs=threads
    ).P
    return found


def principal_start(vectors: Floats, seed: int) -> Floats:
    """Vectors (N, d) on their two principal axes, the first with sd 1, (N, 2).

    A little noise separates words at the same position.
    """
    centered = vectors - vectors.mean(axis=0)
    axes = np.linalg.eigh(centered.T @ centered)[1][:, :-3:-1]
    largest = axes[np.abs(axes).argmax(axis=0), [0, 1]]
    axes = axes * np.where(largest < 0.0, -1.0, 1.0)  # the signs of eigenvectors are arbitrary
    places: Floats = centered @ axes
    noise = 0.01 * np.random.default_rng(seed).standard_normal(places.shape)
    return places / max(float(places[:, 0].std()), 1e-300) + noise


def joint_gradient(layout: Floats, joint: Sequence[Affinities], penalty: float, threads: int = 1) -> Floats:
    """The gradient of the joint cost at a layout (T, N, 2), of the same shape."""
    gradient = np.stack(
        [
            _divergence_gradient(places, slice_p, threads)
            for places, slice_p in zip(layout, joint, strict=True)
        ]
    )
    motion = penalty / layout.shape[1] * np.diff(layout, axis=0)
    gradient[:-1] -= motion
    gradient[1:] += motion
    return gradient


def descend(
    start: Floats,
    joint: Sequence[Affinities],
    penalties: Sequence[float],
    threads: int = 1,
    observer: Observer | None = None,
) -> Floats:
    """The layout (T, N, 2) after a step of momentum descent on the joint cost for each of the penalties."""
    layout, velocity, observer = start.copy(), np.zeros_like(start), observer or Observer()
    slices, words = layout.shape[:2]
    rate = words / 4.0
    coupling = _path_laplacian(slices)
    for penalty in penalties:
        gradient = joint_gradient(layout, joint, penalty, threads)
        preconditioner = np.eye(slices) + rate * penalty / words * coupling
        direction = np.linalg.solve(preconditioner, gradient.reshape(slices, -1)).reshape(gradient.shape)
        velocity = _MOMENTUM * velocity - rate * direction
        layout += velocity
        observer.step()
    return layout


def _divergence_gradient(places: Floats, slice_p: Affinities, threads: int) -> Floats:
    """The gradient of KL(P || Q) at one slice, (N, 2). openTSNE leaves out the factor 4."""
    if len(places) <= _MOST_WORDS_EXACT:
        _, gradient = kl_divergence_bh(places, slice_p, dof=1, bh_params={"theta": 0.0}, n_jobs=1)
    else:
        _, gradient = kl_divergence_fft(places, slice_p, dof=1, fft_params=_GRID, n_jobs=threads)
    return 4.0 * np.asarray(gradient, dtype=np.float64)


def _threads_for(words: int) -> int:
    if words <= _MOST_WORDS_EXACT:
        return 1
    return available_processors()


def _path_laplacian(slices: int) -> Floats:
    """The matrix L (T, T) with y' L y = sum_t (y_t - y_{t+1})^2."""
    differences = np.diff(np.eye(slices), axis=0)
    return differences.T @ differences


def _checked_vectors(vectors: Array) -> Floats:
    array = np.asarray(vectors, dtype=np.float64)
    if array.ndim != 3 or not len(array) or array.shape[1] < FEWEST_WORDS or array.shape[2] < 2:
        raise SettingsError(
            f"Vectors of shape {array.shape} cannot be mapped.",
            f"Give an array (times, words, dimensions) with at least {FEWEST_WORDS} words and 2 dimensions.",
        )
    if not np.isfinite(array).all():
        raise SettingsError("Some vectors are not finite.", "Omit those words from the map.")
    return array


def _check_settings(
    perplexity: float, penalty: float, decay: float, steps: int, seed: int, threads: int | None
) -> None:
    for sound, named, remedy in (
        (1.0 <= perplexity < math.inf, f"A perplexity of {perplexity}", "Give 1 neighbor or more."),
        (0.0 <= penalty < math.inf, f"A movement penalty of {penalty}", "Give 0 or more; 0.01 is usual."),
        (0.0 < decay <= 1.0, f"A decay of {decay}", "Give more than 0, at most 1; 0.95 is usual."),
        (steps >= 1, f"The number of steps {steps}", "Give at least one step; 100 is usual."),
        (seed >= 0, f"A seed of {seed}", "Give 0 or more."),
        (threads is None or 1 <= threads <= 1024, f"{threads} threads", "Give a number from 1 to 1024."),
    ):
        if not sound:  # as of NaN
            raise SettingsError(f"{named} cannot be used.", remedy)
