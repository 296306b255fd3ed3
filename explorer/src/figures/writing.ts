/** Numbers and words as people read them. */

const thousands = new Intl.NumberFormat("en-GB");

export function counted(value: number): string {
  return thousands.format(value);
}

export function two(value: number): string {
  return Number.isFinite(value) ? value.toFixed(2).replace("-", "−") : "–";
}

export function percent(share: number): string {
  if (!Number.isFinite(share)) return "";
  if (share > 0.995) return ">99 %";
  return share < 0.005 ? "<1 %" : `${Math.round(100 * share)} %`;
}

/** The angle of a cosine distance, in degrees. */
export function degrees(change: number): number {
  return (Math.acos(Math.max(-1, Math.min(1, 1 - change))) * 180) / Math.PI;
}

const WIDE = /[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]|\p{Emoji_Presentation}/u;

/** How wide a letter is, as a multiple of a common one. */
function widthOf(letter: string): number {
  return WIDE.test(letter) ? 1.9 : /[mwMW@%]/.test(letter) ? 1.4 : 1;
}

/** A word that fits: cut where it would be wider than so many common letters. Characters outside the basic plane stay whole. */
export function cut(word: string, most: number): string {
  const letters = [...word];
  if (letters.reduce((sum, letter) => sum + widthOf(letter), 0) <= most + 1) return word;
  let room = most - 1;
  const kept = letters.filter((letter) => (room -= widthOf(letter)) >= 0);
  return `${(kept.length ? kept : letters.slice(0, 1)).join("")}…`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${counted(count)} ${count === 1 ? one : many}`;
}
