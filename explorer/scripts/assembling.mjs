// Writes the built page: script and style of dist/ inline in page.html, one file with no outside reference.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { sourceHash } from "./sources.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const TARGET = join(ROOT, "..", "src", "wordtide", "explorer", "page", "explorer.html");
const MOST = 100 * 1024; // bytes of the page without data, gzipped

const read = (path) => readFileSync(join(ROOT, path), "utf8");

function once(text, mark) {
  if (text.split(mark).length !== 2) throw new Error(`${mark} must stand exactly once in the page`);
}

const script = read("dist/explorer.js").trim();
const style = read("dist/explorer.css").trim();
// `<!--` alone is harmless in a script; it is not before `<script`
if (/<\/?script/i.test(script)) throw new Error("the script would end its own element");
if (/<\/style|url\(|@import/i.test(style)) throw new Error("the style would end its own element, or ask for something outside");

let page = read("page.html");
for (const [mark, text] of [
  ["@SOURCE@", sourceHash(ROOT)],
  ["@STYLE@", style],
  ["@SCRIPT@", script],
]) {
  once(page, mark);
  page = page.replace(mark, () => text);
}
once(page, "<!--wordtide:policy-->");
once(page, "<!--wordtide:data-->");

const size = gzipSync(page, { level: 9 }).length;
if (size > MOST) throw new Error(`the page has ${size} bytes gzipped, more than ${MOST}`);
mkdirSync(dirname(TARGET), { recursive: true });
writeFileSync(`${TARGET}.partial`, page);
renameSync(`${TARGET}.partial`, TARGET);
console.log(`explorer.html: ${page.length} characters, ${size} bytes gzipped`);
