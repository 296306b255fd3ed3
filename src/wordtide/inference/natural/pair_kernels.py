"""Sums over the positive pairs of a slice, compiled for the CPU: what a sparse matrix times dense vectors costs, and no more.

`indptr`, `indices` are n+ in CSR form on the a active words. Rows are independent, so threads may take any ranges of them.
"""

from typing import Any

import numpy as np

from wordtide.compiled import arithmetic

Array = Any


@arithmetic
def pair_moments(
    indptr: Array,
    indices: Array,
    mu_u: Array,
    s_u: Array,
    mu_v: Array,
    s_v: Array,
    start: int,
    stop: int,
    m: Array,
    s2: Array,
) -> None:
    """Mean and variance of u_i . v_j under the mean field for every stored pair of rows `start` to `stop`; m, s2: (nnz,).

    Two pairs at a time, because a sum waits for itself: two of them keep the vector units busy.
    """
    dim = mu_u.shape[1]
    second_moment = np.empty(dim, dtype=mu_u.dtype)
    for i in range(start, stop):
        u, s = mu_u[i], s_u[i]
        for k in range(dim):
            second_moment[k] = u[k] * u[k] + s[k]
        place, end = indptr[i], indptr[i + 1]
        while place < end:
            other = min(place + 1, end - 1)
            v, sv = mu_v[indices[place]], s_v[indices[place]]
            w, sw = mu_v[indices[other]], s_v[indices[other]]
            mean = u[0] * 0
            mean_w = mean
            variance = mean
            variance_w = mean
            for k in range(dim):
                mean += u[k] * v[k]
                mean_w += u[k] * w[k]
                variance += second_moment[k] * sv[k] + s[k] * (v[k] * v[k])
                variance_w += second_moment[k] * sw[k] + s[k] * (w[k] * w[k])
            m[place], s2[place] = mean, variance
            m[other], s2[other] = mean_w, variance_w
            place += 2


@arithmetic
def add_pairs(
    indptr: Array,
    indices: Array,
    places: Array,
    e: Array,
    r: Array,
    mu: Array,
    s: Array,
    start: int,
    stop: int,
    sum_e_mu: Array,
    sum_r_s: Array,
    sum_r_mu2: Array,
) -> None:
    """Add to row i of the three sums (a, d) e mu_j, r s_j and r mu_j^2 over its pairs j, four pairs at a time.

    `places` says where e and r of each stored pair stand: transposed for contexts; empty for words, where they stand in order.
    """
    dim = mu.shape[1]
    moved = len(places) > 0
    for i in range(start, stop):
        a, b, c = sum_e_mu[i], sum_r_s[i], sum_r_mu2[i]
        place, end = indptr[i], indptr[i + 1]
        while place + 4 <= end:
            p0, p1, p2, p3 = place, place + 1, place + 2, place + 3
            if moved:
                p0, p1, p2, p3 = places[p0], places[p1], places[p2], places[p3]
            e0, e1, e2, e3 = e[p0], e[p1], e[p2], e[p3]
            r0, r1, r2, r3 = r[p0], r[p1], r[p2], r[p3]
            j0, j1, j2, j3 = indices[place], indices[place + 1], indices[place + 2], indices[place + 3]
            m0, m1, m2, m3 = mu[j0], mu[j1], mu[j2], mu[j3]
            s0, s1, s2, s3 = s[j0], s[j1], s[j2], s[j3]
            for k in range(dim):
                a[k] += e0 * m0[k] + e1 * m1[k] + e2 * m2[k] + e3 * m3[k]
                b[k] += r0 * s0[k] + r1 * s1[k] + r2 * s2[k] + r3 * s3[k]
                c[k] += r0 * m0[k] * m0[k] + r1 * m1[k] * m1[k] + r2 * m2[k] * m2[k] + r3 * m3[k] * m3[k]
            place += 4
        while place < end:
            p0, j0 = places[place] if moved else place, indices[place]
            e0, r0 = e[p0], r[p0]
            m0, s0 = mu[j0], s[j0]
            for k in range(dim):
                a[k] += e0 * m0[k]
                b[k] += r0 * s0[k]
                c[k] += r0 * m0[k] * m0[k]
            place += 1


def transposed_places(indptr: Any, indices: Any) -> Any:
    """Where the pair (j, i) of a matrix with a symmetric pattern is stored, for every stored pair (i, j), (nnz,) int32."""
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    return np.lexsort((rows, indices)).astype(np.int32)
