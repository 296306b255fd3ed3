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

/** Letters that take more or less room than most, and how much: Chinese, Japanese, Korean and pictures, then m and w, capitals, i and l. */
const ROOM: [RegExp, number][] = [
  [/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\u{1f000}-\u{3fffd}]/u, 1.8],
  [/[mwMW@%—…]/u, 1.55],
  [/\p{Lu}|[<>=+#&]/u, 1.25],
  [/[iljftI.,:;'|!()[\]\s]/u, 0.65],
];

/** The room of a text, in letters of common width. */
export function lengthOf(text: string): number {
  let sum = 0;
  for (const letter of text) sum += ROOM.find(([some]) => some.test(letter))?.[1] ?? 1;
  return sum;
}

/** A text that fits: cut where it would take more room than so many letters. Characters outside the basic plane stay whole. */
export function cut(text: string, most: number): string {
  if (text.length * 1.8 <= most || lengthOf(text) <= most) return text;
  let kept = "";
  let room = 1.6; // of the dots
  for (const letter of text) {
    room += lengthOf(letter);
    if (room > most && kept) break;
    kept += letter;
  }
  return `${kept}…`;
}

/** A text in lines of so much room, at most so many: broken at a space where there is one, the last line cut. */
export function wrapped(text: string, most: number, lines: number): string[] {
  if (lines <= 1 || lengthOf(text) <= most) return [cut(text, most)];
  let line = "";
  for (const letter of text) {
    if (lengthOf(line + letter) > most && line) break;
    line += letter;
  }
  const space = line.lastIndexOf(" ");
  if (space > 0 && text[line.length] !== " ") line = line.slice(0, space);
  return [line, ...wrapped(text.slice(line.length).trimStart(), most, lines - 1)];
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${counted(count)} ${count === 1 ? one : many}`;
}

/** Of lines: the rule is that of the words marked in lists. */
export const THIN = "Thin where inferred: a word does not occur near that time.";

/** As many of some words as fit into so much room; the first is cut if it alone takes more. */
export function fitting(words: readonly string[], most: number): string {
  const some = words.slice();
  while (some.length > 1 && lengthOf(some.join(", ")) > most) some.pop();
  return cut(some[0] === undefined ? "–" : some.join(", "), most);
}

const LONGEST = 190; // characters of a quotation on each side of its word

/** What precedes a quoted word, cut off between words if it is long. */
export function beforeWord(text: string): string {
  return text.length <= LONGEST ? text : `…${text.slice(text.length - LONGEST).replace(/^\S*\s/, " ")}`;
}

/** What follows a quoted word, cut off between words if it is long. */
export function afterWord(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST).replace(/\s\S*$/, " ")}…`;
}
