/** Where a word stands between two poles: its mean similarity to the words of one minus that to the words of the other. */

import type { Rows } from "../data/store";
import { along, type Noise } from "./noise";
import { SIDES, type Curve } from "./similarity";

/** Position of a word over time, positive nearer to the pole `to`; NaN where a word has no direction. */
export function axisCurve(word: Rows, from: readonly Rows[], to: readonly Rows[], count: number, noise: Noise, uncertain: boolean): Curve {
  const { dim, profile } = noise;
  const curve = { mean: new Float64Array(count), low: new Float64Array(count), high: new Float64Array(count) };
  const poles = [
    ...from.map((rows) => ({ rows, weight: -1 / from.length })),
    ...to.map((rows) => ({ rows, weight: 1 / to.length })),
  ];
  const direction = new Float64Array(dim);
  for (let slice = 0; slice < count; slice += 1) {
    direction.fill(0);
    const row = word.start + slice * word.stride;
    const own = word.block.inverse[row];
    const ownVariance = word.block.rho[row] ** 2;
    const ownAlong = along(word.block, row, noise);
    let known = own > 0;
    let variance = 0;
    for (const { rows, weight } of poles) {
      const poleRow = rows.start + slice * rows.stride;
      const scale = rows.block.inverse[poleRow] * weight;
      known &&= scale !== 0;
      for (let k = 0, place = poleRow * dim; k < dim; k += 1, place += 1) direction[k] += rows.block.q[place] * scale;
      variance += weight * weight * (ownAlong + noise.squares * ownVariance) * rows.block.rho[poleRow] ** 2;
    }
    let position = 0;
    let squares = 0;
    for (let k = 0, place = row * dim; k < dim; k += 1, place += 1) {
      position += word.block.q[place] * direction[k];
      squares += direction[k] * direction[k] * profile[k];
    }
    position = known ? position * own : NaN;
    const reach = uncertain ? SIDES * Math.sqrt(variance + squares * ownVariance) : NaN;
    curve.mean[slice] = position;
    curve.low[slice] = Math.max(position - reach, -2);
    curve.high[slice] = Math.min(position + reach, 2);
  }
  return curve;
}
