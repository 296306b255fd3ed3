/** Places for names beside the ends of lines and above marks, none over another. */

const LETTER = 6.2; // pixels, of names above marks

/** Names above marks, centered as far as [low, high] allows; one for all where they would touch. */
export function namesAbove(marks: readonly { words: string; at: number }[], low: number, high: number): { words: string; at: number }[] {
  const placed = marks.map(({ words, at }) => {
    const half = (words.length * LETTER) / 2;
    return { words, at: Math.min(Math.max(at, low + half), high - half), half };
  });
  if (placed.every(({ at, half }, place) => !place || at - half > placed[place - 1].at + placed[place - 1].half + LETTER)) return placed.map(({ words, at }) => ({ words, at }));
  const middle = placed.reduce((sum, { at }) => sum + at, 0) / placed.length;
  return namesAbove([{ words: placed.map(({ words }) => words).join(", "), at: middle }], low, high);
}

/** The places nearest to `heights` (in any order) that are at least `gap` apart and within [low, high] if there is room. */
export function spreadApart(heights: readonly number[], gap: number, low: number, high: number): number[] {
  const order = heights.map((_, place) => place).sort((one, other) => heights[one] - heights[other] || one - other);
  const room = gap * (heights.length - 1);
  const lacking = Math.max(0, room - (high - low)) / 2;
  // places less their offsets may only grow: a regression on growing sequences, whose bounded optimum is the clipped one
  const runs: { mean: number; size: number }[] = [];
  order.forEach((place, rank) => {
    let run = { mean: heights[place] - rank * gap, size: 1 };
    while (runs.length && runs[runs.length - 1].mean >= run.mean) {
      const before = runs.pop() as { mean: number; size: number };
      const size = before.size + run.size;
      run = { mean: (before.mean * before.size + run.mean * run.size) / size, size };
    }
    runs.push(run);
  });
  const placed: number[] = new Array(heights.length);
  let rank = 0;
  for (const { mean, size } of runs) {
    for (let step = 0; step < size; step += 1, rank += 1) {
      placed[order[rank]] = Math.min(Math.max(mean, low - lacking), Math.max(low, high + lacking - room)) + rank * gap;
    }
  }
  return placed;
}
