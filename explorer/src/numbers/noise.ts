/** How noise is shared out among the axes: one number for each vector (rho), times a profile that all vectors have in common. */

import type { Block } from "../data/blocks";

export interface Noise {
  readonly dim: number;
  /** (d,): variances of the axes over their mean; all 1 where nothing is known of it. */
  readonly profile: Float64Array;
  readonly sum: number;
  /** Sum of the profile's squares. */
  readonly squares: number;
  /** The share of the axes that noise lies in. */
  readonly share: number;
  /** By how much the prior is too sure that words have nothing in common, as a precision of cosines. */
  readonly closeness: number;
}

/** The largest share of its precision that a cosine owes to the prior. */
const MOST_OF_PRIOR = 0.5;
/** The standard deviation of what a stretch adds to a cosine, relative to it. */
const STRETCH_ERROR = 0.4;

export function noiseOf(profile: readonly number[] | null | undefined, dim: number, share = 1, closeness = 0): Noise {
  if (profile && profile.length !== dim) throw new Error(`The noise profile has ${profile.length} numbers, not ${dim}.`);
  const shares = profile ? Float64Array.from(profile) : new Float64Array(dim).fill(1);
  const sum = shares.reduce((total, one) => total + one, 0);
  return { dim, profile: shares, sum, squares: shares.reduce((total, one) => total + one * one, 0), share, closeness };
}

/** Noise along a row's own direction, for rho = 1: the profile weighted by the squares of the unit mean. */
export function along(block: Block, row: number, { dim, profile }: Noise): number {
  const scale = block.inverse[row];
  let sum = 0;
  for (let k = 0, place = row * dim; k < dim; k += 1, place += 1) sum += block.q[place] * block.q[place] * profile[k];
  return sum * scale * scale;
}

/** The expected length of a row in units of the length of its mean. */
export function expectedLength(block: Block, row: number, { sum, share }: Noise): number {
  return Math.sqrt(1 + share * sum * block.rho[row] ** 2);
}

/** Mean and standard deviation of the posterior of a cosine, and by which factor it is farther from zero than between independent vectors. */
export interface Posterior {
  expected: number;
  spread: number;
  stretch: number;
}

/** The posterior of the cosine of two rows: vectors in units of their expected lengths, as in wordtide. */
export function posteriorOf(one: Block, row: number, other: Block, otherRow: number, noise: Noise, cosine: number): Posterior {
  const ownVariance = one.rho[row] ** 2;
  const otherVariance = other.rho[otherRow] ** 2;
  const scale = 1 / (expectedLength(one, row, noise) * expectedLength(other, otherRow, noise));
  const expected = cosine * scale;
  const product =
    along(one, row, noise) * otherVariance + along(other, otherRow, noise) * ownVariance + noise.share * noise.squares * ownVariance * otherVariance;
  const variance = scale * scale * product * Math.max(1 - expected * expected, 0);
  const square = expected * expected;
  const apart = square + variance > 0 ? square / (square + variance) : 0;
  const stretch = 1 / (1 - Math.min(noise.closeness * apart * variance, MOST_OF_PRIOR));
  const spread = Math.hypot(Math.sqrt(stretch * variance), STRETCH_ERROR * (stretch - 1) * expected);
  return { expected: Math.max(-1, Math.min(1, stretch * expected)), spread, stretch };
}
