/** Normal numbers from a seed: the same word has the same draws in every browser, every time. */

const LAYERS = 128;
const EDGE = 3.442619855899; // where the tail of a ziggurat of 128 layers begins
const AREA = 9.91256303526217e-3;

const edges = new Float64Array(LAYERS + 1);
const ratios = new Float64Array(LAYERS);
{
  let density = Math.exp(-0.5 * EDGE * EDGE);
  edges[0] = AREA / density;
  edges[1] = EDGE;
  for (let layer = 2; layer < LAYERS; layer += 1) {
    edges[layer] = Math.sqrt(-2 * Math.log(AREA / edges[layer - 1] + density));
    density = Math.exp(-0.5 * edges[layer] * edges[layer]);
  }
  for (let layer = 0; layer < LAYERS; layer += 1) ratios[layer] = edges[layer + 1] / edges[layer];
}

export class Normals {
  private a: number;
  private b: number;
  private c: number;
  private d: number;

  constructor(...seeds: number[]) {
    // four words of state by a mixing step for each seed and then some, as small generators ask for
    let state = 0x9e3779b9;
    const next = (): number => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return (mixed ^ (mixed >>> 14)) >>> 0;
    };
    for (const seed of seeds) state = (next() ^ Math.imul(seed + 1, 0x85ebca6b)) | 0;
    this.a = next();
    this.b = next();
    this.c = next();
    this.d = next() | 1;
  }

  /** 32 random bits, as a signed number. */
  private bits(): number {
    const sum = (((this.a + this.b) | 0) + this.d) | 0;
    this.d = (this.d + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (this.c << 21) | (this.c >>> 11);
    this.c = (this.c + sum) | 0;
    return sum;
  }

  private uniform(): number {
    return ((this.bits() >>> 0) + 0.5) / 4294967296;
  }

  /** One standard normal number. */
  next(): number {
    for (;;) {
      const layer = this.bits() & (LAYERS - 1);
      const unit = this.bits() / 2147483648;
      if (Math.abs(unit) < ratios[layer]) return unit * edges[layer];
      if (layer === 0) return this.tail(unit < 0);
      const x = unit * edges[layer];
      const above = Math.exp(-0.5 * (edges[layer] * edges[layer] - x * x));
      const below = Math.exp(-0.5 * (edges[layer + 1] * edges[layer + 1] - x * x));
      if (below + this.uniform() * (above - below) < 1) return x;
    }
  }

  private tail(negative: boolean): number {
    for (;;) {
      const x = Math.log(this.uniform()) / EDGE;
      const y = Math.log(this.uniform());
      if (-2 * y >= x * x) return negative ? x - EDGE : EDGE - x;
    }
  }
}
