/** A map at one moment: points, regions, trails, and names that do not collide; then drawn on a canvas, or as SVG. */

import type { MapFrames } from "../../data/forms";
import { element, text } from "../../figures/exporting";
import { cut } from "../../figures/writing";

export interface Camera {
  zoom: number;
  /** Middle of the view, in the map's own units. */
  x: number;
  y: number;
}

/** What is looked at: a moment between frames, from where, on how large a sheet. */
export interface View {
  moment: number;
  camera: Camera;
  width: number;
  height: number;
}

/** Whose names are written: places among the map's words. */
export interface Naming {
  /** Those that come first, first. Words that are not among them are not drawn. */
  order: readonly number[];
  /** Those with trails. */
  chosen: readonly number[];
  nameOf: (place: number) => string;
  /** The width of words in pixels, in a font of this size. */
  measure: (words: string, size: number) => number;
}

interface Label {
  x: number;
  y: number;
  words: string;
  size: number;
  /** Left and right, top and bottom. */
  box: [number, number, number, number];
}

export interface Scene {
  width: number;
  height: number;
  points: { place: number; x: number; y: number; r: number; region: number }[];
  regions: (Label & { region: number })[];
  names: (Label & { place: number; chosen: number; region: number })[];
  trails: { chosen: number; points: [number, number][] }[];
}

export interface Looks {
  paper: string;
  ink: string;
  /** Of chosen words: line and text. */
  inks: { line: string; text: string }[];
  /** Of points in a region, and of its name. */
  regions: { point: string; name: string }[];
  font: string;
}

const SIZE = 12;
const CHOSEN_SIZE = 14;
const REGION_SIZE = 15;
const MARGIN = 16;
const LETTERS = 18;
const NARROW = 600; // pixels: there one word names a region
const ZOOMING = [62, 110]; // pixels of the corner where the buttons are
const BEYOND = 0.002; // share of words on each side that may lie beyond the sheet
/** A map is stretched to use a wide sheet, up to this. */
const STRETCH = 2;

/** Where a word is between two frames. */
export function placeAt(frames: MapFrames, moment: number, word: number): [number, number] {
  const before = Math.floor(moment);
  const after = Math.min(before + 1, frames.times.length - 1);
  const part = moment - before;
  const mix = (values: number[][]): number => values[before][word] * (1 - part) + values[after][word] * part;
  return [mix(frames.x), mix(frames.y)];
}

type Extent = [number, number, number, number];
const extents = new WeakMap<MapFrames, Extent>();

/** The box around nearly all words at all times, found once. */
export function extentOf(frames: MapFrames): Extent {
  let found = extents.get(frames);
  if (!found) {
    const [x, y] = [frames.x.flat(), frames.y.flat()].map((values) => values.filter(Number.isFinite).sort((one, other) => one - other));
    const at = (values: number[], share: number): number => values[Math.round(share * (values.length - 1))];
    found = [at(x, BEYOND) ?? -1, at(x, 1 - BEYOND) ?? 1, at(y, BEYOND) ?? -1, at(y, 1 - BEYOND) ?? 1];
    extents.set(frames, found);
  }
  return found;
}

/** The middle of a box and the pixels of a unit along both axes that make it fill a sheet, not distorted beyond recognition. */
export function fitted([left, right, low, high]: Extent, width: number, height: number): { middle: [number, number]; scale: [number, number] } {
  const across = (width - 2 * MARGIN - 60) / Math.max(right - left, 1e-9); // names stand beside their points
  const up = (height - 2 * MARGIN) / Math.max(high - low, 1e-9);
  return { middle: [(left + right) / 2, (low + high) / 2], scale: [Math.min(across, up * STRETCH), Math.min(up, across * STRETCH)] };
}

