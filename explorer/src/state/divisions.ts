/** Words that groups of texts use differently. */

import type { Divided } from "../data/forms";
import { A_LOT } from "./verdicts";

export interface Division {
  /** Its place in the list, by which its vectors are found, and how many there are. */
  place: number;
  count: number;
  word: number;
  name: string;
  /** The two groups that differ most. */
  group: number;
  other: number;
  effect: number;
  effectLow: number;
  logBayesFactor: number;
  near: string[];
  otherNear: string[];
  /** By group. */
  uses: number[];
}

const listed = (words: string): string[] => (words === "" ? [] : words.split(", "));

export function divisionsOf({ columns }: Divided, nameOf: (word: number) => string): Division[] {
  return columns.word.map((word, place) => ({
    place,
    count: columns.word.length,
    word,
    name: nameOf(word),
    group: columns.group[place],
    other: columns.other[place],
    effect: columns.effect[place],
    effectLow: columns.effect_low[place],
    logBayesFactor: columns.log_bayes_factor[place],
    near: listed(columns.near[place]),
    otherNear: listed(columns.other_near[place]),
    uses: columns.uses[place],
  }));
}

/** How differently, in words. */
export function dividedVerdict({ effect }: Division): string {
  return effect >= A_LOT ? "differs a lot" : "differs somewhat";
}

/** The groups whose curves are worth drawing: the two that differ most, then those with most uses. */
export function groupsToDraw({ group, other, uses }: Division, most: number): number[] {
  const rest = uses.map((_, number) => number).filter((number) => number !== group && number !== other && uses[number] > 0);
  rest.sort((one, two) => uses[two] - uses[one] || one - two);
  return [group, other, ...rest].slice(0, most);
}

/** Words that show the difference: some near it in one group, as many near it in the other. */
export function tellingWords({ near, otherNear }: Division, half = 2): string[] {
  return [...new Set([...near.slice(0, half), ...otherNear.slice(0, half)])];
}
