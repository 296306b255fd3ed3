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

/** A word that fits: cut after so many letters. Characters outside the basic plane stay whole. */
export function cut(word: string, most: number): string {
  const letters = [...word];
  return letters.length <= most ? word : `${letters.slice(0, Math.max(1, most - 1)).join("")}…`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${counted(count)} ${count === 1 ? one : many}`;
}
