/** Words from what is typed: those that begin so, and the nearest spellings. */

/** What is typed as the model spells it: in lower case, a phrase joined by underscores. */
export function spelled(typed: string): string {
  return typed.trim().toLowerCase().replace(/\s+/gu, "_");
}

/** Numbers of words that begin with what is typed, the most frequent first (words come in that order). */
export function beginning(words: readonly string[], typed: string, most: number): number[] {
  const start = spelled(typed);
  const found: number[] = [];
  for (let number = 0; number < words.length && found.length < most; number += 1) {
    if (words[number].startsWith(start)) found.push(number);
  }
  const exact = found.findIndex((number) => words[number] === start);
  if (exact > 0) found.unshift(...found.splice(exact, 1));
  return found;
}

/** Numbers of the words with the nearest spelling, nearest first, of equals the more frequent. */
export function nearSpellings(words: readonly string[], typed: string, most: number): number[] {
  const wanted = spelled(typed);
  const reach = Math.max(1, Math.min(4, Math.ceil(wanted.length / 3)));
  const found: { number: number; distance: number }[] = [];
  words.forEach((word, number) => {
    const begins = wanted.length > 2 && word.startsWith(wanted);
    const distance = begins ? 0.5 : editDistance(wanted, word, reach);
    if (distance <= reach) found.push({ number, distance });
  });
  found.sort((one, other) => one.distance - other.distance || one.number - other.number);
  return found.slice(0, most).map((one) => one.number);
}

/** Numbers of phrases in which what is typed begins a later word. */
function within(words: readonly string[], typed: string, most: number): number[] {
  const part = `_${spelled(typed)}`;
  const found: number[] = [];
  for (let number = 0; number < words.length && found.length < most; number += 1) if (words[number].includes(part)) found.push(number);
  return found;
}

/** Completions first, then phrases with the word; if there are few of them, near spellings too. */
export function suggested(words: readonly string[], typed: string, most: number): number[] {
  if (typed === "") return [];
  const found = [...new Set([...beginning(words, typed, most), ...within(words, typed, most)])].slice(0, most);
  if (found.length >= Math.min(3, most) || typed.length < 3) return found;
  return [...new Set([...found, ...nearSpellings(words, typed, most)])].slice(0, most);
}

/** Damerau's and Levenshtein's distance (neighboring letters may change places); more than `reach` is told as Infinity. */
export function editDistance(one: string, other: string, reach: number): number {
  const n = one.length;
  const m = other.length;
  if (Math.abs(n - m) > reach) return Infinity;
  let before: number[] = [];
  let previous = Array.from({ length: m + 1 }, (_, j) => j);
  for (let i = 1; i <= n; i += 1) {
    const current = [i];
    let least = i;
    for (let j = 1; j <= m; j += 1) {
      const same = one[i - 1] === other[j - 1];
      let distance = Math.min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (same ? 0 : 1));
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) distance = Math.min(distance, before[j - 2] + 1);
      current.push(distance);
      least = Math.min(least, distance);
    }
    if (least > reach) return Infinity;
    before = previous;
    previous = current;
  }
  return previous[m] <= reach ? previous[m] : Infinity;
}
