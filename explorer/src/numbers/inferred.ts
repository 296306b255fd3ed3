/** Whether a word's place is inferred from other times, as the library's `inferred` says. */

/** True if a word, by its occurrences (S,), occurs neither in a slice nor in the `nearby` slices before and after it.
 *
 * The library counts all slices of the model. A page that keeps only some of them knows occurrences in these alone, so here
 * the slices nearby are kept slices: they reach further in time, but a word may have occurred in those left out between them.
 */
export function isInferred(occurrences: ArrayLike<number>, slice: number, nearby: number): boolean {
  const last = Math.min(slice + nearby, occurrences.length - 1);
  for (let near = Math.max(slice - nearby, 0); near <= last; near += 1) if (occurrences[near] > 0) return false;
  return true;
}
