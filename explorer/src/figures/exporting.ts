/** Figures as files: SVG with all its looks in attributes, PNG at twice the size, CSV. Nothing leaves the machine. */

const LOOKS = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "opacity",
  "font-family",
  "font-size",
  "font-style",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
  "paint-order",
  "unicode-bidi",
] as const;
const SPACE = "http://www.w3.org/2000/svg";
const MARGIN = 16;
const HEAD = 40;
const CAPTION = 20;

/** The pictures of a figure put together as one SVG document, with its title and source, and a legend below if there is one. */
export function svgOf(body: Element, title: string, source: string, legend = ""): SVGSVGElement {
  const frame = body.getBoundingClientRect();
  const page = getComputedStyle(document.body);
  const whole = element("svg", { xmlns: SPACE, width: frame.width + 2 * MARGIN, "font-family": page.fontFamily }) as SVGSVGElement;
  const drawn = [...body.querySelectorAll<SVGSVGElement>("svg[data-part]")];
  // what stands above the first picture, as fields do, is not in the file; captions are
  const captioned = drawn.some((part) => part.dataset.part);
  const top = Math.min(...drawn.map((part) => part.getBoundingClientRect().top)) - (captioned ? CAPTION : 0);
  const parts = drawn.map((part) => {
    const box = part.getBoundingClientRect();
    const group = element("g", { transform: `translate(${box.left - frame.left + MARGIN},${box.top - top + HEAD + MARGIN})` });
    if (part.dataset.part) group.append(text(part.dataset.part, 0, -6, { "font-size": 12, "font-weight": 600, fill: page.color }));
    for (const child of part.children) copyWithLooks(child, group);
    return { group, bottom: box.bottom - top };
  });
  const height = Math.ceil(Math.max(0, ...parts.map((part) => part.bottom))) + HEAD + 2 * MARGIN + (legend ? CAPTION : 0);
  whole.setAttribute("height", String(height));
  whole.setAttribute("viewBox", `0 0 ${frame.width + 2 * MARGIN} ${height}`);
  whole.append(
    element("rect", { width: "100%", height: "100%", fill: page.backgroundColor }),
    text(title, MARGIN, MARGIN + 14, { "font-size": 15, "font-weight": 600, fill: page.color }),
    text(source, MARGIN, MARGIN + 31, { "font-size": 11, fill: page.color, "fill-opacity": 0.7 }),
    ...parts.map((part) => part.group),
  );
  if (legend) whole.append(text(legend, MARGIN, height - MARGIN, { "font-size": 11, fill: page.color, "fill-opacity": 0.7 }));
  return whole;
}

/** A copy of what is drawn; links become groups, and what is only for pointers and keys is left out. */
function copyWithLooks(from: Element, into: Element): void {
  if (!(from instanceof SVGElement) || from.hasAttribute("data-hand")) return;
  const look = getComputedStyle(from);
  if (look.display === "none" || look.visibility === "hidden") return;
  const name = from.localName === "a" ? "g" : from.localName;
  const copy = element(name, {});
  for (const { name: attribute, value } of from.attributes) {
    if (/^(d|x|y|x1|x2|y1|y2|cx|cy|r|rx|dx|dy|width|height|points|transform)$/.test(attribute)) copy.setAttribute(attribute, value);
  }
  for (const property of LOOKS) copy.setAttribute(property, look.getPropertyValue(property));
  for (const child of from.childNodes) {
    if (child instanceof Element) copyWithLooks(child, copy);
    else if (child.nodeType === Node.TEXT_NODE && (name === "text" || name === "tspan" || name === "title")) copy.append(child.cloneNode());
  }
  into.append(copy);
}

export function element(name: string, attributes: Record<string, string | number>): Element {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) if (key !== "xmlns") made.setAttribute(key, String(value));
  return made;
}

export function text(words: string, x: number, y: number, attributes: Record<string, string | number>): Element {
  const made = element("text", { x, y, ...attributes });
  made.textContent = words;
  return made;
}

/** Characters that XML cannot hold are left out, or the file would not open. */
export function svgText(svg: SVGSVGElement): string {
  // eslint-disable-next-line no-control-regex
  return new XMLSerializer().serializeToString(svg).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}

export async function pngOf(svg: SVGSVGElement): Promise<Blob> {
  const image = new Image();
  const address = URL.createObjectURL(new Blob([svgText(svg)], { type: "image/svg+xml" }));
  try {
    await new Promise((resolve, reject) => {
      image.onload = resolve;
      image.onerror = () => reject(new Error("The picture cannot be drawn."));
      image.src = address;
    });
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(2 * Number(svg.getAttribute("width")));
    canvas.height = Math.round(2 * Number(svg.getAttribute("height")));
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture cannot be stored."))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Hand a file to the reader. */
export function download(content: Blob, name: string): void {
  const link = document.createElement("a");
  const address = URL.createObjectURL(content);
  link.href = address;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A file name from words: letters and digits of any script stay. */
export function fileName(...parts: string[]): string {
  const joined = parts.join("-").toLowerCase();
  return joined.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 80) || "figure";
}

export async function copyText(words: string): Promise<void> {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(words);
      return;
    } catch {
      // not allowed here: the old way below
    }
  }
  const field = document.createElement("textarea");
  field.value = words;
  field.setAttribute("readonly", "");
  field.className = "unseen";
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  if (!copied) throw new Error("The browser does not let the page copy.");
}
