/** Similarity: the cosine of two posterior means, with the 90 % interval of the cosine of the vectors themselves.
 *
 * Mean and variance are those of wordtide's questions; the noise of a vector is one number, shared out by the profile.
 */

import type { Block } from "../data/blocks";
import type { Rows } from "../data/store";
import { posteriorOf, type Noise } from "./noise";

/** Of 90 % intervals: so many standard deviations to either side. */
export const SIDES = 1.6448536269514722;

/** The same for an interval that is open on one side, and how fast one goes over into the other. */
const ONE_SIDE = 1.2815515655446004;
const APPROACH = 2.7;

/** The interval with 90 % of a normal posterior that contains `value`, cut off at -most and most. */
export function interval(value: number, expected: number, spread: number, most: number): { low: number; high: number } {
  const beyond = Math.max((spread > 0 ? Math.abs(value - expected) / spread : 0) - SIDES, 0);
  const side = value < expected ? -1 : 1;
  const far = expected + side * Math.max(Math.abs(value - expected), SIDES * spread);
  const near = expected - side * spread * (ONE_SIDE + (SIDES - ONE_SIDE) * Math.exp(-APPROACH * beyond));
  return { low: Math.max(Math.min(near, far), -most), high: Math.min(Math.max(near, far), most) };
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
    let mean = cosine(one.block, row, other.block, otherRow, noise.dim);
    if (same && !Number.isNaN(mean)) mean = 1;
    curve.mean[slice] = mean;
    const { expected, spread } = same ? { expected: mean, spread: 0 } : posteriorOf(one.block, row, other.block, otherRow, noise, mean);
    const { low, high } = interval(mean, expected, uncertain ? spread : NaN, 1);
    curve.low[slice] = low;
    curve.high[slice] = high;
  }
  return curve;
}
