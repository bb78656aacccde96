// Blocks: facts and arrays in one body of bytes, as the server packs them. Arrays are views; nothing is copied.

const VIEWS = { "<f8": Float64Array, "<u4": Uint32Array, "|u1": Uint8Array };

/** Facts and arrays of a body; an array of two dimensions becomes a list of its rows. */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const { name, type, shape, offset, bytes } of head.arrays) {
    const View = VIEWS[type];
    const whole = new View(buffer, 4 + length + offset, bytes / View.BYTES_PER_ELEMENT);
    arrays[name] = shape.length === 2
      ? Array.from({ length: shape[0] }, (_, row) => whole.subarray(row * shape[1], (row + 1) * shape[1]))
      : whole;
  }
  return { facts: head.facts, arrays };
}
