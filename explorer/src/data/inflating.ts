/** From bytes as stored to bytes, and to JSON. */

/** The bytes themselves, inflated if they are gzip. */
export async function inflated(bytes: Uint8Array): Promise<Uint8Array> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Bytes of a known number, inflated into one array if they are gzip: for large blocks quicker than gathering parts. */
export async function inflatedTo(bytes: Uint8Array, size: number): Promise<Uint8Array> {
  let whole = bytes;
  let place = bytes.length;
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    whole = new Uint8Array(size);
    place = 0;
    const reader = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (place + part.value.length <= size) whole.set(part.value, place);
      place += part.value.length;
      if (place > size) await reader.cancel();
    }
  }
  if (place !== size) throw new Error(`A block of vectors has another size than ${size} bytes.`);
  return whole;
}

/** A JSON resource. JSON.parse makes own properties of `__proto__` and `constructor`; they are never looked up by a word. */
export async function parsed<T>(bytes: Uint8Array): Promise<T> {
  return JSON.parse(new TextDecoder().decode(await inflated(bytes))) as T;
}
