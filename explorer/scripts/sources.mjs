// The hash of the page's sources: what tells, without node, that a built page is stale.
// sha256 over every file of explorer/ but node_modules and dist, in the order of their paths' bytes: path, NUL, length, NUL, bytes.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const LEFT_OUT = new Set(["node_modules", "dist"]);

/** Paths of the source files relative to `root`, with slashes, sorted by their bytes. */
export function sourcePaths(root, inside = "") {
  const found = [];
  for (const entry of readdirSync(join(root, inside), { withFileTypes: true })) {
    const path = inside ? `${inside}/${entry.name}` : entry.name;
    if (entry.isDirectory()) {
      if (!LEFT_OUT.has(entry.name)) found.push(...sourcePaths(root, path));
    } else if (entry.isFile()) {
      found.push(path);
    }
  }
  return found.sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
}

/** The hash in hexadecimal digits. */
export function sourceHash(root) {
  const hash = createHash("sha256");
  for (const path of sourcePaths(root)) {
    const content = readFileSync(join(root, path));
    hash.update(`${path}\0${content.length}\0`, "utf8");
    hash.update(content);
  }
  return hash.digest("hex");
}
