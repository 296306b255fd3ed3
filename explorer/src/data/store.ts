/** The model as the page sees it: header, vectors by word and by slice, stories, lists. Everything is read when first asked for. */

import { noiseOf, type Noise } from "../numbers/noise";
import { spelled } from "../numbers/spelling";
import { cutBlock, measure, sizeOf, undoDeltas, type Block } from "./blocks";
import { Breathing } from "./breathing";
import { checkedHeader, type Changed, type Divided, type Example, type Header, type MapFrames, type Story } from "./forms";
import type { Host } from "./hosts";
import { inflated, inflatedTo, parsed } from "./inflating";
import { Lists } from "./lists";
import { Remembered } from "./remembering";

/** Rows of a block that belong together: row(i) = start + i * stride. */
export interface Rows {
  block: Block;
  start: number;
  stride: number;
}

/** All words at one slice, with 1 / |q| of those known well enough to be listed, 0 for others. */
export interface WordsAt extends Rows {
  scales: Float32Array;
}

const SLICES_KEPT = 48;
const CHUNKS_KEPT = 64;
const LISTS_KEPT = 500;

export class Store {
  readonly numbers = new Map<string, number>();
  readonly noise: Noise;
  private occurrences: Uint32Array = new Uint32Array(0);
  private whole: Promise<Block> | null = null;
  private byGroup: Promise<Block> | null = null;
  private readonly scales = new Map<number, Float32Array>();
  private readonly lists = new Remembered<unknown>(200);
  private readonly slices = new Remembered<Block>(SLICES_KEPT);
  private readonly nearest = new Remembered<Lists>(LISTS_KEPT);
  private readonly chunks = new Remembered<Block>(CHUNKS_KEPT);

  private constructor(
    private readonly host: Host,
    readonly header: Header,
  ) {
    this.noise = noiseOf(header.noise_profile, header.dim, header.noise_share, header.closeness);
    header.words.forEach((word, number) => this.numbers.set(word, number));
  }

  static async open(host: Host): Promise<Store> {
    const header = checkedHeader(await parsed<Header>(await host.resource("header.bin")));
    const store = new Store(host, header);
    const bytes = await inflated(await host.resource("occurrences.bin"));
    if (bytes.length !== 4 * header.words.length * header.slices.length) throw new Error("occurrences.bin has another size.");
    store.occurrences = littleEndianNumbers(bytes);
    return store;
  }

  /** The number of a word as typed, or as the model spells it ("Climate change": climate_change); null if it is not there. */
  numberOf(word: string): number | null {
    return this.numbers.get(word) ?? this.numbers.get(spelled(word)) ?? null;
  }

  occurrencesOf(word: number): Uint32Array {
    const { length } = this.header.slices;
    return this.occurrences.subarray(word * length, (word + 1) * length);
  }

  /** One word at all slices. */
  async word(word: number): Promise<Rows> {
    const count = this.header.slices.length;
    if (this.host.embedded) return this.measured(await this.all(), word * count, 1, count);
    const size = this.header.words_per_chunk;
    const chunk = Math.floor(word / size);
    const rows = Math.min(size, this.header.words.length - chunk * size) * count;
    const block = await this.chunks.get(String(chunk), () => this.block(`words/${fourDigits(chunk)}.bin`, rows));
    return this.measured(block, (word - chunk * size) * count, 1, count);
  }

  /** All words at one slice. */
  async slice(slice: number): Promise<WordsAt> {
    const { words, slices } = this.header;
    if (this.host.embedded) return this.scaled(await this.all(), slice, slices.length, slice);
    const name = `slices/${fourDigits(slice)}.bin`;
    return this.scaled(await this.slices.get(name, () => this.block(name, words.length)), 0, 1, slice);
  }

  /** Lengths lie far apart in the block, so those of a slice are gathered once. */
  private scaled(block: Block, start: number, stride: number, slice: number): WordsAt {
    let scales = this.scales.get(slice);
    if (!scales || stride === 1) {
      const count = this.header.words.length;
      measure(block, this.header.dim, start, stride, count);
      scales = new Float32Array(count);
      for (let word = 0, row = start; word < count; word += 1, row += stride) if (block.settled[row]) scales[word] = block.inverse[row];
      this.scales.set(slice, scales);
    }
    return { block, start, stride, scales };
  }

