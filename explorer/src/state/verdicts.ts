/** Verdicts in words: how a word changed, when, and by how much. */

import type { Verdict } from "../data/forms";
import type { Times } from "./times";

export type Kind = "jump" | "twice" | "burst" | "gradual" | "none" | "unjudged";

/** Verdicts as headings. */
export const NAMES: Record<Kind, string> = {
  jump: "Jump",
  twice: "Two jumps",
  burst: "Burst and return",
  gradual: "Gradual change",
  none: "No significant change",
  unjudged: "Not judged",
};

/** From this effect on (bits a use), a word changed a lot. */
export const A_LOT = 0.1;

export function kindOf({ verdict, shape }: Pick<Verdict, "verdict" | "shape">): Kind {
  if (verdict === null) return "unjudged";
  if (verdict === "unsure") return "none";
  if (verdict === "gradual") return "gradual";
  return shape === "two jumps" ? "twice" : shape === "burst" ? "burst" : "jump";
}

/** A change to draw: a jump with its likely range, the way back from a burst, or a ramp from when to when. */
export interface Mark {
  kind: "jump" | "back" | "ramp";
  from: number;
  at: number;
  to: number;
}

export function marksOf(found: Verdict): Mark[] {
  const { date, date_low: from, date_high: to, second_date: second } = found;
  const kind = kindOf(found);
  if (date === null || kind === "none" || kind === "unjudged") return [];
  const first: Mark = { kind: kind === "gradual" ? "ramp" : "jump", from: from ?? date, at: date, to: to ?? date };
  return second === null || kind === "gradual" || kind === "jump" ? [first] : [first, { kind: kind === "burst" ? "back" : "jump", from: second, at: second, to: second }];
}

/** How much a word changed, in words. */
export function amountOf(found: Verdict): string {
  const kind = kindOf(found);
  if (kind === "unjudged") return "";
  if (kind === "none") return "not significantly";
  return (found.effect ?? 0) >= A_LOT ? "a lot" : "somewhat";
}

const span = (times: Times, from: number, to: number): string => (times.written(from) === times.written(to) ? times.written(from) : `${times.written(from)}–${times.written(to)}`);

/** The likely range of the (first) date; empty if it is no wider than a date as written. */
export function likelyRange(found: Verdict, times: Times): string {
  const { date, date_low: from, date_high: to } = found;
  if (date === null || from === null || to === null || times.written(from) === times.written(to)) return "";
  return `${times.written(from)}–${times.written(to)}`;
}

/** Kind and date in a few words: "jump in 1973", "gradual, 1912–1976". */
export function shortVerdict(found: Verdict, times: Times): string {
  const { date, date_low: from, date_high: to, second_date: second } = found;
  const kind = kindOf(found);
  if (kind === "unjudged") return "not judged";
  if (kind === "none" || date === null) return "no significant change";
  if (kind === "gradual") return `gradual, ${span(times, from ?? date, to ?? date)}`;
  if (kind === "jump" || second === null) return `jump in ${times.written(date)}`;
  return kind === "burst" ? `burst, ${span(times, date, second)}` : `jumps in ${times.written(date)} and ${times.written(second)}`;
}