export function sceneOf(frames: MapFrames, { moment, camera, width, height }: View, naming: Naming): Scene {
  const { order, chosen, nameOf, measure } = naming;
  const { middle: center, scale } = fitted(extentOf(frames), width, height);
  const project = ([x, y]: [number, number]): [number, number] => [
    width / 2 + (x - center[0] - camera.x) * scale[0] * camera.zoom,
    height / 2 - (y - center[1] - camera.y) * scale[1] * camera.zoom,
  ];
  const points: Scene["points"] = [];
  const where = new Map<number, [number, number]>();
  for (const place of new Set([...order, ...chosen])) {
    const [x, y] = project(placeAt(frames, moment, place));
    if (!Number.isFinite(x) || x < 0 || x > width || y < 0 || y > height) continue;
    points.push({ place, x, y, r: 1.3 + 7 * Math.sqrt(frames.effect[place] ?? 0), region: frames.region[place] });
    where.set(place, [x, y]);
  }
  const trails = chosen.map((place, number) => ({
    chosen: number,
    points: [...Array.from({ length: Math.floor(moment) + 1 }, (_, frame) => project(placeAt(frames, frame, place))), project(placeAt(frames, moment, place))],
  }));

  const taken: Label["box"][] = [[width - ZOOMING[0], 0, width, ZOOMING[1]]];
  const placed = (words: string, size: number, corners: [number, number][], at: [number, number]): Label | null => {
    const long = measure(words, size);
    for (const [dx, dy] of corners) {
      const [x, y] = [at[0] + dx - (dx < 0 ? long : dx === 0 ? long / 2 : 0), at[1] + dy];
      const box: Label["box"] = [x - 3, y - size, x + long + 3, y + 0.35 * size];
      if (box[0] < 0 || box[2] > width || box[1] < 0 || box[3] > height) continue;
      if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
      taken.push(box);
      return { x, y, words, size, box };
    }
    return null;
  };
  const BESIDE: [number, number][] = [[6, 4], [-6, 4], [0, -7], [0, 16]];
  const names: Scene["names"] = [];
  const name = (place: number, size: number, words = cut(nameOf(place), LETTERS), at = where.get(place), corners = BESIDE): void => {
    const label = at && placed(words, size, corners, at);
    if (label) names.push({ ...label, place, chosen: chosen.indexOf(place), region: frames.region[place] });
  };
  for (const place of chosen) name(place, CHOSEN_SIZE);
  for (const { points: trail } of trails) for (const [step, end] of trail.entries()) if (step) taken.push(...boxesAlong(trail[step - 1], end));
  if (moment > 0) for (const { points: trail, chosen: number } of trails) name(chosen[number], SIZE, frames.shown[0], trail[0], [...BESIDE, [-16, 4], [0, -13], [0, 24]]);
  const regions: Scene["regions"] = [];
  frames.regions.forEach((members, region) => {
    const own = points.filter((point) => point.region === region);
    if (!own.length || !members.length) return;
    const named = width < NARROW ? members.slice(0, 1) : members;
    const words = named.map(nameOf).map((one) => cut(one, LETTERS)).join(", ");
    const middle: [number, number] = [median(own.map((point) => point.x)), median(own.map((point) => point.y))];
    const shifts: [number, number][] = [0, -18, 18, -36, 36, -54, 54].map((dy) => [0, dy]);
    const half = measure(words, REGION_SIZE) / 2 + 4;
    middle[0] = Math.min(Math.max(middle[0], half), width - half);
    const label = placed(words, REGION_SIZE, shifts, middle);
    if (label) regions.push({ ...label, region });
  });
  const limit = chosen.length + Math.round((width * height) / 5200);
  for (const place of order) {
    if (names.length >= limit) break;
    if (!chosen.includes(place)) name(place, SIZE);
  }
  return { width, height, points, regions, names, trails };
}

