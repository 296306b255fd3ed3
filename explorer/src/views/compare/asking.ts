/** What the comparing view is asked, made whole from an address that may say only part of it. */

import type { Store } from "../../data/store";
import type { Route } from "../../state/route";

export const MODES = [
  { key: "", name: "with each other" },
  { key: "anchor", name: "with one word" },
  { key: "poles", name: "between two poles" },
  { key: "groups", name: "by group" },
] as const;
export type How = (typeof MODES)[number]["key"];

export interface Question {
  how: How;
  words: string[];
  anchor: string;
  from: string[];
  to: string[];
  unknown: string[];
}

const MOST = 6;
/** Poles that many corpora have, the first that are known; they can be changed. */
const POLES: [string[], string[]][] = [
  [["he", "man", "his"], ["she", "woman", "her"]],
  [["peace"], ["war"]],
  [["old"], ["new"]],
];

/** An example worth seeing: a word that changed, with words that it left and that it came to. */
export interface Suggestion {
  anchor: string;
  words: string[];
}

export function asked(route: Route, suggestion: Suggestion | null, store: Pick<Store, "numberOf" | "header">): Question {
  const unknown: string[] = [];
  const known = (names: readonly string[]): string[] => {
    const found: string[] = [];
    for (const name of names) {
      const number = store.numberOf(name);
      if (number === null) unknown.push(name);
      else found.push(store.header.words[number]);
    }
    return [...new Set(found)];
  };
  const nothing = route.words.length === 0 && route.anchor === "" && route.from.length === 0 && route.to.length === 0;
  const how = nothing && route.how === "" ? "anchor" : (MODES.find((mode) => mode.key === route.how)?.key ?? "");
  const wanted = nothing ? (suggestion?.anchor ?? "") : route.anchor;
  const [anchor = ""] = how === "anchor" || how === "groups" ? known(wanted ? [wanted] : []) : [];
  const from = how === "poles" ? known(route.from) : [];
  const to = how === "poles" ? known(route.to).filter((word) => !from.includes(word)) : [];
  const words = known(nothing ? (suggestion?.words ?? []) : route.words).filter((word) => word !== anchor && !from.includes(word) && !to.includes(word));
  return { how, words: words.slice(0, MOST), anchor, from, to, unknown };
}

/** The question as part of an address. */
export function standing({ how, words, anchor, from, to }: Question): Partial<Route> {
  return { how, words, anchor, from, to };
}

/** The same words, asked in another way. */
export function switched(question: Question, how: How, store: Pick<Store, "numberOf">): Partial<Route> {
  const all = [...new Set([question.anchor, ...question.words].filter((word) => word !== ""))];
  if (how === "") return { how, words: all, anchor: "", from: [], to: [] };
  if (how === "anchor" || how === "groups") return { how, anchor: question.anchor || (all[0] ?? ""), words: all.filter((word) => word !== (question.anchor || all[0])), from: [], to: [] };
  const present = (words: string[]): string[] => words.filter((word) => store.numberOf(word) !== null && !all.includes(word));
  const [from, to] = POLES.map((poles) => poles.map(present)).find(([one, other]) => one.length && other.length) ?? [[], []];
  return { how, anchor: "", words: all, from: question.from.length ? question.from : from, to: question.to.length ? question.to : to };
}

export function pairsOf(words: readonly string[]): [string, string][] {
  return words.flatMap((word, place) => words.slice(place + 1).map((other): [string, string] => [word, other]));
}
