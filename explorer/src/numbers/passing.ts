/** A word's neighbors over time: who was among the ten nearest when, and how probably. */

import { breath } from "../data/breathing";
import type { Store } from "../data/store";
import { nearest } from "./neighbors";
import { amongNearest } from "./probability";

export const NEAREST = 10;
const CANDIDATES_A_COLUMN = 200;
const DRAWS_A_COLUMN = 250; // a shade is off by 0.03 at most, mostly
const MOST_COLUMNS = 48;
const COLUMNS_FROM_AFAR = 24;
const ROWS = 16;

/** Neighbors (rows) at slices (columns): `shade[row][column]` is the probability to be among the ten nearest. */
export interface Passing {
  /** The slices looked at so far, in their order. */
  columns: number[];
  words: number[];
  shade: Float32Array[];
  /** How many slices there will be. */
  planned: number;
}

/** The slices that are looked at: as many as are worth it, fewer if each must be fetched, spread evenly. */
export function columnsOf(count: number, everythingHere: boolean): number[] {
  const most = everythingHere ? MOST_COLUMNS : COLUMNS_FROM_AFAR;
  if (count <= most) return Array.from({ length: count }, (_, slice) => slice);
  return Array.from({ length: most }, (_, column) => Math.round((column * (count - 1)) / (most - 1)));
}

/** Look at one column after the other, coarse to fine; `tell` is told what is known so far. Ends early once `given up` says so. */
export async function passing(store: Store, word: number, tell: (found: Passing) => void, givenUp: () => boolean): Promise<void> {
  const { header } = store;
  const columns = columnsOf(header.slices.length, store.everythingHere);
  const shares = new Map<number, Float32Array>();
  const order = coarseToFine(columns.length);
  let told = performance.now();
  for (const [done, column] of order.entries()) {
    const rows = await store.slice(columns[column]);
    if (givenUp()) return;
    const near = nearest(rows, word, header.words.length, store.noise, header.uncertain ? CANDIDATES_A_COLUMN : NEAREST, header.uncertain);
    const share = header.uncertain
      ? await amongNearest(rows, word, near, store.noise, NEAREST, DRAWS_A_COLUMN, givenUp)
      : new Float64Array(near.length).fill(1);
    if (!share) return;
    near.forEach((neighbor, place) => {
      if (share[place] < 0.01) return;
      let row = shares.get(neighbor.word);
      if (!row) shares.set(neighbor.word, (row = new Float32Array(columns.length)));
      row[column] = share[place];
    });
    if (performance.now() - told > 150 || done === columns.length - 1) {
      tell(gathered(columns, shares, order.slice(0, done + 1)));
      told = performance.now();
      await breath();
    }
  }
}

/** The rows worth showing: those that were surest to be near for longest; ordered by their center in time. */
function gathered(columns: number[], shares: Map<number, Float32Array>, looked: number[]): Passing {
  const known = [...looked].sort((one, other) => one - other);
  const rows = [...shares].map(([word, share]) => {
    let sum = 0;
    let moment = 0;
    let most = 0;
    share.forEach((value, column) => {
      sum += value * value;
      moment += value * value * column;
      most = Math.max(most, value);
    });
    return { word, share, weight: most + sum / columns.length, center: moment / sum };
  });
  rows.sort((one, other) => other.weight - one.weight || one.word - other.word);
  const kept = rows.slice(0, ROWS).sort((one, other) => one.center - other.center || one.word - other.word);
  return {
    columns: known.map((column) => columns[column]),
    words: kept.map((row) => row.word),
    shade: kept.map((row) => Float32Array.from(known, (column) => row.share[column])),
    planned: columns.length,
  };
}

/** 0, last, middle, quarters and so on: an early look is an even one. */
export function coarseToFine(count: number): number[] {
  const order: number[] = [];
  const seen = new Set<number>();
  const add = (column: number): void => {
    if (!seen.has(column)) order.push(column);
    seen.add(column);
  };
  add(0);
  add(count - 1);
  for (let parts = 2; order.length < count; parts *= 2) for (let part = 1; part < parts; part += 1) add(Math.round((part * (count - 1)) / parts));
  return order;
}
