import { describe, expect, it } from "vitest";
import { beginning, editDistance, nearSpellings, spelled, suggested } from "../src/numbers/spelling";

const words = ["the", "energy", "energies", "enemy", "oil", "constructor", "skill"];

/** The recursion as it is defined, without a table. */
function slow(one: string, other: string): number {
  if (!one || !other) return one.length + other.length;
  let least = Math.min(slow(one.slice(1), other) + 1, slow(one, other.slice(1)) + 1, slow(one.slice(1), other.slice(1)) + (one[0] === other[0] ? 0 : 1));
  if (one.length > 1 && other.length > 1 && one[0] === other[1] && one[1] === other[0]) least = Math.min(least, slow(one.slice(2), other.slice(2)) + 1);
  return least;
}

describe("spelling", () => {
  it("measures as the definition does", () => {
    const some = ["", "a", "ab", "ba", "abc", "acb", "bca", "abcd", "xbcd", "ca"];
    for (const one of some) for (const other of some) expect(editDistance(one, other, 9)).toBe(slow(one, other));
  });
  it("gives up beyond its reach", () => {
    expect(editDistance("energy", "skill", 2)).toBe(Infinity);
  });
  it("completes, the exact word first, then by frequency", () => {
    expect(beginning(words, "ener", 5).map((n) => words[n])).toEqual(["energy", "energies"]);
    expect(beginning(["energies", "energy", "ene"], "ene", 5)).toEqual([2, 0, 1]);
  });
  it("finds phrases as people type them", () => {
    const phrases = ["change", "climate_change", "climate", "united_states", "united_states_of_america"];
    const names = (typed: string): string[] => suggested(phrases, typed, 5).map((n) => phrases[n]);
    expect(spelled(" Climate  Change ")).toBe("climate_change");
    expect(names("Climate change")[0]).toBe("climate_change");
    expect(names("united st")).toEqual(["united_states", "united_states_of_america"]);
    expect(names("change")).toEqual(["change", "climate_change"]);
    expect(names("climat chnge")[0]).toBe("climate_change");
  });
  it("finds what was meant", () => {
    expect(words[nearSpellings(words, "enrgy", 5)[0]]).toBe("energy");
    expect(words[suggested(words, "skil", 5)[0]]).toBe("skill");
    expect(suggested(words, "zzzzzz", 5)).toEqual([]);
  });
});