/** Small boxes that cover a line, so that no name stands on it. */
function boxesAlong([x, y]: [number, number], [toX, toY]: [number, number]): Label["box"][] {
  const APART = 8; // pixels
  const steps = Math.ceil(Math.hypot(toX - x, toY - y) / APART);
  return Array.from({ length: steps + 1 }, (_, step) => {
    const [atX, atY] = [x + ((toX - x) * step) / Math.max(steps, 1), y + ((toY - y) * step) / Math.max(steps, 1)];
    return [atX - 2, atY - 2, atX + 2, atY + 2];
  });
}

function median(values: number[]): number {
  return values.sort((one, other) => one - other)[values.length >> 1];
}

export function paint(context: CanvasRenderingContext2D, scene: Scene, looks: Looks, ratio: number): void {
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = looks.paper;
  context.fillRect(0, 0, scene.width, scene.height);
  const dot = (x: number, y: number, r: number): void => {
    context.beginPath();
    context.arc(x, y, r, 0, 2 * Math.PI);
    context.fill();
  };
  context.globalAlpha = 0.55;
  for (const point of scene.points) {
    context.fillStyle = looks.regions[point.region % looks.regions.length].point;
    dot(point.x, point.y, point.r);
  }
  context.globalAlpha = 1;
  context.lineJoin = "round";
  for (const trail of scene.trails) {
    context.strokeStyle = context.fillStyle = looks.inks[trail.chosen].line;
    context.lineWidth = 2.5;
    context.beginPath();
    trail.points.forEach(([x, y], step) => (step ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
    trail.points.forEach(([x, y], step) => dot(x, y, step === trail.points.length - 1 ? 5 : 2));
  }
  const write = (label: Label, style: string, color: string): void => {
    context.font = `${style} ${label.size}px ${looks.font}`;
    context.strokeStyle = looks.paper;
    context.lineWidth = 4;
    context.strokeText(label.words, label.x, label.y);
    context.fillStyle = color;
    context.fillText(label.words, label.x, label.y);
  };
  for (const name of scene.names) if (name.chosen < 0) write(name, "", looks.ink);
  for (const region of scene.regions) write(region, "italic 600", looks.regions[region.region % looks.regions.length].name);
  for (const name of scene.names) if (name.chosen >= 0) write(name, "600", looks.inks[name.chosen].text);
}

/** The same as SVG, with a title. */
export function drawing(scene: Scene, looks: Looks, title: string, source: string): SVGSVGElement {
  const HEAD = 44;
  const svg = element("svg", { width: scene.width, height: scene.height + HEAD, viewBox: `0 0 ${scene.width} ${scene.height + HEAD}`, "font-family": looks.font });
  svg.append(
    element("rect", { width: "100%", height: "100%", fill: looks.paper }),
    text(title, 12, 20, { "font-size": 15, "font-weight": 600, fill: looks.ink }),
    text(source, 12, 36, { "font-size": 11, fill: looks.ink }),
  );
  const group = element("g", { transform: `translate(0,${HEAD})` });
  for (const point of scene.points) {
    group.append(element("circle", { cx: point.x, cy: point.y, r: point.r, fill: looks.regions[point.region % looks.regions.length].point, "fill-opacity": 0.55 }));
  }
  for (const trail of scene.trails) {
    const points = trail.points.map((point) => point.map((value) => value.toFixed(1)).join(",")).join(" ");
    group.append(element("polyline", { points, fill: "none", stroke: looks.inks[trail.chosen].line, "stroke-width": 2.5 }));
  }
  for (const name of scene.names) {
    const chosen = name.chosen >= 0;
    group.append(text(name.words, name.x, name.y, { "font-size": name.size, "font-weight": chosen ? 600 : 400, fill: chosen ? looks.inks[name.chosen].text : looks.ink }));
  }
  for (const one of scene.regions) {
    group.append(text(one.words, one.x, one.y, { "font-size": one.size, "font-weight": 600, "font-style": "italic", fill: looks.regions[one.region % looks.regions.length].name }));
  }
  svg.append(group);
  return svg as SVGSVGElement;
}
