/** The story's sentence cut into parts, so that its words can be links. */

import type { Story } from "../data/forms";

export interface Part {
  text: string;
  kind: "plain" | "self" | "from" | "to";
}

/** Parts that together are the sentence, letter by letter. Words are looked for in the order in which the sentence has them. */
export function partsOf(story: Pick<Story, "sentence" | "from" | "to">, word: string): Part[] {
  const parts: Part[] = [];
  let rest = story.sentence;
  const take = (text: string, kind: Part["kind"]): void => {
    if (text) parts.push({ text, kind });
    rest = rest.slice(text.length);
  };
  if (rest.startsWith(word)) take(word, "self");
  for (const [words, kind] of [
    [story.from, "from"],
    [story.to, "to"],
  ] as const) {
    const place = listed(rest, words);
    if (!place) continue;
    take(rest.slice(0, place.start), "plain");
    for (const [number, one] of words.slice(0, place.count).entries()) {
      if (number > 0) take(", ", "plain");
      take(one, kind);
    }
  }
  take(rest, "plain");
  return parts;
}

/** Where up to three of the words stand in a row, and how many. */
function listed(text: string, words: readonly string[]): { start: number; count: number } | null {
  for (let count = Math.min(3, words.length); count > 0; count -= 1) {
    const start = text.indexOf(` ${words.slice(0, count).join(", ")} (`);
    if (start >= 0) return { start: start + 1, count };
    const last = text.indexOf(` ${words.slice(0, count).join(", ")}.`);
    if (last >= 0) return { start: last + 1, count };
  }
  return null;
}
