/** Words that changed, and the orders in which they can be listed. */

export interface Entry {
  rank: number;
  word: number;
  name: string;
  change: number;
  low: number;
  high: number;
  significant: boolean;
  /** There is a posterior, and by it the word may not have moved at all. */
  uncertain: boolean;
  probability: number;
  since: number;
  until: number;
  from: string;
  to: string;
  halfwayFrom: number | null;
  halfwayTo: number | null;
  occurrences: number;
}

/** The first is that of the list. */
export const ORDERS = [
  { key: "sure", name: "surely changed" },
  { key: "change", name: "change" },
  { key: "halfway", name: "half-way date" },
  { key: "occurrences", name: "frequency" },
  { key: "word", name: "alphabet" },
] as const;
export type Order = (typeof ORDERS)[number]["key"];

/** The orders that tell words apart: without significant words those by certainty and by date do not. */
export function ordersOf(entries: readonly Entry[]): readonly (typeof ORDERS)[number][] {
  return entries.some((one) => one.significant) ? ORDERS : ORDERS.filter((one) => one.key !== "sure" && one.key !== "halfway");
}

/** The entries in an order; equals keep their rank, what is not known comes last. */
export function ordered(entries: readonly Entry[], order: Order): Entry[] {
  const by: Record<Order, (one: Entry, other: Entry) => number> = {
    sure: () => 0,
    change: (one, other) => falling(one.change, other.change),
    halfway: (one, other) => falling(-(one.halfwayFrom ?? Infinity), -(other.halfwayFrom ?? Infinity)),
    occurrences: (one, other) => falling(one.occurrences, other.occurrences),
    word: (one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0),
  };
  return [...entries].sort((one, other) => by[order](one, other) || one.rank - other.rank);
}

function falling(one: number, other: number): number {
  const [a, b] = [one, other].map((value) => (Number.isNaN(value) ? -Infinity : value));
  return a === b ? 0 : b - a;
}
