/** The story as a headline in plain words, in parts so that its words can be links. */

import type { Story } from "../data/forms";
import type { Times } from "../state/times";
import { kindOf, likelyRange } from "../state/verdicts";

export interface Part {
  text: string;
  kind: "plain" | "self" | "from" | "to";
}

const NAMED = 3;
const NOTHING = "no well-known word";

export function headline(story: Story, word: string, times: Times): Part[] {
  const plain = (text: string): Part => ({ text, kind: "plain" });
  const self: Part = { text: word, kind: "self" };
  const from = listed(story.from, "from");
  const to = listed(story.to, "to");
  const [since, until] = [times.written(story.since), times.written(story.until)];
  const date = story.date === null ? "" : times.written(story.date);
  const second = story.second_date === null ? "" : times.written(story.second_date);
  switch (story.change === null ? "unknown" : kindOf(story)) {
    case "unknown":
      return [self, plain(` is hardly known in ${since} or in ${until}.`)];
    case "jump":
      return [self, plain(" jumped from "), ...from, plain(" to "), ...to, plain(` ${likelyRange(story, times) ? "around" : "in"} ${date}.`)];
    case "twice":
      return [self, plain(` jumped twice, around ${date} and ${second}: from `), ...from, plain(" to "), ...to, plain(".")];
    case "burst":
      return [self, plain(` was used differently from ${date} to ${second}. Before: `), ...from, plain(". Since: "), ...to, plain(".")];
    case "gradual":
      return [self, plain(" moved gradually from "), ...from, plain(" to "), ...to, plain(` between ${times.written(story.date_low ?? story.since)} and ${times.written(story.date_high ?? story.until)}.`)];
    case "none": {
      const near = [...new Set([...story.from.slice(0, 2), ...story.to.slice(0, 2)])];
      return [self, plain(` shows no significant change between ${since} and ${until}. Near it: `), ...listed(near, "from", 4), plain(".")];
    }
    default:
      return [self, plain(" moved from "), ...from, plain(` (${since}) to `), ...to, plain(` (${until}).`)];
  }
}

function listed(words: readonly string[], kind: "from" | "to", most = NAMED): Part[] {
  if (!words.length) return [{ text: NOTHING, kind: "plain" }];
  return words.slice(0, most).flatMap((text, place): Part[] => (place ? [{ text: ", ", kind: "plain" }, { text, kind }] : [{ text, kind }]));
}
