import { scaleLinear } from "d3-scale";
import { describe, expect, it } from "vitest";
import { halfValue } from "../src/data/blocks";
import { timeTicks } from "../src/figures/chart";
import { namesAbove, spreadApart } from "../src/figures/placing";
import { csvOf, shownCell } from "../src/figures/tables";
import { cut, fitting, wrapped } from "../src/figures/writing";
import { coarseToFine } from "../src/numbers/passing";
import { Normals } from "../src/numbers/normals";
import { shareAmongBest } from "../src/numbers/probability";
import type { Story } from "../src/data/forms";
import { headline } from "../src/parts/sentences";
import { Times } from "../src/state/times";
import { amountOf, marksOf, shortVerdict } from "../src/state/verdicts";
import { sceneOf } from "../src/views/map/scene";

const slice = (time: number, shown: string) => ({ time, shown, label: shown, tokens: 1, documents: null });

describe("names at the ends of lines", () => {
  it("are as far apart as they must be, in their order, inside the figure", () => {
    const placed = spreadApart([50, 52, 51, 10, 99], 15, 0, 100);
    const order = [3, 0, 2, 1, 4];
    for (let rank = 1; rank < order.length; rank += 1) expect(placed[order[rank]] - placed[order[rank - 1]]).toBeGreaterThanOrEqual(15 - 1e-9);
    expect(Math.min(...placed)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...placed)).toBeLessThanOrEqual(100);
  });
  it("stay where they are if there is room", () => {
    expect(spreadApart([10, 90, 50], 15, 0, 100)).toEqual([10, 90, 50]);
  });
});

describe("names above marks", () => {
  it("stand above their own mark if there is room, and are one name otherwise", () => {
    const [first, second] = [{ words: "jump 1869", at: 100 }, { words: "back 1915", at: 200 }];
    expect(namesAbove([first, second], 0, 400)).toEqual([first, second]);
    expect(namesAbove([first, { ...second, at: 140 }], 0, 400)).toEqual([{ words: "jump 1869, back 1915", at: 120 }]);
  });
  it("stay inside the figure", () => {
    const [{ at }] = namesAbove([{ words: "jump 1869", at: 5 }], 0, 400);
    expect(at).toBeCloseTo((9 * 6.2) / 2);
  });
});

describe("names on the map", () => {
  const PLACES = Array.from({ length: 40 }, (_, place) => place);
  const frames = {
    ...{ words: PLACES, times: [1800, 2000], shown: ["1800", "2000"], effect: PLACES.map(() => 0.1), function: PLACES.map(() => false) },
    x: [0, 1].map((frame) => PLACES.map((place) => (place ? Math.sin(place) : 1.8 * frame - 0.9))),
    y: [0, 1].map(() => PLACES.map((place) => (place ? 0.2 * Math.cos(3 * place) : 0))),
    ...{ region: PLACES.map(() => 0), regions: [[1, 2]] },
  };
  const naming = { order: PLACES, chosen: [0], nameOf: (place: number) => `word ${place}`, measure: (words: string, size: number) => 0.5 * size * words.length };
  const scene = sceneOf(frames, { moment: 1, camera: { zoom: 1, x: 0, y: 0 }, width: 800, height: 500 }, naming);
  it("are on neither a trail nor each other nor the buttons", () => {
    const boxes = [...scene.regions, ...scene.names.filter((name) => name.chosen < 0)].map(({ box }) => box);
    const [[[left, level], [right]]] = scene.trails.map(({ points }) => points.slice(0, 2));
    expect(boxes.length).toBeGreaterThan(10);
    for (const [from, to, above, below] of boxes.map(([left, top, right, bottom]) => [left, right, top, bottom])) {
      expect(from < right && to > left && above < level && below > level).toBe(false);
      expect(to > 760 && above < 90).toBe(false);
    }
    boxes.forEach(([left, top, right, bottom], place) => {
      for (const other of boxes.slice(place + 1)) expect(left < other[2] && right > other[0] && top < other[3] && bottom > other[1]).toBe(false);
    });
  });
  it("say when a trail begins and whose it is", () => {
    expect(scene.names.filter((name) => name.chosen === 0).map((name) => name.words)).toEqual(["word 0", "1800"]);
  });
});

