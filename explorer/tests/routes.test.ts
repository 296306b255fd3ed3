import { describe, expect, it } from "vitest";
import { formatRoute, NOWHERE, parseRoute } from "../src/state/route";

describe("routes", () => {
  it("reads the documented address", () => {
    expect(parseRoute("#/word/energy?t=1950&with=oil,skill")).toEqual({ ...NOWHERE, view: "word", word: "energy", t: "1950", with: ["oil", "skill"] });
  });
  it("comes back from an address with any word", () => {
    for (const word of ["a/b?c=d&e#f", "a,b", "100%", "__proto__", "مرحبا", "🎉", "</script>", " ", "\u0007"]) {
      const route = { ...NOWHERE, view: "word" as const, word, t: word, with: [word, "plain"] };
      expect(parseRoute(formatRoute(route))).toEqual(route);
      const other = { ...NOWHERE, view: "compare" as const, how: "poles", words: [word], from: ["x", word], to: ["y"] };
      expect(parseRoute(formatRoute(other))).toEqual(other);
    }
  });
  it("shows the start for what it does not know", () => {
    for (const hash of ["", "#", "#/", "#/nowhere", "#/word/", "#/__proto__", "#/constructor"]) expect(parseRoute(hash).view).toBe("start");
  });
  it("keeps a stray per cent sign", () => {
    expect(parseRoute("#/word/100%").word).toBe("100%");
  });
});
