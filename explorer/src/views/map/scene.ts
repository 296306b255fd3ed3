/** A map at one moment: points, trails, and names that do not collide; then drawn on a canvas, or as SVG. */

import type { MapFrames } from "../../data/forms";
import { element, text } from "../../figures/exporting";
import { cut } from "../../figures/writing";

export interface Camera {
  zoom: number;
  /** Middle of the view, in the map's own units. */
  x: number;
  y: number;
}

export interface Scene {
  width: number;
  height: number;
  points: { place: number; x: number; y: number }[];
  names: { place: number; x: number; y: number; words: string; chosen: number }[];
  trails: { chosen: number; points: [number, number][] }[];
}

export interface Looks {
  paper: string;
  ink: string;
  faint: string;
  /** Of chosen words: line and text. */
  inks: { line: string; text: string }[];
  font: string;
}

const SIZE = 11.5;
const MARGIN = 14;

/** Where a word is between two frames. */
export function placeAt(frames: MapFrames, moment: number, word: number): [number, number] {
  const before = Math.floor(moment);
  const after = Math.min(before + 1, frames.times.length - 1);
  const part = moment - before;
  const mix = (values: number[][]): number => values[before][word] * (1 - part) + values[after][word] * part;
  return [mix(frames.x), mix(frames.y)];
}

/** Lay out one moment. `order` says whose names come first; `chosen` are places in the map's words, with trails. */
export function sceneOf(
  frames: MapFrames,
  moment: number,
  camera: Camera,
  width: number,
  height: number,
  order: readonly number[],
  chosen: readonly number[],
  nameOf: (place: number) => string,
): Scene {
  const half = (Math.min(width, height) / 2 - MARGIN) * camera.zoom;
  const stretch = Math.min(1.5, Math.max(1, width / height)); // a wide page is used, but not distorted beyond recognition
  const project = ([x, y]: [number, number]): [number, number] => [width / 2 + (x - camera.x) * half * stretch, height / 2 - (y - camera.y) * half];
  const points: Scene["points"] = [];
  const where = new Map<number, [number, number]>();
  frames.words.forEach((_, place) => {
    const at = project(placeAt(frames, moment, place));
    if (!Number.isFinite(at[0]) || at[0] < -20 || at[0] > width + 20 || at[1] < -20 || at[1] > height + 20) return;
    points.push({ place, x: at[0], y: at[1] });
    where.set(place, at);
  });
  const trails = chosen.map((place, number) => ({
    chosen: number,
    points: [...Array.from({ length: Math.floor(moment) + 1 }, (_, frame) => project(placeAt(frames, frame, place))), project(placeAt(frames, moment, place))],
  }));
  const names: Scene["names"] = [];
  const taken: [number, number, number, number][] = [];
  const limit = Math.round((width * height) / 5200);
  for (const place of [...chosen, ...order]) {
    if (names.length >= limit + chosen.length) break;
    const at = where.get(place);
    if (!at || names.some((name) => name.place === place)) continue;
    const words = cut(nameOf(place), 18);
    const long = words.length * SIZE * 0.54;
    for (const [dx, dy] of [[5, 4], [-5 - long, 4], [-long / 2, -6], [-long / 2, 15]]) {
      const box: [number, number, number, number] = [at[0] + dx - 2, at[1] + dy - SIZE, at[0] + dx + long + 2, at[1] + dy + 3];
      if (box[0] < 0 || box[2] > width || box[1] < 0 || box[3] > height) continue;
      if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
      taken.push(box);
      names.push({ place, x: at[0] + dx, y: at[1] + dy, words, chosen: chosen.indexOf(place) });
      break;
    }
  }
  return { width, height, points, names, trails };
}

export function paint(context: CanvasRenderingContext2D, scene: Scene, looks: Looks, ratio: number): void {
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = looks.paper;
  context.fillRect(0, 0, scene.width, scene.height);
  context.fillStyle = looks.faint;
  for (const point of scene.points) context.fillRect(point.x - 1.2, point.y - 1.2, 2.4, 2.4);
  for (const trail of scene.trails) {
    context.strokeStyle = looks.inks[trail.chosen].line;
    context.lineWidth = 2;
    context.beginPath();
    trail.points.forEach(([x, y], step) => (step ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
    const [x, y] = trail.points[trail.points.length - 1];
    context.beginPath();
    context.arc(x, y, 4, 0, 2 * Math.PI);
    context.fillStyle = looks.inks[trail.chosen].line;
    context.fill();
  }
  context.lineJoin = "round";
  for (const name of scene.names) {
    context.font = `${name.chosen >= 0 ? "600 13px" : `${SIZE}px`} ${looks.font}`;
    context.strokeStyle = looks.paper;
    context.lineWidth = 3;
    context.strokeText(name.words, name.x, name.y);
    context.fillStyle = name.chosen >= 0 ? looks.inks[name.chosen].text : looks.ink;
    context.fillText(name.words, name.x, name.y);
  }
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
  for (const point of scene.points) group.append(element("circle", { cx: point.x, cy: point.y, r: 1.3, fill: looks.faint }));
  for (const trail of scene.trails) {
    const points = trail.points.map((point) => point.map((value) => value.toFixed(1)).join(",")).join(" ");
    group.append(element("polyline", { points, fill: "none", stroke: looks.inks[trail.chosen].line, "stroke-width": 2 }));
  }
  for (const name of scene.names) {
    const chosen = name.chosen >= 0;
    group.append(text(name.words, name.x, name.y, { "font-size": chosen ? 13 : SIZE, "font-weight": chosen ? 600 : 400, fill: chosen ? looks.inks[name.chosen].text : looks.ink }));
  }
  svg.append(group);
  return svg as SVGSVGElement;
}