describe("words of a list", () => {
  it("are left out as wholes where there is no room, and only the first is ever cut", () => {
    expect(fitting(["hundred", "dollars", "exceeding"], 100)).toBe("hundred, dollars, exceeding");
    expect(fitting(["hundred", "dollars", "exceeding"], 20)).toBe("hundred, dollars");
    expect(fitting(["Donaudampfschifffahrt", "a"], 10)).toMatch(/^Donau.*…$/);
    expect(fitting([], 10)).toBe("–");
  });
});

describe("times below a figure", () => {
  const years = [2000.5, 2001.5, 2002.5, 2003.5];
  it("are those of the slices if there is room for all", () => {
    expect(timeTicks(scaleLinear([2000.5, 2003.5], [0, 210]), years, 64)).toEqual(years);
  });
  it("are round otherwise", () => {
    expect(timeTicks(scaleLinear([2000.5, 2003.5], [0, 150]), years, 64)).toEqual([2002]);
  });
});

describe("headlines", () => {
  const times = new Times([1800, 1850, 1900, 1950].map((year) => slice(year + 0.5, String(year))));
  const story: Story = {
    ...{ sentence: "", since: 1800.5, until: 1950.5, change: 0.5, low: 0.3, high: 0.9, halfway: null, halfway_from: null, halfway_to: null },
    ...{ from: ["x", "y", "z", "q"], to: ["r", "s"], beside: [], verdict: "jump", shape: "jump", date: 1873.2, date_low: 1870.1, date_high: 1876.9 },
    ...{ second_date: null, log_bayes_factor: 30, effect: 0.2, effect_low: 0.1, style: 0.01 },
  };
  const said = (part: Partial<Story>): string => headline({ ...story, ...part }, "a, b", times).map((one) => one.text).join("");
  it("say how a word changed, and when", () => {
    expect(said({})).toBe("a, b jumped from x, y, z to r, s around 1873.");
    expect(said({ date_low: 1873.1, date_high: 1873.8 })).toBe("a, b jumped from x, y, z to r, s in 1873.");
    expect(said({ verdict: "gradual", shape: "gradual" })).toBe("a, b moved gradually from x, y, z to r, s between 1870 and 1876.");
    expect(said({ shape: "two jumps", second_date: 1930.5 })).toBe("a, b jumped twice, around 1873 and 1930: from x, y, z to r, s.");
    expect(said({ shape: "burst", second_date: 1930.5 })).toBe("a, b was used differently from 1873 to 1930. Before: x, y, z. Since: r, s.");
    expect(said({ verdict: "unsure", shape: null, date: null })).toBe("a, b shows no significant change between 1800 and 1950. Near it: x, y, r, s.");
    expect(said({ verdict: null, shape: null })).toBe("a, b moved from x, y, z (1800) to r, s (1950).");
    expect(said({ change: null })).toBe("a, b is hardly known in 1800 or in 1950.");
    expect(said({ to: [] })).toBe("a, b jumped from x, y, z to no well-known word around 1873.");
  });
  it("mark which words were left and which were come to", () => {
    const parts = headline(story, "a, b", times);
    expect(parts.filter((part) => part.kind === "from").map((part) => part.text)).toEqual(["x", "y", "z"]);
    expect(parts.filter((part) => part.kind === "to").map((part) => part.text)).toEqual(["r", "s"]);
  });
  it("come with marks to draw and short verdicts", () => {
    expect(marksOf(story)).toEqual([{ kind: "jump", from: 1870.1, at: 1873.2, to: 1876.9 }]);
    expect(marksOf({ ...story, verdict: "gradual" })[0].kind).toBe("ramp");
    expect(marksOf({ ...story, shape: "burst", second_date: 1930 }).map(({ kind }) => kind)).toEqual(["jump", "back"]);
    expect(marksOf({ ...story, verdict: "unsure" })).toEqual([]);
    expect([0.05, 0.2].map((effect) => amountOf({ ...story, effect }))).toEqual(["somewhat", "a lot"]);
    expect(amountOf({ ...story, verdict: "unsure" })).toBe("not significantly");
    expect(shortVerdict(story, times)).toBe("jump in 1873");
    expect(shortVerdict({ ...story, verdict: "unsure" }, times)).toBe("no significant change");
  });
});