  /** The words nearest to a word at a slice, as the library lists them; null if the page has no lists. */
  async nearestTo(word: number, slice: number): Promise<readonly number[] | null> {
    const { nearest, slices, words } = this.header;
    if (!nearest) return null;
    const [most, span] = nearest;
    const [first, part] = [Math.floor(word / most), Math.floor(slice / span)];
    const name = this.host.embedded ? "nearest.bin" : `nearest/${fourDigits(first * Math.ceil(slices.length / span) + part)}.bin`;
    const [size, wide] = [Math.min(most, words.length - first * most), Math.min(span, slices.length - part * span)];
    const lists = await this.nearest.get(name, async () => new Lists(await inflated(await this.host.resource(name)), size, wide));
    return lists.at(word - first * most, slice - part * span);
  }

  /** Whether every slice is at hand, so that asking for all of them costs no transfer. */
  get everythingHere(): boolean {
    return this.host.embedded;
  }

  async story(word: number): Promise<Story> {
    if (this.host.embedded) return (await this.list<Story[]>("stories.bin"))[word];
    const size = this.header.words_per_chunk;
    const chunk = Math.floor(word / size);
    return (await this.list<Story[]>(`stories/${fourDigits(chunk)}.bin`))[word - chunk * size];
  }

  changed(): Promise<Changed> {
    return this.list("changed.bin");
  }

  /** Words that groups use differently; null if there are no groups. */
  async divided(): Promise<Divided | null> {
    return this.header.groups?.length ? this.list<Divided>("divided.bin") : null;
  }

  /** One of the `count` words that divide groups, as a group uses it, at all slices. */
  async wordInGroup(group: number, place: number, count: number): Promise<Rows> {
    const { slices, groups, dim } = this.header;
    this.byGroup ??= this.block("groups.bin", (groups?.length ?? 0) * count * slices.length).then((block) => {
      undoDeltas(block.q, slices.length, dim, 0, (groups?.length ?? 0) * count);
      return block;
    });
    return this.measured(await this.byGroup, (group * count + place) * slices.length, 1, slices.length);
  }

  cards(): Promise<number[]> {
    return this.list("cards.bin");
  }

  map(): Promise<MapFrames> {
    return this.list("map.bin");
  }

  async examples(word: number): Promise<Example[]> {
    if (!this.header.examples) return [];
    const chunk = Math.floor(word / this.header.words_per_chunk);
    const name = this.host.embedded ? "examples.bin" : `examples/${fourDigits(chunk)}.bin`;
    return (await this.list<Record<string, Example[]>>(name))[String(word)] ?? [];
  }

  private list<T>(name: string): Promise<T> {
    return this.lists.get(name, async () => parsed<unknown>(await this.host.resource(name))) as Promise<T>;
  }

  private async block(name: string, rows: number): Promise<Block> {
    const { dim } = this.header;
    return cutBlock(await inflatedTo(await this.host.resource(name), sizeOf(rows, dim)), rows, dim);
  }

  private measured(block: Block, start: number, stride: number, count: number): Rows {
    measure(block, this.header.dim, start, stride, count);
    return { block, start, stride };
  }

  /** All vectors of the embedded form; other calls wait for the same work. */
  all(): Promise<Block> {
    this.whole ??= this.readAll();
    return this.whole;
  }

  /** Work out all lengths ahead, in the order in which vectors lie in memory: a step of the year then need not. */
  async measureAll(): Promise<void> {
    const block = await this.all();
    const { words, slices, dim } = this.header;
    const breathing = new Breathing();
    for (let word = 0; word < words.length; word += 1) {
      measure(block, dim, word * slices.length, 1, slices.length);
      if (breathing.due) await breathing.pause();
    }
  }

  private async readAll(): Promise<Block> {
    const { words, slices, dim } = this.header;
    const rows = words.length * slices.length;
    const block = cutBlock(await inflatedTo(await this.host.resource("vectors.bin"), sizeOf(rows, dim)), rows, dim);
    const breathing = new Breathing();
    const step = Math.max(1, Math.floor(400_000 / (slices.length * dim)));
    for (let from = 0; from < words.length; from += step) {
      const to = Math.min(from + step, words.length);
      undoDeltas(block.q, slices.length, dim, from, to);
      if (breathing.due) await breathing.pause();
    }
    return block;
  }
}

function fourDigits(number: number): string {
  return String(number).padStart(4, "0");
}

function littleEndianNumbers(bytes: Uint8Array): Uint32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const numbers = new Uint32Array(bytes.length / 4);
  for (let place = 0; place < numbers.length; place += 1) numbers[place] = view.getUint32(4 * place, true);
  return numbers;
}
