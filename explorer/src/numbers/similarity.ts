/** Similarity: the expected cosine of two words' vectors under the posterior, with its 90 % interval.
 *
 * Mean and variance are those of wordtide's questions; the noise of a vector is one number, shared out by the profile.
 */

import type { Block } from "../data/blocks";
import type { Rows } from "../data/store";
import { posteriorOf, type Noise } from "./noise";

/** Of 90 % intervals: so many standard deviations to either side. */
export const SIDES = 1.6448536269514722;

/** The central 90 % of a normal posterior, cut off at -most and most. */
export function interval(mean: number, spread: number, most: number): { low: number; high: number } {
  return { low: Math.max(mean - SIDES * spread, -most), high: Math.min(mean + SIDES * spread, most) };
}

/** A word's similarity to another over time; without a posterior `low` and `high` are NaN. */
export interface Curve {
  mean: Float64Array;
  low: Float64Array;
  high: Float64Array;
}

/** q_i . q_j over rows of two blocks. */
export function dot(one: Block, row: number, other: Block, otherRow: number, dim: number): number {
  const a = one.q;
  const b = other.q;
  let sum = 0;
  for (let i = row * dim, j = otherRow * dim, end = i + dim; i < end; i += 1, j += 1) sum += a[i] * b[j];
  return sum;
}

/** The cosine of two rows; NaN if one of them has no direction. */
export function cosine(one: Block, row: number, other: Block, otherRow: number, dim: number): number {
  const scale = one.inverse[row] * other.inverse[otherRow];
  return scale > 0 ? clipped(dot(one, row, other, otherRow, dim) * scale, 1) : NaN;
}

export function clipped(value: number, most: number): number {
  return value > most ? most : value < -most ? -most : value;
}

/** The similarity of two words at every slice. */
export function similarityCurve(one: Rows, other: Rows, count: number, noise: Noise, same: boolean, uncertain: boolean): Curve {
  const curve = { mean: new Float64Array(count), low: new Float64Array(count), high: new Float64Array(count) };
  for (let slice = 0; slice < count; slice += 1) {
    const row = one.start + slice * one.stride;
    const otherRow = other.start + slice * other.stride;
    const plain = cosine(one.block, row, other.block, otherRow, noise.dim);
    const { expected, spread } = same
      ? { expected: Number.isNaN(plain) ? NaN : 1, spread: 0 }
      : posteriorOf(one.block, row, other.block, otherRow, noise, plain);
    curve.mean[slice] = expected;
    const { low, high } = interval(expected, uncertain ? spread : NaN, 1);
    curve.low[slice] = low;
    curve.high[slice] = high;
  }
  return curve;
}
