import { describe, expect, it } from "vitest";
import { nearest } from "../src/numbers/neighbors";
import { noiseOf } from "../src/numbers/noise";
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
  const entry = (rank: number, date: number | null): Entry => ({
    ...{ rank, word: rank, name: `w${rank}`, change: rank / 10, low: date ? 0.01 : 0, high: 1, significant: date !== null },
    ...{ since: 1800 + rank, until: 1900 + rank, from: "", to: "", occurrences: 100 - rank },
    ...{ verdict: date ? "jump" : "unsure", shape: date ? "jump" : null, date, date_low: date, date_high: date, second_date: null },
    ...{ log_bayes_factor: 1, effect: date ? 0.1 : null, effect_low: date ? 0.05 : null, style: null },
  });

  it("are in the order of the list first, and can be ordered by date if they have one", () => {
    const entries = [entry(1, 1890), entry(2, 1850)];
    const orders = ordersOf(entries);
    expect(orders.map((one) => one.key)).toEqual(["effect", "date", "occurrences", "word"]);
    expect(ordered(entries, orders[0].key).map((one) => one.rank)).toEqual([1, 2]);
    expect(ordered(entries, "date").map((one) => one.rank)).toEqual([2, 1]);
    expect(ordered([entry(1, null), entry(2, 1850)], "date").map((one) => one.rank)).toEqual([2, 1]);
  });
  it("are in no order of date if none is significant", () => {
    expect(ordersOf([entry(1, null), entry(2, null)]).map((one) => one.key)).toEqual(["effect", "occurrences", "word"]);
  });
});

describe("neighbors", () => {
  const q = new Int8Array([100, 0, 90, 40, 100, 10, 0, 0]); // four words in two dimensions, the last without a direction
  const inverse = new Float32Array([0, 1, 2, 3].map((row) => 1 / (Math.hypot(q[2 * row], q[2 * row + 1]) || Infinity)));
  const rho = new Float32Array([0.1, 0.1, 1.3, 0.1]);
  const words = { block: { q, rho, settled: new Uint8Array([1, 1, 1, 0]), inverse }, start: 0, stride: 1, scales: inverse };
  it("come by similarity, and last if most of their length is noise", () => {
    const found = nearest(words, 0, 4, noiseOf(null, 2), 3, true);
    expect(found.map((one) => one.word)).toEqual([1, 2]);
    expect(found.map((one) => one.faint)).toEqual([false, true]); // 1 / sqrt(1 + 2 * 1.3²) = 0.48
    const lengths = [0.1, 1.3].map((rho) => Math.sqrt(1 + 2 * rho * rho)); // expected, in units of those of the means
    expect(found[1].similarity).toBeCloseTo(100 / Math.hypot(100, 10) / lengths[0] / lengths[1], 6);
    for (const { low, similarity, high } of found) expect(low < similarity && similarity < high).toBe(true);
  });
  it("are as near as words that have something in common, by the closeness of the calibration", () => {
    const [plain, close] = [0, 2].map((closeness) => nearest(words, 0, 4, noiseOf(null, 2, 1, closeness), 1, true)[0]);
    const variance = ((plain.high - plain.low) / 2 / 1.6448536269514722) ** 2;
    expect(plain.high).toBeLessThan(1); // not cut off
    const square = plain.similarity ** 2;
    const stretch = 1 / (1 - (2 * variance * square) / (square + variance));
    expect(close.similarity).toBeCloseTo(stretch * plain.similarity, 6);
    const [wide, narrow] = [close, plain].map((one) => one.similarity - one.low);
    const growth = 1.6448536269514722 * 0.4 * (close.similarity - plain.similarity);
    expect(wide / narrow).toBeCloseTo(Math.hypot(Math.sqrt(stretch), growth / narrow), 6);
  });
  it("without a posterior are never faint", () => {
    expect(nearest(words, 0, 4, noiseOf(null, 2), 3, false).some((one) => one.faint)).toBe(false);
  });
});
