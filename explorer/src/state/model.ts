/** What every view needs: the store, its times, and the questions asked of them. */

import { getContext, setContext } from "svelte";
import { LISTED } from "../data/lists";
import type { Store } from "../data/store";
import { axisCurve } from "../numbers/axis";
import { isInferred } from "../numbers/inferred";
import { asListed, candidates, nearest, type Neighbor } from "../numbers/neighbors";
import { amongNearest, CANDIDATES, DRAWS } from "../numbers/probability";
import { similarityCurve, type Curve } from "../numbers/similarity";
import { divisionsOf, type Division } from "./divisions";
import { Times } from "./times";

const KEY = Symbol("model");

export class Model {
  readonly times: Times;

  constructor(readonly store: Store) {
    this.times = new Times(store.header.slices);
  }

  get header(): Store["header"] {
    return this.store.header;
  }

  name(word: number): string {
    return this.header.words[word];
  }

  async similarity(word: number, other: number): Promise<Curve> {
    const [one, two] = await Promise.all([this.store.word(word), this.store.word(other)]);
    return similarityCurve(one, two, this.times.count, this.store.noise, word === other, this.header.uncertain);
  }

  async neighbors(word: number, slice: number, most: number): Promise<Neighbor[]> {
    const { words, uncertain } = this.header;
    const [rows, listed] = await Promise.all([this.store.slice(slice), most === LISTED ? this.store.nearestTo(word, slice) : null]);
    return listed ? asListed(rows, word, listed, this.store.noise, uncertain) : nearest(rows, word, words.length, this.store.noise, most, uncertain);
  }

  /** Whether a word does not occur near a slice, so that its place there is inferred from other times. */
  inferred(word: number, slice: number): boolean {
    return isInferred(this.store.occurrencesOf(word), slice, this.header.slices_nearby);
  }

  /** By slice: whether all these words occur near it, so that nothing said of them together is inferred. */
  seen(...words: number[]): boolean[] {
    return this.times.years.map((_, slice) => words.every((word) => !this.inferred(word, slice)));
  }

  /** The slice with a word that is nearest to a slice. */
  nearestUse(word: number, wanted: number): number {
    const occurrences = this.store.occurrencesOf(word);
    let best = -1;
    for (let one = 0; one < this.times.count; one += 1) if (occurrences[one] > 0 && (best < 0 || Math.abs(one - wanted) < Math.abs(best - wanted))) best = one;
    return best < 0 ? wanted : best;
  }

  /** Probabilities of the `top` nearest words to be among the `top`; null without a posterior, or once it is given up. */
  async probabilities(word: number, slice: number, top: number, givenUp?: () => boolean): Promise<Float64Array | null> {
    const { uncertain, words } = this.header;
    const { noise } = this.store;
    if (!uncertain) return null;
    const rows = await this.store.slice(slice);
    const near = candidates(rows, word, words.length, noise, Math.max(CANDIDATES, top), true);
    const known = new Set(near.map((one) => one.word));
    const asked = await this.neighbors(word, slice, top);
    near.push(...asked.filter((one) => !known.has(one.word)));
    const found = await amongNearest(rows, word, near, noise, top, DRAWS, givenUp);
    if (!found) return null;
    const places = new Map(near.map((one, place) => [one.word, place]));
    return Float64Array.from(asked, (one) => found[places.get(one.word) as number]);
  }

  /** Words that groups use differently; none without groups. */
  async divisions(): Promise<Division[]> {
    const divided = await this.store.divided();
    return divided ? divisionsOf(divided, (word) => this.name(word)) : [];
  }

  /** The similarity of a word that divides groups to another, as a group uses it. */
  async similarityInGroup({ place, count }: Division, group: number, other: number): Promise<Curve> {
    const [one, two] = await Promise.all([this.store.wordInGroup(group, place, count), this.store.word(other)]);
    return similarityCurve(one, two, this.times.count, this.store.noise, false, this.header.uncertain);
  }

  async axis(word: number, from: readonly number[], to: readonly number[]): Promise<Curve> {
    const rows = (words: readonly number[]) => Promise.all(words.map((one) => this.store.word(one)));
    const [[own], start, end] = await Promise.all([rows([word]), rows(from), rows(to)]);
    return axisCurve(own, start, end, this.times.count, this.store.noise, this.header.uncertain);
  }
}

export function provideModel(model: Model): void {
  setContext(KEY, model);
}

/** The same, for a component that is mounted outside the page's own tree. */
export function contextOf(model: Model): Map<symbol, Model> {
  return new Map([[KEY, model]]);
}

export function useModel(): Model {
  return getContext<Model>(KEY);
}
