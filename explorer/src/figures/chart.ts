/** What curve charts share: room around the plot, paths, ticks. */

import { scaleLinear, type ScaleLinear } from "d3-scale";
import { area, line } from "d3-shape";
import type { Curve } from "../numbers/similarity";
import type { Ink } from "./palette";
import { lengthOf } from "./writing";

export interface Series {
  name: string;
  href: string;
  ink: Ink;
  curve: Curve;
  /** By slice: whether all words it speaks of occur near it. */
  seen: readonly boolean[];
}

export interface Room {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export type Scale = ScaleLinear<number, number>;

/** Left for the scale's numbers, right for names at the ends of lines; on a narrow page only as much as these names need. */
export function roomFor(width: number, names: readonly string[]): Room {
  const needed = 19 + 7.1 * Math.ceil(Math.max(...names.map(lengthOf), 0));
  return { left: 34, right: width < 480 ? Math.min(118, Math.max(70, needed)) : 118, top: 18, bottom: 22 };
}

export function timeScale(years: readonly number[], width: number, room: Room): Scale {
  const first = years[0];
  const last = years[years.length - 1];
  const pad = first === last ? 0.5 : 0;
  return scaleLinear([first - pad, last + pad], [room.left, Math.max(room.left + 10, width - room.right)]);
}

/** The values' scale: from the lowest to the highest end of an interval, 0 always shown, round numbers at both ends. */
export function valueScale(curves: readonly Curve[], top: number, bottom: number, most: number): Scale {
  let low = 0;
  let high = 0.1;
  for (const curve of curves) {
    for (const values of [curve.mean, curve.low, curve.high]) {
      for (const value of values) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
  }
  const scale = scaleLinear([low, high], [bottom, top]).nice(5);
  const [from, to] = scale.domain();
  return scale.domain([Math.max(from, -most), Math.min(to, most)]);
}

export function linePath(values: ArrayLike<number>, years: readonly number[], x: Scale, y: Scale): string {
  return (
    line<number>((_, slice) => x(years[slice]), (value) => y(value)).defined(Number.isFinite).digits(2)(Array.from(values)) ?? ""
  );
}

export function bandPath(curve: Curve, years: readonly number[], x: Scale, y: Scale): string {
  const shape = area<number>()
    .x((slice) => x(years[slice]))
    .y0((slice) => y(curve.low[slice]))
    .y1((slice) => y(curve.high[slice]))
    .defined((slice) => Number.isFinite(curve.low[slice]) && Number.isFinite(curve.high[slice]))
    .digits(2);
  return shape(years.map((_, slice) => slice)) ?? "";
}

/** The line where its words occur: around each such slice, half the way to those beside it. */
export function seenPath(values: ArrayLike<number>, seen: readonly boolean[], years: readonly number[], x: Scale, y: Scale): string {
  const point = (slice: number, other: number): string => {
    const px = (x(years[slice]) + x(years[other])) / 2;
    const py = (y(values[slice]) + y(values[other])) / 2;
    return `${px.toFixed(2)},${py.toFixed(2)}`;
  };
  const known = (slice: number): boolean => slice >= 0 && slice < years.length && Number.isFinite(values[slice]);
  let path = "";
  let drawing = false;
  for (let slice = 0; slice < years.length; slice += 1) {
    if (!seen[slice] || !known(slice)) {
      drawing = false;
      continue;
    }
    if (!drawing) path += `M${point(slice, known(slice - 1) ? slice - 1 : slice)}`;
    path += `L${point(slice, slice)}`;
    if (known(slice + 1)) path += `L${point(slice, slice + 1)}`;
    drawing = seen[slice + 1] === true && known(slice + 1);
  }
  return path;
}

export interface Bar {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Many bars as one shape: hundreds of elements would cost more to make and to take away than all the rest of a figure. */
export function barsPath(bars: readonly Bar[]): string {
  return bars.map(({ x, y, width, height }) => `M${tenth(x)},${tenth(y)}h${tenth(width)}v${tenth(height)}h${tenth(-width)}z`).join("");
}

const tenth = (value: number): string => String(Math.round(value * 10) / 10);

/** How wide figures were when last seen: a new one begins with that, and is not drawn twice. */
export const lastWidths = { curves: 640, passers: 640, nearest: 360 };

/** Times for the axis, `gap` pixels apart or more: those of all slices if there is room for them, otherwise round ones. */
export function timeTicks(x: Scale, years: readonly number[], gap: number): number[] {
  if (years.every((year, slice) => slice === 0 || x(year) - x(years[slice - 1]) >= gap)) return [...years];
  const [from, to] = x.range();
  return x.ticks(Math.max(2, Math.floor((to - from) / gap)));
}
