/** What is shown, as an address: `#/word/energy?t=1950&with=oil,skill`. Words may hold any character, so they are encoded one by one. */

export const VIEWS = ["start", "word", "changed", "divided", "compare", "map", "about"] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  view: View;
  word: string;
  /** The slice under the cursor, by its name or time; empty: the view's own choice. */
  t: string;
  /** Words beside the word's curve; null: those that the story suggests. */
  with: string[] | null;
  words: string[];
  anchor: string;
  from: string[];
  to: string[];
  /** How words are compared: with each other, with one "anchor", between two "poles", or by "groups". */
  how: string;
  sort: string;
  find: string;
}

export const NOWHERE: Route = {
  view: "start",
  word: "",
  t: "",
  with: null,
  words: [],
  anchor: "",
  from: [],
  to: [],
  how: "",
  sort: "",
  find: "",
};

export function parseRoute(hash: string): Route {
  const [path, query = ""] = split(hash.replace(/^#?\/?/, ""), "?");
  const [name, word = ""] = split(path, "/");
  const view = VIEWS.find((known) => known === name) ?? "start";
  const route: Route = { ...NOWHERE, view, word: view === "word" ? decoded(word) : "" };
  if (view === "word" && route.word === "") route.view = "start";
  for (const part of query.split("&")) {
    const [key, value = ""] = split(part, "=");
    if (key === "t" || key === "anchor" || key === "how" || key === "sort" || key === "find") route[key] = decoded(value);
    else if (key === "with" || key === "words" || key === "from" || key === "to") route[key] = list(value);
  }
  return route;
}

export function formatRoute(route: Partial<Route>): string {
  const whole = { ...NOWHERE, ...route };
  const path = whole.view === "start" ? "" : whole.view === "word" ? `word/${encodeURIComponent(whole.word)}` : whole.view;
  const parts: string[] = [];
  for (const key of ["how", "words", "anchor", "from", "to", "t", "with", "sort", "find"] as const) {
    const value = whole[key];
    if (Array.isArray(value)) {
      if (value.length || key === "with") parts.push(`${key}=${value.map(encodeURIComponent).join(",")}`);
    } else if (value) {
      parts.push(`${key}=${encodeURIComponent(value)}`);
    }
  }
  return `#/${path}${parts.length ? `?${parts.join("&")}` : ""}`;
}

function split(text: string, mark: string): [string, string?] {
  const place = text.indexOf(mark);
  return place < 0 ? [text] : [text.slice(0, place), text.slice(place + mark.length)];
}

function list(value: string): string[] {
  return value === "" ? [] : [...new Set(value.split(",").map(decoded))];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % that somebody typed: meant as it is
  }
}
