/** Slices by name and by time. */

import type { Slice } from "../data/forms";

export class Times {
  readonly years: number[];
  private readonly byName = new Map<string, number>();
  private readonly gap: number;

  constructor(readonly slices: readonly Slice[]) {
    this.years = slices.map((slice) => slice.time);
    const twice = new Set<string>();
    slices.forEach((slice, number) => {
      if (this.byName.has(slice.shown)) twice.add(slice.shown);
      else this.byName.set(slice.shown, number);
    });
    for (const name of twice) this.byName.delete(name);
    const gaps = this.years.slice(1).map((year, place) => year - this.years[place]);
    this.gap = gaps.sort((one, other) => one - other)[gaps.length >> 1] ?? 1;
  }

  /** What a slice is to a reader. */
  get unit(): string {
    const lengths: [number, string][] = [[20, "period"], [8, "decade"], [1.5, "period"], [0.75, "year"], [0.2, "quarter"], [0.06, "month"], [0.012, "week"], [0, "day"]];
    return (lengths.find(([least]) => this.gap > least) ?? lengths[lengths.length - 1])[1];
  }

  get count(): number {
    return this.slices.length;
  }

  /** Pixels from a date on an axis to the next: its width, and room. */
  get apart(): number {
    return 36 + 6.5 * this.written(this.years[0]).length;
  }

  /** The slice that is nearest to a time. */
  nearest(time: number): number {
    let best = 0;
    this.years.forEach((year, slice) => {
      if (Math.abs(year - time) < Math.abs(this.years[best] - time)) best = slice;
    });
    return best;
  }

  /** The slice that an address names; null if it names none. */
  named(t: string): number | null {
    const slice = this.byName.get(t);
    if (slice !== undefined) return slice;
    const time = Number.parseFloat(t);
    return t === "" || !Number.isFinite(time) ? null : this.nearest(time);
  }

  /** A slice's name in addresses: as it is shown, or its time where several are shown alike. */
  nameOf(slice: number): string {
    const { shown, time } = this.slices[slice];
    return this.byName.get(shown) === slice ? shown : String(Math.round(time * 1000) / 1000);
  }

  shown(slice: number): string {
    return this.slices[slice].shown;
  }

  /** Any time as people write it, as fine as the slices are. */
  written(time: number): string {
    if (this.gap > 0.75) return String(Math.floor(time + 1e-6));
    const day = new Date(0);
    day.setUTCFullYear(Math.floor(time), 0, 1);
    day.setTime(day.getTime() + (time - Math.floor(time)) * 365.2425 * 86_400_000);
    return day.toISOString().slice(0, this.gap < 0.06 ? 10 : 7);
  }
}
