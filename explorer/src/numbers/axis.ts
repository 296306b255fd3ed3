/** Where a word stands between two poles: its mean similarity to the words of one minus that to the words of the other. */

import type { Rows } from "../data/store";
import { along, expectedLength, type Noise } from "./noise";
import { interval, type Curve } from "./similarity";

/** Position of a word over time, positive nearer to the pole `to`; NaN where a word has no direction. */
export function axisCurve(word: Rows, from: readonly Rows[], to: readonly Rows[], count: number, noise: Noise, uncertain: boolean): Curve {
  const { dim, profile } = noise;
  const curve = { mean: new Float64Array(count), low: new Float64Array(count), high: new Float64Array(count) };
  const poles = [
    ...from.map((rows) => ({ rows, weight: -1 / from.length })),
    ...to.map((rows) => ({ rows, weight: 1 / to.length })),
  ];
  const direction = new Float64Array(dim); // in units of expected lengths
  for (let slice = 0; slice < count; slice += 1) {
    direction.fill(0);
    const row = word.start + slice * word.stride;
    const own = word.block.inverse[row];
    const ownVariance = word.block.rho[row] ** 2;
    const ownAlong = along(word.block, row, noise);
    const ownLength = expectedLength(word.block, row, noise);
    let known = own > 0;
    let variance = 0;
    for (const { rows, weight } of poles) {
      const poleRow = rows.start + slice * rows.stride;
      const scale = rows.block.inverse[poleRow] * weight;
      known &&= scale !== 0;
      const length = expectedLength(rows.block, poleRow, noise);
      for (let k = 0, place = poleRow * dim; k < dim; k += 1, place += 1) {
        direction[k] += (rows.block.q[place] * scale) / length;
      }
      variance += weight * weight * (ownAlong + noise.share * noise.squares * ownVariance) * (rows.block.rho[poleRow] / length) ** 2;
    }
    let position = 0;
    let squares = 0;
    for (let k = 0, place = row * dim; k < dim; k += 1, place += 1) {
      position += word.block.q[place] * direction[k];
      squares += direction[k] * direction[k] * profile[k];
    }
    position = known ? (position * own) / ownLength : NaN;
    const spread = uncertain ? Math.sqrt(variance + squares * ownVariance) / ownLength : NaN;
    curve.mean[slice] = position;
    const { low, high } = interval(position, spread, 2);
    curve.low[slice] = low;
    curve.high[slice] = high;
  }
  return curve;
}
