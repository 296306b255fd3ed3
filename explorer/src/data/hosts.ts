/** Where the page's data come from: blocks in the document itself, or files beside it. One form of data for both. */

export interface Host {
  /** Whether all data are in the document. */
  readonly embedded: boolean;
  /** The bytes of a resource as stored, which may be gzip. */
  resource(name: string): Promise<Uint8Array>;
}

/** A resource that is not there, or cannot be read. The message is for readers of the page. */
export class MissingResource extends Error {}

const BLOCK = "script[data-resource]";

/** Data blocks in the document; each is read once and then let go, so that its text does not stay in memory. */
export class EmbeddedHost implements Host {
  readonly embedded = true;
  private readonly blocks = new Map<string, Element>();

  constructor(root: ParentNode) {
    for (const block of root.querySelectorAll(BLOCK)) this.blocks.set(block.getAttribute("data-resource") ?? "", block);
  }

  has(name: string): boolean {
    return this.blocks.has(name);
  }

  async resource(name: string): Promise<Uint8Array> {
    const block = this.blocks.get(name);
    if (!block) throw new MissingResource(`This file has no ${name}.`);
    const bytes = fromBase64(block.textContent ?? "");
    block.remove();
    this.blocks.delete(name);
    return bytes;
  }
}

/** Files in the folder data/ beside the page, from any web host or from `wordtide explore`. */
export class RemoteHost implements Host {
  readonly embedded = false;

  async resource(name: string): Promise<Uint8Array> {
    let response: Response;
    try {
      response = await fetch(`data/${name}`);
    } catch {
      throw new MissingResource(`data/${name} cannot be reached. Is the server still running?`);
    }
    if (!response.ok) throw new MissingResource(`data/${name} cannot be read: ${response.status} ${response.statusText}.`);
    return new Uint8Array(await response.arrayBuffer());
  }
}

/** The host of this document. */
export function findHost(root: ParentNode): Host {
  const embedded = new EmbeddedHost(root);
  return embedded.has("header.bin") ? embedded : new RemoteHost();
}

interface Base64Decoding {
  fromBase64?: (text: string) => Uint8Array;
}

/** Bytes of base64 text, by the browser's own decoder where it has one. */
export function fromBase64(text: string): Uint8Array {
  const native = (Uint8Array as unknown as Base64Decoding).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const letters = atob(text.trim());
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < bytes.length; place += 1) bytes[place] = letters.charCodeAt(place);
  return bytes;
}
