/** The probability to be among the nearest: how often a word is, when all vectors are drawn from the posterior.
 *
 * As in wordtide: given the word's own vector, the part of another along it is normal; what is across has a length that adds up
 * many coordinates, so its mean and variance say enough. What is compared are cotangents, which are in the order of the cosines.
 */

import { Breathing } from "../data/breathing";
import type { Rows } from "../data/store";
import type { Neighbor } from "./neighbors";
import { along as noiseAlong, posteriorOf, type Noise } from "./noise";
import { Normals } from "./normals";
import { cosine } from "./similarity";

export const CANDIDATES = 500;
export const DRAWS = 1000;
const NOTHING_ACROSS = 1e-6; // of unit length, squared: below it is rounding

/** Unit vectors drawn around the word's own, (draws, d). */
function ownDirections(mean: Float32Array, rho: number, { dim, profile }: Noise, draws: number, normals: Normals): Float32Array {
  const spread = profile.map((share) => rho * Math.sqrt(share));
  const drawn = new Float32Array(draws * dim);
  for (let draw = 0; draw < draws; draw += 1) {
    let squares = 0;
    for (let k = 0; k < dim; k += 1) {
      const value = mean[k] + spread[k] * normals.next();
      drawn[draw * dim + k] = value;
      squares += value * value;
    }
    const scale = 1 / Math.sqrt(squares);
    for (let k = 0; k < dim; k += 1) drawn[draw * dim + k] *= scale;
  }
  return drawn;
}

function unit(words: Rows, word: number, dim: number): Float32Array {
  const row = words.start + word * words.stride;
  const scale = words.block.inverse[row];
  return Float32Array.from(words.block.q.subarray(row * dim, (row + 1) * dim), (value) => value * scale);
}

/** For each of the candidates: the share of draws in which it is one of the `top` nearest. Null once `givenUp` says so. */
export async function amongNearest(
  words: Rows,
  word: number,
  candidates: readonly Neighbor[],
  noise: Noise,
  top: number,
  draws: number = DRAWS,
  givenUp: () => boolean = () => false,
): Promise<Float64Array | null> {
  const { dim, profile } = noise;
  const n = candidates.length;
  if (n <= top) return new Float64Array(n).fill(1);
  const breathing = new Breathing();
  const normals = new Normals(word, n);
  const own = ownDirections(unit(words, word, dim), words.block.rho[words.start + word * words.stride], noise, draws, normals);
  // shares[r]: noise along the drawn direction r, for rho = 1
  const shares = new Float32Array(draws);
  for (let r = 0; r < draws; r += 1) for (let k = 0, place = r * dim; k < dim; k += 1, place += 1) shares[r] += own[place] * own[place] * profile[k];
  const means = candidates.map((candidate) => unit(words, candidate.word, dim));
  const variances = candidates.map((candidate) => words.block.rho[words.start + candidate.word * words.stride] ** 2);
  const ownRow = words.start + word * words.stride;
  const stretches = candidates.map((candidate) => {
    const row = words.start + candidate.word * words.stride;
    return posteriorOf(words.block, ownRow, words.block, row, noise, cosine(words.block, ownRow, words.block, row, dim)).stretch;
  });

  // along[j, r]: the part of candidate j's mean along the word's drawn direction r
  const along = new Float32Array(n * draws);
  const relative = new Float64Array(n);
  for (let j = 0; j < n; j += 1) {
    const mean = means[j];
    const v = variances[j];
    const whole = 1 + noise.share * noise.sum * v; // squared length
    let across = 0;
    let correction = 0;
    for (let r = 0; r < draws; r += 1) {
      let sum = 0;
      for (let k = 0, place = r * dim; k < dim; k += 1, place += 1) sum += own[place] * mean[k];
      along[j * draws + r] = sum;
      const s = v * shares[r];
      across += Math.max(whole - sum * sum - s, NOTHING_ACROSS);
      correction += (2 * s + 4 * sum * sum) * s;
    }
    const scatter = (2 * noise.share * noise.squares * v + 4 * noiseAlong(words.block, words.start + candidates[j].word * words.stride, noise)) * v - correction / draws;
    relative[j] = Math.sqrt(Math.max(scatter, 0)) / (across / draws);
    if (j % 8 === 7 && breathing.due) await breathing.pause();
    if (givenUp()) return null;
  }
  for (let j = 0; j < n; j += 1) {
    const v = variances[j];
    const whole = 1 + noise.share * noise.sum * v;
    for (let r = 0, place = j * draws; r < draws; r += 1, place += 1) {
      const mean = along[place];
      const s = v * shares[r];
      const across = Math.max(whole - mean * mean - s, NOTHING_ACROSS) * Math.exp(relative[j] * normals.next());
      along[place] = (stretches[j] * mean + Math.sqrt(s) * normals.next()) / Math.sqrt(across);
    }
    if (j % 8 === 7 && breathing.due) await breathing.pause();
    if (givenUp()) return null;
  }
  return shareAmongBest(along, n, draws, top);
}

/** In which share of the draws each of n values (n, draws) is one of the `best` largest. */
export function shareAmongBest(values: Float32Array, n: number, draws: number, best: number): Float64Array {
  const largest = new Float32Array(draws * best).fill(-Infinity); // of each draw, falling
  for (let j = 0; j < n; j += 1) {
    for (let r = 0; r < draws; r += 1) {
      const value = values[j * draws + r];
      const last = (r + 1) * best - 1;
      if (value <= largest[last]) continue;
      let place = last;
      for (; place > r * best && largest[place - 1] < value; place -= 1) largest[place] = largest[place - 1];
      largest[place] = value;
    }
  }
  const shares = new Float64Array(n);
  for (let j = 0; j < n; j += 1) {
    for (let r = 0; r < draws; r += 1) if (values[j * draws + r] >= largest[(r + 1) * best - 1]) shares[j] += 1;
    shares[j] /= draws;
  }
  return shares;
}
