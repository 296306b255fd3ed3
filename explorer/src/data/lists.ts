/** Lists of nearest words as the library made them: wordtide/explorer/nearest_lists.py says how they are stored. */

/** The length of a list; some are shorter. */
export const LISTED = 10;
const SAME = 255;
const FRESH = 254;
const NONE = 253;

/** The lists of some words at some slices. A word's lists are decoded when one of them is asked for. */
export class Lists {
  private readonly fresh: DataView;
  private readonly codes: Uint8Array;
  /** Of each word: where its codes begin, and how many fresh words come before its own. */
  private readonly starts: Uint32Array;
  private readonly before: Uint32Array;
  private decoded = { word: -1, lists: [] as number[][] };

  constructor(
    bytes: Uint8Array,
    words: number,
    private readonly slices: number,
  ) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const end = 4 + 4 * view.getUint32(0, true);
    this.fresh = new DataView(bytes.buffer, bytes.byteOffset + 4, end - 4);
    this.codes = bytes.subarray(end);
    this.starts = new Uint32Array(words);
    this.before = new Uint32Array(words);
    let code = 0;
    let fresh = 0;
    for (let word = 0; word < words; word += 1) {
      this.starts[word] = code;
      this.before[word] = fresh;
      for (let slice = 0; slice < slices; slice += 1) {
        const length = this.codes[code] === SAME ? 1 : LISTED;
        for (const stop = code + length; code < stop; code += 1) if (this.codes[code] === FRESH) fresh += 1;
      }
    }
    if (code !== this.codes.length || 4 * fresh !== this.fresh.byteLength) throw new Error("The lists of nearest words are damaged.");
  }

  /** The words nearest to a word at a slice. */
  at(word: number, slice: number): readonly number[] {
    if (this.decoded.word !== word) this.decoded = { word, lists: this.decode(word) };
    return this.decoded.lists[slice];
  }

  private decode(word: number): number[][] {
    const lists: number[][] = [];
    let list: number[] = [];
    let code = this.starts[word];
    let fresh = this.before[word];
    for (let slice = 0; slice < this.slices; slice += 1) {
      if (this.codes[code] === SAME) {
        code += 1;
      } else {
        const last = list;
        list = [];
        for (const stop = code + LISTED; code < stop; code += 1) {
          const stored = this.codes[code];
          if (stored !== NONE) list.push(stored === FRESH ? this.fresh.getUint32(4 * fresh++, true) : last[stored]);
        }
      }
      lists.push(list);
    }
    return lists;
  }
}
