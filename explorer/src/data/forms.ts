/** The resources' forms. Numbers that are not known are null. */

export interface Slice {
  time: number;
  label: string;
  shown: string;
  tokens: number;
  documents: number | null;
}

export interface Header {
  format: string;
  version: number;
  title: string;
  estimand: string;
  method: string;
  uncertain: boolean;
  vectors: string;
  dim: number;
  words: string[];
  totals: number[];
  slices: Slice[];
  all_slices: { time: number; tokens: number }[];
  /** `why` is one or two whole sentences. */
  left_out: { words: number; slices: number; why: string | null };
  embedded: boolean;
  words_per_chunk: number;
  /** How many words and slices have their lists of nearest words in one resource; absent or null if there are no lists. */
  nearest?: [number, number] | null;
  map: boolean;
  examples: boolean;
  /** Groups of texts that can be compared; absent or empty if there are not two. */
  groups?: string[];
  /** A word is well known at a time if the noise along its mean is at most this share of the mean, or if it occurs this often. */
  known: { noise: number; often: number };
  /** A place is inferred if the word does not occur in so many slices before and after it. */
  slices_nearby: number;
  /** How noise is shared out among the axes, 1 on average; absent: alike. */
  noise_profile?: number[] | null;
  /** The share of the axes that noise lies in; 1 if it is missing. */
  noise_share?: number;
  /** By how much the prior is too sure that words have nothing in common; 0 if it is missing. */
  closeness?: number;
  /** Errors that storing makes: the spread's with noise alike along all axes, or with the profile. */
  quantisation: { similarity: number | null; spread: number | null; profiled_spread?: number | null };
  about: About;
}

export interface About {
  corpus: {
    documents: number | null;
    tokens: number | null;
    distinct_words: number | null;
    first: string | null;
    last: string | null;
    slices: number | null;
    words: number | null;
  };
  settings: Record<string, unknown>;
  wordtide: string;
  licence: string | null;
  cite: string[];
  bibtex: string;
}

/** How a word changed, as `wordtide story` and `wordtide changed` judge it. */
export interface Verdict {
  /** Null where the method cannot judge. */
  verdict: "jump" | "gradual" | "unsure" | null;
  shape: string | null;
  /** Of the first jump, or the middle of a gradual change; low and high are its likely range, or from when to when. */
  date: number | null;
  date_low: number | null;
  date_high: number | null;
  second_date: number | null;
  log_bayes_factor: number | null;
  /** Bits a use. */
  effect: number | null;
  effect_low: number | null;
  style: number | null;
}

export interface Story extends Verdict {
  sentence: string;
  since: number;
  until: number;
  change: number | null;
  low: number | null;
  high: number | null;
  halfway: number | null;
  halfway_from: number | null;
  halfway_to: number | null;
  from: string[];
  to: string[];
  beside: string[];
}

export interface Changed {
  min_occurrences: number;
  /** What must be said of the list: above all if no word is significant. */
  notes: string[];
  columns: {
    word: number[];
    change: (number | null)[];
    low: (number | null)[];
    high: (number | null)[];
    /** Whether the word moved by more than the noise; false without a posterior. */
    significant: boolean[];
    probability: (number | null)[];
    /** Each word is compared over its own time, as in its story. */
    since: number[];
    until: number[];
    halfway_from: (number | null)[];
    halfway_to: (number | null)[];
    from: string[];
    to: string[];
    occurrences: number[];
  } & { [Name in keyof Verdict]: Verdict[Name][] };
  histogram: { edges: number[]; observed: number[]; expected: number[] | null };
}

/** Words that groups use differently, in the order of `wordtide divided`; groups by number. */
export interface Divided {
  notes: string[];
  columns: {
    word: number[];
    /** The two groups that differ most. */
    group: number[];
    other: number[];
    /** Bits a use. */
    effect: number[];
    effect_low: number[];
    log_bayes_factor: number[];
    /** Words near it in one group and not in the other, joined by commas. */
    near: string[];
    other_near: string[];
    occurrences: number[];
    other_occurrences: number[];
    /** How often each group uses the word. */
    uses: number[][];
  };
}

export interface MapFrames {
  words: number[];
  times: number[];
  shown: string[];
  x: number[][];
  y: number[][];
  /** How much each word changed, in bits a use; null without a significant change. */
  effect: (number | null)[];
  /** Whether each is a function word. */
  function: boolean[];
  /** The region of each word, and the places of the words that name each region. */
  region: number[];
  regions: number[][];
}

export interface Example {
  /** The use that it was chosen to show. */
  shows?: "old" | "new" | null;
  slice: number;
  shown: string;
  document: string;
  /** Of the document, if there are groups. */
  group?: string;
  before: string;
  word: string;
  after: string;
}

/** The header, if it is one that this page can read. */
export function checkedHeader(header: Header): Header {
  if (header.format !== "wordtide-explorer") throw new Error("These are not data of a wordtide explorer.");
  if (header.version !== 1) throw new Error(`The data have version ${header.version}; this page reads version 1. Export them anew.`);
  if (header.words.length === 0 || header.slices.length === 0) throw new Error("The data have no words or no slices.");
  return header;
}
