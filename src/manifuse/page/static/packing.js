// Unpacking: facts and arrays from one body of bytes, as packing.py packs them. Arrays are views; nothing is copied.

const VIEWS = { "<f8": Float64Array, "<u4": Uint32Array, "|u1": Uint8Array };

/** The facts and arrays of a body; an array of two dimensions becomes a list of its rows. */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const { name, type, shape, offset } of head.arrays) {
    const size = shape.reduce((product, each) => product * each, 1);
    const whole = new VIEWS[type](buffer, 4 + length + offset, size);
    arrays[name] = shape.length === 2
      ? Array.from({ length: shape[0] }, (_, row) => whole.subarray(row * shape[1], (row + 1) * shape[1]))
      : whole;
  }
  return { facts: head.facts, arrays };
}
