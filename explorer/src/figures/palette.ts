/** Okabe's and Ito's colors, which color-blind readers tell apart, each with dashes of its own. Names are classes in app.css. */

export interface Ink {
  color: string;
  dash: string;
}

/** For words that are left: warm. */
export const LEAVING: Ink[] = [
  { color: "vermillion", dash: "" },
  { color: "orange", dash: "7 3" },
  { color: "purple", dash: "2 2.5" },
];
/** For words that are come to: cool. */
export const COMING: Ink[] = [
  { color: "blue", dash: "" },
  { color: "green", dash: "7 3" },
  { color: "sky", dash: "2 2.5" },
];
/** For words of no such order. */
export const SERIES: Ink[] = [COMING[0], LEAVING[0], COMING[1], LEAVING[1], LEAVING[2], COMING[2]];

/** For a word without a significant change, whose curves are all gray: dashes alone tell them apart. */
export const QUIET: Ink[] = ["", "7 3", "2 2.5", "12 3 2 3", "16 4", "4 4"].map((dash, place) => ({ ...SERIES[place], dash }));

/** Inks for curves that fall (true) or rise: each its own, as far as six go. */
export function inksFor(falling: readonly boolean[]): Ink[] {
  const left = [...LEAVING];
  const come = [...COMING];
  return falling.map((falls, place) => {
    const [first, second] = falls ? [left, come] : [come, left];
    return first.shift() ?? second.shift() ?? SERIES[place % SERIES.length];
  });
}
