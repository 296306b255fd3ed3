/** `window.wordtide`: the page's numbers for the reader's own sums, read-only. Words are strings, times are slices' names or years. */

import type { Model } from "./state/model";

export interface Point {
  time: number;
  similarity: number;
  low: number | null;
  high: number | null;
}

export interface Near {
  word: string;
  similarity: number;
  low: number | null;
  high: number | null;
  probability: number | null;
  /** The word does not occur near that time. */
  inferred: boolean;
  /** The word is barely known. */
  faint: boolean;
}

export interface Asking {
  readonly version: number;
  words(): Promise<string[]>;
  times(): Promise<number[]>;
  /** Similarity of two words at every slice. */
  similarity(word: string, other: string): Promise<Point[]>;
  /** The nearest words at a time, with the probability to be among so many. */
  neighbors(word: string, time: string | number, top?: number): Promise<Near[]>;
  /** Where a word stands between two poles, at every slice. */
  axis(word: string, from: string[], to: string[]): Promise<{ time: number; position: number; low: number | null; high: number | null }[]>;
}

const known = (value: number): number | null => (Number.isFinite(value) ? value : null);

export function askingOf(opened: Promise<Model>): Asking {
  const numberOf = (model: Model, word: string): number => {
    const number = model.store.numberOf(word);
    if (number === null) throw new Error(`“${word}” is not among the words.`);
    return number;
  };
  return Object.freeze({
    version: 1,
    words: async () => [...(await opened).header.words],
    times: async () => [...(await opened).times.years],
    similarity: async (word: string, other: string) => {
      const model = await opened;
      const { mean, low, high } = await model.similarity(numberOf(model, word), numberOf(model, other));
      return model.times.years.map((time, slice) => ({ time, similarity: mean[slice], low: known(low[slice]), high: known(high[slice]) }));
    },
    neighbors: async (word: string, time: string | number, top = 10) => {
      const model = await opened;
      const number = numberOf(model, word);
      const slice = typeof time === "number" ? model.times.nearest(time) : model.times.named(time);
      if (slice === null) throw new Error(`“${time}” is no time.`);
      const near = await model.neighbors(number, slice, top);
      const shares = await model.probabilities(number, slice, top);
      return near.map((one, place) => ({
        word: model.name(one.word),
        similarity: one.similarity,
        low: known(one.low),
        high: known(one.high),
        probability: shares ? shares[place] : null,
        inferred: model.inferred(one.word, slice),
        faint: one.faint,
      }));
    },
    axis: async (word: string, from: string[], to: string[]) => {
      const model = await opened;
      const numbers = (words: string[]): number[] => words.map((one) => numberOf(model, one));
      const { mean, low, high } = await model.axis(numberOf(model, word), numbers(from), numbers(to));
      return model.times.years.map((time, slice) => ({ time, position: mean[slice], low: known(low[slice]), high: known(high[slice]) }));
    },
  });
}