describe("numbers", () => {
  it("reads float16", () => {
    expect([0x3c00, 0xc000, 0x0001, 0x7bff, 0x0000].map(halfValue)).toEqual([1, -2, 2 ** -24, 65504, 0]);
    expect(halfValue(0x7e00)).toBeNaN();
    expect(halfValue(0xfc00)).toBe(-Infinity);
  });
  it("draws normal numbers, the same for the same seed", () => {
    const draw = (seed: number) => {
      const normals = new Normals(seed, 7);
      return Array.from({ length: 100_000 }, () => normals.next());
    };
    const drawn = draw(3);
    const moment = (power: number) => drawn.reduce((sum, value) => sum + value ** power, 0) / drawn.length;
    // five standard errors of each moment
    expect(Math.abs(moment(1))).toBeLessThan(0.016);
    expect(Math.abs(moment(2) - 1)).toBeLessThan(0.023);
    expect(Math.abs(moment(3))).toBeLessThan(0.062);
    expect(Math.abs(moment(4) - 3)).toBeLessThan(0.155);
    expect(Math.abs(drawn.filter((value) => Math.abs(value) > 3.4426).length / 100_000 - 5.76e-4)).toBeLessThan(4e-4);
    expect(draw(3)).toEqual(drawn);
    expect(draw(4).slice(0, 5)).not.toEqual(drawn.slice(0, 5));
  });
  it("counts who is among the best", () => {
    const values = Float32Array.from([1, 5, 2, 4, 3, 3]); // three values in two draws: (1, 2, 3) and (5, 4, 3)
    expect([...shareAmongBest(values, 3, 2, 2)]).toEqual([0.5, 1, 0.5]);
  });
  it("looks at every column once", () => {
    for (const count of [1, 2, 3, 10, 57]) expect([...coarseToFine(count)].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, n) => n));
  });
  it("writes CSV that can be read again", () => {
    expect(csvOf({ columns: ["a", "b"], rows: [['x,"y"', 0.1], [null, NaN], ["line\nbreak", -2]] })).toBe('a,b\r\n"x,""y""",0.1\r\n,\r\n"line\nbreak",-2\r\n');
  });
  it("spells truth as the library's files do, and shows it as yes or nothing", () => {
    expect(csvOf({ columns: ["word", "inferred"], rows: [["True", true], ["x", false]] })).toBe("word,inferred\r\nTrue,True\r\nx,False\r\n");
    expect([true, false].map(shownCell)).toEqual(["yes", ""]);
  });
  it("writes no text that a spreadsheet would run", () => {
    const texts = ["=1+1", "+x", "-x", "@name", "\tx", "'=x", " =x", "-44", "steam", "\u001b[2J"];
    const written = ["'=1+1", "'+x", "'-x", "'@name", "'\tx", "''=x", "' =x", "-44", "steam", "\\x1b[2J"];
    const rows = csvOf({ columns: ["word"], rows: texts.map((text) => [text]) }).split("\r\n");
    expect(rows.slice(1, -1)).toEqual(written);
  });
  it("names slices, also those that are shown alike", () => {
    const times = new Times([slice(1790.02, "1790"), slice(1790.9, "1790"), slice(1791.9, "1791")]);
    expect([0, 1, 2].map((number) => times.nameOf(number))).toEqual(["1790.02", "1790.9", "1791"]);
    for (const number of [0, 1, 2]) expect(times.named(times.nameOf(number))).toBe(number);
    expect(times.named("")).toBeNull();
    expect(times.named("1850")).toBe(2);
  });
});

describe("text that must fit", () => {
  it("is cut by the room of its letters", () => {
    expect(cut("energy", 6)).toBe("energy");
    expect(cut("energetic", 6)).toBe("ener…");
    expect(cut("wwwwwwwwww", 10)).toBe("wwwww…");
    expect(cut("illicit", 6)).toBe("illicit");
    expect([...cut("気候変動枠組条約", 8)].length).toBeLessThan(6);
    expect(cut("🎉🎉🎉", 2)).toBe("🎉…");
  });
});

describe("a text in lines", () => {
  it("is whole where it fits, and broken at a space or anywhere", () => {
    expect(wrapped("energy", 10, 3)).toEqual(["energy"]);
    expect(wrapped("north · south", 9, 2)).toEqual(["north ·", "south"]);
    expect(wrapped("donaudampfschifffahrt", 10, 3).join("")).toBe("donaudampfschifffahrt");
  });

  it("is cut on its last line", () => {
    const lines = wrapped("donaudampfschifffahrtsgesellschaftskapitän", 10, 2);
    expect(lines).toHaveLength(2);
    expect(lines[1].endsWith("…")).toBe(true);
    expect("donaudampfschifffahrtsgesellschaftskapitän".startsWith(lines.join("").slice(0, -1))).toBe(true);
  });
});
