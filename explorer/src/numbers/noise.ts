/** How noise is shared out among the axes: one number for each vector (rho), times a profile that all vectors have in common. */

import type { Block } from "../data/blocks";

export interface Noise {
  readonly dim: number;
  /** (d,): variances of the axes over their mean; all 1 where nothing is known of it. */
  readonly profile: Float64Array;
  readonly sum: number;
  /** Sum of the profile's squares. */
  readonly squares: number;
}

export function noiseOf(profile: readonly number[] | null | undefined, dim: number): Noise {
  if (profile && profile.length !== dim) throw new Error(`The noise profile has ${profile.length} numbers, not ${dim}.`);
  const shares = profile ? Float64Array.from(profile) : new Float64Array(dim).fill(1);
  return { dim, profile: shares, sum: shares.reduce((sum, one) => sum + one, 0), squares: shares.reduce((sum, one) => sum + one * one, 0) };
}

/** Noise along a row's own direction, for rho = 1: the profile weighted by the squares of the unit mean. */
export function along(block: Block, row: number, { dim, profile }: Noise): number {
  const scale = block.inverse[row];
  let sum = 0;
  for (let k = 0, place = row * dim; k < dim; k += 1, place += 1) sum += block.q[place] * block.q[place] * profile[k];
  return sum * scale * scale;
}

/** The standard deviation of the similarity of two rows: Var = sum_k m_ik^2 s_jk + m_jk^2 s_ik + s_ik s_jk. */
export function spreadOf(one: Block, row: number, other: Block, otherRow: number, noise: Noise): number {
  const ownVariance = one.rho[row] ** 2;
  const otherVariance = other.rho[otherRow] ** 2;
  return Math.sqrt(
    along(one, row, noise) * otherVariance + along(other, otherRow, noise) * ownVariance + noise.squares * ownVariance * otherVariance,
  );
}
