/** The words nearest to a word at one slice: of the settled ones with the highest cosines of means those of highest similarity, the word itself left out.
 *
 * Stored vectors are too coarse for the order of words that are about as near. Lists of the usual length come from the library.
 */

import type { WordsAt } from "../data/store";
import { expectedLength, posteriorOf, type Noise } from "./noise";
import { clipped, cosine, interval } from "./similarity";

/** How many of the most similar words are ranked, for each that is listed and in addition. */
const POOL = 3;
const SPARE = 10;
/** A word is faint if its mean has less than this share of its expected length: it is mostly noise. */
const FAINT = 0.5;

export interface Neighbor {
  word: number;
  similarity: number;
  /** NaN without a posterior, as is high. */
  low: number;
  high: number;
  /** Barely known: most of the length of its vector is noise. */
  faint: boolean;
}

let scores = new Float64Array(0);
let numbers = new Int32Array(0);

/** The `most` nearest words by similarity; faint ones come last. */
export function nearest(words: WordsAt, word: number, count: number, noise: Noise, most: number, uncertain: boolean): Neighbor[] {
  const pool = candidates(words, word, count, noise, uncertain ? POOL * most + SPARE : most, uncertain);
  if (!uncertain) return pool;
  const chosen = pool.sort((one, other) => other.similarity - one.similarity).slice(0, most);
  return [...chosen.filter((one) => !one.faint), ...chosen.filter((one) => one.faint)];
}

/** The `most` words with the highest cosines of means, in falling order; of equals the more frequent first. */
export function candidates(words: WordsAt, word: number, count: number, noise: Noise, most: number, uncertain: boolean): Neighbor[] {
  const { block, start, stride, scales } = words;
  const { q, inverse } = block;
  const { dim } = noise;
  const own = start + word * stride;
  if (inverse[own] === 0) return [];
  if (scores.length < count) [scores, numbers] = [new Float64Array(count), new Int32Array(count)];
  const direction = Int32Array.from(q.subarray(own * dim, (own + 1) * dim));
  let found = 0;
  for (let other = 0; other < count; other += 1) {
    const scale = scales[other];
    if (scale === 0 || other === word) continue;
    scores[other] = product(q, (start + other * stride) * dim, direction, dim) * inverse[own] * scale;
    numbers[found] = other;
    found += 1;
  }
  return best(scores, numbers.subarray(0, found), most).map((other) => compared(words, word, other, noise, clipped(scores[other], 1), uncertain));
}

/** Words in the order in which the library lists them. */
export function asListed(words: WordsAt, word: number, listed: readonly number[], noise: Noise, uncertain: boolean): Neighbor[] {
  const { block, start, stride } = words;
  const own = start + word * stride;
  return listed.map((other) => compared(words, word, other, noise, cosine(block, own, block, start + other * stride, noise.dim), uncertain));
}

function compared({ block, start, stride }: WordsAt, word: number, other: number, noise: Noise, cosine: number, uncertain: boolean): Neighbor {
  const row = start + other * stride;
  const { expected, spread } = posteriorOf(block, start + word * stride, block, row, noise, cosine);
  const faint = uncertain && expectedLength(block, row, noise) > 1 / FAINT;
  return { word: other, similarity: expected, ...interval(expected, uncertain ? spread : NaN, 1), faint };
}

/** The inner product with dim numbers of q, four at a time. Products are whole numbers below 2^14, so sums are exact. */
function product(q: Int8Array, from: number, direction: Int32Array, dim: number): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let k = 0;
  let place = from;
  for (; k + 3 < dim; k += 4, place += 4) {
    a = (a + Math.imul(q[place], direction[k])) | 0;
    b = (b + Math.imul(q[place + 1], direction[k + 1])) | 0;
    c = (c + Math.imul(q[place + 2], direction[k + 2])) | 0;
    d = (d + Math.imul(q[place + 3], direction[k + 3])) | 0;
  }
  for (; k < dim; k += 1, place += 1) a = (a + Math.imul(q[place], direction[k])) | 0;
  return a + b + c + d;
}

/** The `most` numbers of the highest scores, best first. A heap of the best so far, the worst on top. */
function best(scores: Float64Array, numbers: Int32Array, most: number): number[] {
  const heap: number[] = [];
  const worse = (one: number, other: number): boolean =>
    scores[one] < scores[other] || (scores[one] === scores[other] && one > other);
  const sink = (from: number): void => {
    for (let place = from; ; ) {
      let least = place;
      for (const child of [2 * place + 1, 2 * place + 2]) if (child < heap.length && worse(heap[child], heap[least])) least = child;
      if (least === place) return;
      [heap[place], heap[least]] = [heap[least], heap[place]];
      place = least;
    }
  };
  for (const number of numbers) {
    if (heap.length < most) {
      heap.push(number);
      if (heap.length === most) for (let place = most >> 1; place >= 0; place -= 1) sink(place);
    } else if (worse(heap[0], number)) {
      heap[0] = number;
      sink(0);
    }
  }
  return heap.sort((one, other) => scores[other] - scores[one] || one - other);
}
