/** Words that changed, and the orders in which they can be listed. */

import type { Changed, Verdict } from "../../data/forms";

export interface Entry extends Verdict {
  rank: number;
  word: number;
  name: string;
  change: number;
  low: number;
  high: number;
  significant: boolean;
  since: number;
  until: number;
  from: string;
  to: string;
  occurrences: number;
}

export function entriesOf({ columns }: Changed, nameOf: (word: number) => string): Entry[] {
  return columns.word.map((word, place) => ({
    rank: place + 1,
    word,
    name: nameOf(word),
    change: columns.change[place] ?? NaN,
    low: columns.low[place] ?? NaN,
    high: columns.high[place] ?? NaN,
    significant: columns.significant[place],
    since: columns.since[place],
    until: columns.until[place],
    from: columns.from[place],
    to: columns.to[place],
    occurrences: columns.occurrences[place],
    verdict: columns.verdict[place],
    shape: columns.shape[place],
    date: columns.date[place],
    date_low: columns.date_low[place],
    date_high: columns.date_high[place],
    second_date: columns.second_date[place],
    log_bayes_factor: columns.log_bayes_factor[place],
    effect: columns.effect[place],
    effect_low: columns.effect_low[place],
    style: columns.style[place],
  }));
}

/** The first is that of the list, which is that of `wordtide changed`. */
export const ORDERS = [
  { key: "effect", name: "most changed" },
  { key: "date", name: "date" },
  { key: "occurrences", name: "frequency" },
  { key: "word", name: "alphabet" },
] as const;
export type Order = (typeof ORDERS)[number]["key"];

/** The orders that tell words apart: without verdicts that by date does not. */
export function ordersOf(entries: readonly Entry[]): readonly (typeof ORDERS)[number][] {
  return entries.some((one) => one.date !== null) ? ORDERS : ORDERS.filter((one) => one.key !== "date");
}

/** The entries in an order; equals keep their rank, what is not known comes last. */
export function ordered(entries: readonly Entry[], order: Order): Entry[] {
  const by: Record<Order, (one: Entry, other: Entry) => number> = {
    effect: () => 0,
    date: (one, other) => falling(-(one.date ?? Infinity), -(other.date ?? Infinity)),
    occurrences: (one, other) => falling(one.occurrences, other.occurrences),
    word: (one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0),
  };
  return [...entries].sort((one, other) => by[order](one, other) || one.rank - other.rank);
}

function falling(one: number, other: number): number {
  const [a, b] = [one, other].map((value) => (Number.isNaN(value) ? -Infinity : value));
  return a === b ? 0 : b - a;
}
