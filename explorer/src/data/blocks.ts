/** Blocks of quantised vectors: int8 q (N*d) | float16 rho (N) | uint8 settled (N), little-endian. */

export interface Block {
  /** (N, d): directions; each word has one scale, which cancels in every cosine. */
  q: Int8Array;
  /** (N,): noise of a coordinate in units of the mean's length; NaN without a posterior. */
  rho: Float32Array;
  /** (N,): 1 if the word is known well enough to be listed. */
  settled: Uint8Array;
  /** (N,): 1 / |q|, and 0 for a vector that has no direction; negative while nobody asked for it. */
  inverse: Float32Array;
}

/** The bytes of a block. */
export const sizeOf = (rows: number, dim: number): number => rows * (dim + 3);

/** Cut a block of `rows` rows apart. Lengths are worked out by `measure` when they are asked for. */
export function cutBlock(bytes: Uint8Array, rows: number, dim: number): Block {
  const q = new Int8Array(bytes.buffer, bytes.byteOffset, rows * dim);
  const rho = fromHalves(new DataView(bytes.buffer, bytes.byteOffset + rows * dim, rows * 2), rows);
  const settled = new Uint8Array(bytes.buffer, bytes.byteOffset + rows * (dim + 2), rows);
  return { q, rho, settled, inverse: new Float32Array(rows).fill(-1) };
}

/** Undo the coding along time of words `from` to `to`: q[w, s] was stored as q[w, s] - q[w, s-1] modulo 256. */
export function undoDeltas(q: Int8Array, slices: number, dim: number, from: number, to: number): void {
  const byFours = dim % 4 === 0 && q.byteOffset % 4 === 0;
  const values = byFours ? new Int32Array(q.buffer, q.byteOffset, q.length / 4) : q;
  const step = byFours ? dim / 4 : dim;
  for (let word = from; word < to; word += 1) {
    const start = word * slices * step;
    const end = start + slices * step;
    if (byFours) {
      for (let place = start + step; place < end; place += 1) values[place] = fourSums(values[place], values[place - step]);
    } else {
      for (let place = start + step; place < end; place += 1) values[place] += values[place - step]; // an Int8Array wraps
    }
  }
}

/** Four bytes at once: each sum wraps by itself, because no carry leaves the seven low bits of a byte. */
function fourSums(one: number, other: number): number {
  return ((one & 0x7f7f7f7f) + (other & 0x7f7f7f7f)) ^ ((one ^ other) & 0x80808080);
}

/** Fill the inverse lengths of `count` rows that are asked for, as far as they are not known. */
export function measure(block: Block, dim: number, start: number, stride: number, count: number): void {
  const { q, inverse } = block;
  for (let number = 0, row = start; number < count; number += 1, row += stride) {
    if (inverse[row] >= 0) continue;
    let sum = 0;
    for (let place = row * dim, end = place + dim; place < end; place += 1) sum += q[place] * q[place];
    inverse[row] = sum > 0 ? 1 / Math.sqrt(sum) : 0;
  }
}

let halves: Float32Array | null = null;

/** Float16 to float32 by a table of all 65,536 values. */
function fromHalves(view: DataView, count: number): Float32Array {
  halves ??= Float32Array.from({ length: 65536 }, (_, bits) => halfValue(bits));
  const values = new Float32Array(count);
  for (let place = 0; place < count; place += 1) values[place] = halves[view.getUint16(2 * place, true)];
  return values;
}

/** The value of a float16 given as its bits. */
export function halfValue(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
