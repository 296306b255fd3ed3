import { describe, expect, it } from "vitest";
import { halfwayOf } from "../src/data/forms";
import { isInferred } from "../src/numbers/inferred";
import { ordered, ordersOf, type Entry } from "../src/views/changed/entries";

describe("inferred places", () => {
  const occurrences = Uint32Array.from([0, 0, 0, 4, 0, 0, 0, 0, 1]);
  const inferredWith = (nearby: number): number[] => [...occurrences.keys()].filter((slice) => isInferred(occurrences, slice, nearby));

  it("are those without an occurrence in so many slices before and after", () => {
    expect(inferredWith(0)).toEqual([0, 1, 2, 4, 5, 6, 7]);
    expect(inferredWith(1)).toEqual([0, 1, 5, 6]);
    expect(inferredWith(2)).toEqual([0]);
    expect(inferredWith(3)).toEqual([]);
  });
  it("end with the slices, however far nearby reaches", () => {
    expect(inferredWith(100)).toEqual([]);
    expect(isInferred(new Uint32Array(3), 0, 100)).toBe(true);
  });
});

describe("words that changed", () => {
  const entry = (rank: number, significant: boolean, halfwayFrom: number | null): Entry => ({
    rank,
    word: rank,
    name: `w${rank}`,
    change: rank / 10,
    low: significant ? 0.01 : 0,
    high: 1,
    significant,
    uncertain: !significant,
    probability: 1,
    since: 1800 + rank,
    until: 1900 + rank,
    from: "",
    to: "",
    halfwayFrom,
    halfwayTo: halfwayFrom,
    occurrences: 100 - rank,
  });

  it("are in the order of the list first if some are significant", () => {
    const entries = [entry(1, true, 1890), entry(2, true, 1850)];
    const orders = ordersOf(entries);
    expect(orders.map((one) => one.key)).toEqual(["sure", "change", "halfway", "occurrences", "word"]);
    expect(ordered(entries, orders[0].key).map((one) => one.rank)).toEqual([1, 2]);
    expect(ordered(entries, "halfway").map((one) => one.rank)).toEqual([2, 1]);
  });
  it("are in no order of certainty or date if none is significant", () => {
    expect(ordersOf([entry(1, false, null), entry(2, false, null)]).map((one) => one.key)).toEqual(["change", "occurrences", "word"]);
  });
  it("have a half-way date only if they moved by more than the noise", () => {
    expect(halfwayOf({ low: 0.1, halfway_from: 1850, halfway_to: 1860 })).toEqual([1850, 1860]);
    expect(halfwayOf({ low: 0, halfway_from: 1850, halfway_to: 1860 })).toBeNull();
    expect(halfwayOf({ low: 0.1, halfway_from: null, halfway_to: null })).toBeNull();
    expect(halfwayOf({ low: null, halfway_from: 1850, halfway_to: 1860 })).toEqual([1850, 1860]);
  });
});
