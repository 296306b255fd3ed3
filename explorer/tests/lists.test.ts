import { describe, expect, it } from "vitest";
import { Lists } from "../src/data/lists";

const [SAME, FRESH, NONE] = [255, 254, 253];

function stored(fresh: number[], codes: number[]): Uint8Array {
  const bytes = new Uint8Array(4 + 4 * fresh.length + codes.length);
  const view = new DataView(bytes.buffer);
  [fresh.length, ...fresh].forEach((number, place) => view.setUint32(4 * place, number, true));
  bytes.set(codes, 4 + 4 * fresh.length);
  return bytes;
}

const filled = (...codes: number[]): number[] => [...codes, ...new Array<number>(10 - codes.length).fill(NONE)];

describe("lists of nearest words", () => {
  const codes = [...filled(FRESH, FRESH, FRESH), SAME, ...filled(2, FRESH, 0), ...filled(), SAME, ...filled(FRESH)];
  const lists = new Lists(stored([7, 70_000, 3, 9, 8], codes), 2, 3);

  it("follow from the list before: the same words, words in other places, and fresh ones", () => {
    expect([0, 1, 2].map((slice) => lists.at(0, slice))).toEqual([[7, 70_000, 3], [7, 70_000, 3], [3, 9, 7]]);
  });

  it("of a word begin empty, whatever word comes before", () => {
    expect([2, 1, 0].map((slice) => lists.at(1, slice))).toEqual([[8], [], []]);
  });

  it("that end early or late are refused", () => {
    expect(() => new Lists(stored([7], [...codes, SAME]), 2, 3)).toThrow("damaged");
    expect(() => new Lists(stored([7], codes.slice(0, -10)), 2, 3)).toThrow("damaged");
  });
});
