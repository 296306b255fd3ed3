/** The words nearest to a word at one slice: the settled ones of highest similarity, the word itself left out. */

import type { WordsAt } from "../data/store";
import { spreadOf, type Noise } from "./noise";
import { clipped, SIDES } from "./similarity";

export interface Neighbour {
  word: number;
  similarity: number;
  /** NaN without a posterior, as are low and high. */
  spread: number;
  low: number;
  high: number;
  /** Barely known: most of the length of its vector is noise. */
  faint: boolean;
}

/** A word is faint if its mean has less than this share of its expected length, as in the library. */
const FAINT = 0.5;

let scores = new Float64Array(0);
let numbers = new Int32Array(0);

/** The `most` nearest words in falling order of similarity; of equals the more frequent first. */
export function nearest(words: WordsAt, word: number, count: number, noise: Noise, most: number, uncertain: boolean): Neighbour[] {
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
  return best(scores, numbers.subarray(0, found), most).map((other) => {
    const similarity = clipped(scores[other], 1);
    const spread = uncertain ? spreadOf(block, own, block, start + other * stride, noise) : NaN;
    return {
      word: other,
      similarity,
      spread,
      low: Math.max(similarity - SIDES * spread, -1),
      high: Math.min(similarity + SIDES * spread, 1),
      faint: uncertain && 1 / Math.sqrt(1 + noise.sum * block.rho[start + other * stride] ** 2) < FAINT,
    };
  });
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
