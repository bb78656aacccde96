// Pictures: numbers in, drawings out. Colours come from the style sheet, but for the surface, whose scale is cividis in both.

import { bilinear } from "./diffusion.js";

const SVG = "http://www.w3.org/2000/svg";

function draw(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function angle(cosine) { return Math.acos(Math.min(1, Math.max(-1, cosine))); }

/**
 * Directions of the references around the main predictor: the two leading axes of their tangent vectors there.
 * Gives a function from the alignments of a point (with the main predictor, and with every reference) to its place.
 */
export function chart(gram, count) {
  const size = count, tangents = [], thetas = [];
  for (let k = 1; k <= size; k++) thetas.push(angle(gram[0][k]));
  // Inner products of tangent vectors u_k = (z_k - c_k z_0) / sin, of unit length.
  const sines = thetas.map((theta) => Math.max(Math.sin(theta), 1e-12));
  for (let i = 0; i < size; i++) {
    tangents.push(Float64Array.from({ length: size }, (_, j) =>
      (gram[i + 1][j + 1] - gram[0][i + 1] * gram[0][j + 1]) / (sines[i] * sines[j])));
  }
  const axes = leadingAxes(tangents);
  return (withMain, withReferences) => {
    const theta = angle(withMain);
    // The tangent vector's inner products with the others', unit length left aside: only the direction matters.
    const inner = withReferences.map((value, k) => (value - withMain * gram[0][k + 1]) / sines[k]);
    const [x, y] = axes.map(({ vector, value }) => {
      let sum = 0;
      vector.forEach((entry, k) => { sum += entry * inner[k]; });
      return value > 1e-12 ? sum / Math.sqrt(value) : 0;
    });
    const length = Math.hypot(x, y) || 1;
    return { x: (theta * x) / length, y: (theta * y) / length };
  };
}

/** The two leading eigenvectors of a small symmetric matrix, by orthogonal iteration; signs settled by the largest entry. */
function leadingAxes(matrix) {
  const size = matrix.length;
  const apply = (vector) => matrix.map((row) => row.reduce((sum, value, k) => sum + value * vector[k], 0));
  const norm = (vector) => Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  let first = Array.from({ length: size }, (_, k) => 1 + k / (7 * size));
  let second = Array.from({ length: size }, (_, k) => (k % 2 ? -1 : 1) + k / size);
  for (let turn = 0; turn < 300; turn++) {
    [first, second] = [apply(first), apply(second)];
    const length = norm(first) || 1;
    first = first.map((value) => value / length);
    const shared = first.reduce((sum, value, k) => sum + value * second[k], 0);
    second = second.map((value, k) => value - shared * first[k]);
    const rest = norm(second);
    second = second.map((value) => (rest > 1e-12 ? value / rest : 0));
  }
  return [first, second].map((vector) => {
    const image = apply(vector);
    const value = vector.reduce((sum, entry, k) => sum + entry * image[k], 0);
    const largest = vector.reduce((best, entry) => (Math.abs(entry) > Math.abs(best) ? entry : best), 0);
    return { vector: vector.map((entry) => (largest < 0 ? -entry : entry)), value };
  });
}

/** Alignments at which rings may stand, the outermost first, and the angle that is shown at least. */
const RINGS = [-0.9, -0.5, 0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99];
const NARROWEST = Math.PI / 12;

/** References above which the picture has no names; the table has them. */
const NAMED = 24;

/** The sphere around the main predictor. */
export function drawSphere(parent, { gram, names, taking, weights, place, path, main }) {
  const half = 220, references = names.length;
  const angles = names.map((_, k) => angle(gram[0][k + 1]));
  const widest = Math.max(NARROWEST, ...angles) * 1.18;
  const unit = (half - 8) / widest;
  const at = ({ x, y }) => ({ x: half + unit * x, y: half - unit * y });
  const picture = draw("svg", { viewBox: `0 0 ${2 * half} ${2 * half}`, role: "img" });
  const near = names.map((name, k) => `${name} ${gram[0][k + 1].toFixed(2)}`).join(", ");
  picture.append(draw("title", {}, `Alignment with ${main}: ${near}`));
  picture.append(draw("circle", { cx: half, cy: half, r: unit * widest, class: "disc" }));
  let outer = Infinity;
  for (const cosine of RINGS) {
    const radius = unit * angle(cosine);
    if (radius > half - 14 || radius > outer - 26 || radius < 24) continue;
    outer = radius;
    picture.append(draw("circle", { cx: half, cy: half, r: radius, class: "ring" }));
    picture.append(draw("text", { x: half, y: half + radius - 4, class: "tick", "text-anchor": "middle" }, String(cosine)));
  }
  const points = [];
  for (let k = 0; k < references; k++) {
    const row = names.map((_, j) => gram[k + 1][j + 1]);
    points.push({ k, ...at(place(gram[0][k + 1], row)) });
  }
  const trail = path.map((a) => {
    const alignments = gram.map((row) => row.reduce((sum, value, k) => sum + value * a[k], 0));
    return at(place(bilinear(a, gram, [1, ...new Array(a.length - 1).fill(0)]), alignments.slice(1, 1 + references)));
  });
  for (const { k, x, y } of points) {
    const off = taking[k] ? "" : " off";
    const radius = taking[k] ? 5 + 13 * Math.sqrt(weights[k]) : 6;
    picture.append(draw("circle", { cx: x, cy: y, r: radius, class: `dot${off}` }));
  }
  picture.append(draw("circle", { cx: half, cy: half, r: 5, class: "centre" }));
  picture.append(draw("text", { x: half - 9, y: half + 4, class: "name", "text-anchor": "end" }, main));
  picture.append(draw("polyline", { points: trail.map(({ x, y }) => `${x},${y}`).join(" "), class: "path" }));
  const end = trail[trail.length - 1];
  picture.append(draw("path", { d: star(end.x, end.y, 9), class: "refined" }));
  if (references <= NAMED) nameDots(picture, points, { names, taking, weights, side: 2 * half, end });
  parent.replaceChildren(picture);
}

/** Write names beside their dots: on the side where there is room, away from names and dots that it would cover. */
function nameDots(picture, points, { names, taking, weights, side, end }) {
  const reach = (k) => 4 + (taking[k] ? 5 + 13 * Math.sqrt(weights[k]) : 6);
  const taken = [{ x: side / 2, y: side / 2 }, end].map(({ x, y }) => ({ left: x - 10, right: x + 10, top: y - 10, bottom: y + 10 }));
  for (const { k, x, y } of points) taken.push({ k, left: x - reach(k), right: x + reach(k), top: y - reach(k), bottom: y + reach(k) });
  for (const { k, x, y } of points) {
    const width = 6.6 * names[k].length, far = reach(k);
    const places = [
      { x: x + far, y, left: x + far, anchor: "start" }, { x: x - far, y, left: x - far - width, anchor: "end" },
      { x, y: y - far - 6, left: x - width / 2, anchor: "middle" }, { x, y: y + far + 6, left: x - width / 2, anchor: "middle" },
    ].map((each) => ({ ...each, right: each.left + width, top: each.y - 7, bottom: each.y + 7 }));
    const inside = places.filter((each) => each.left > 0 && each.right < side);
    const free = inside.find((each) => taken.every((other) => other.k === k || each.left > other.right || each.right < other.left
      || each.top > other.bottom || each.bottom < other.top));
    const place = free ?? inside[0] ?? places[0];
    taken.push(place);
    picture.append(draw("text", {
      x: place.x, y: place.y + 4, "text-anchor": place.anchor, class: `name${taking[k] ? "" : " off"}`,
    }, names[k]));
  }
}

function star(x, y, radius) {
  const corners = Array.from({ length: 10 }, (_, k) => {
    const reach = k % 2 ? radius * 0.45 : radius, turn = (Math.PI * k) / 5 - Math.PI / 2;
    return `${(x + reach * Math.cos(turn)).toFixed(2)} ${(y + reach * Math.sin(turn)).toFixed(2)}`;
  });
  return `M${corners.join("L")}Z`;
}

const CIVIDIS = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102], [254, 232, 56]];

/** Colour of a share in [0, 1], and one of black and white to write on it. */
export function cividis(share) {
  const place = Math.min(1, Math.max(0, share)) * (CIVIDIS.length - 1), low = Math.min(Math.floor(place), CIVIDIS.length - 2);
  const mixed = CIVIDIS[low].map((value, k) => Math.round(value + (place - low) * (CIVIDIS[low + 1][k] - value)));
  const luminance = mixed.map((value) => (value / 255) ** 2.2).reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  return { background: `rgb(${mixed.join(" ")})`, ink: luminance > 0.2 ? "#000" : "#fff" };
}

/** Rows in a bucket above which the sort of the language is faster than insertion. */
const CROWDED = 24;

/**
 * Rank of every row, 1 for the largest; equal values share the better rank. Rows are thrown into buckets by value, several for
 * each row, and sorted within: about half the time of one sort of all.
 */
export function ranksOf(values) {
  const count = values.length, buckets = 4 * count, starts = new Uint32Array(buckets + 1), rows = new Uint32Array(count);
  let low = Infinity, high = -Infinity;
  for (let row = 0; row < count; row++) {
    if (values[row] < low) low = values[row];
    if (values[row] > high) high = values[row];
  }
  const scale = high > low ? (buckets - 1) / (high - low) : 0, bucketOf = (row) => Math.floor((high - values[row]) * scale);
  for (let row = 0; row < count; row++) starts[bucketOf(row) + 1] += 1;
  for (let bucket = 0; bucket < buckets; bucket++) starts[bucket + 1] += starts[bucket];
  const next = starts.slice();
  for (let row = 0; row < count; row++) rows[next[bucketOf(row)]++] = row;
  for (let bucket = 0; bucket < buckets; bucket++) {
    const first = starts[bucket], last = starts[bucket + 1];
    if (last - first > CROWDED) rows.subarray(first, last).sort((one, two) => values[two] - values[one]);
    else {
      for (let place = first + 1; place < last; place++) {
        const row = rows[place], value = values[row];
        let hole = place;
        for (; hole > first && values[rows[hole - 1]] < value; hole--) rows[hole] = rows[hole - 1];
        rows[hole] = row;
      }
    }
  }
  const ranks = new Uint32Array(count);
  for (let place = 0, rank = 1; place < count; place++) {
    if (place > 0 && values[rows[place]] !== values[rows[place - 1]]) rank = place + 1;
    ranks[rows[place]] = rank;
  }
  return ranks;
}

/** Every row at its rank before and after, as a density. */
export function drawRanking(canvas, before, after) {
  const ratio = globalThis.devicePixelRatio || 1, side = Math.max(120, Math.round(canvas.clientWidth * ratio));
  if (canvas.width !== side || canvas.height !== side) canvas.width = canvas.height = side;
  const context = canvas.getContext("2d"), style = getComputedStyle(canvas), count = before.length;
  const colour = (name) => style.getPropertyValue(name).trim();
  const bins = Math.max(24, Math.min(Math.floor(side / (2 * ratio)), Math.round(Math.sqrt(count) * 4)));
  const density = new Uint32Array(bins * bins), scale = bins / count;
  let fullest = 1;
  for (let row = 0; row < count; row++) {
    const place = Math.floor((after[row] - 0.5) * scale) * bins + Math.floor((before[row] - 0.5) * scale);
    density[place] += 1;
    if (density[place] > fullest) fullest = density[place];
  }
  // One pixel for each bin, then enlarged: many times faster than as many rectangles.
  const picture = new ImageData(bins, bins), [rose, fell] = ["--blue", "--orange"].map((name) => channels(context, colour(name)));
  for (let place = 0; place < density.length; place++) {
    if (density[place] === 0) continue;
    const hue = place % bins >= Math.floor(place / bins) ? rose : fell;
    const share = Math.log1p(density[place]) / Math.log1p(fullest);
    picture.data.set([...hue, 255 * (0.3 + 0.7 * share)], 4 * place);
  }
  const small = new OffscreenCanvas(bins, bins);
  small.getContext("2d").putImageData(picture, 0, 0);
  context.fillStyle = colour("--panel");
  context.fillRect(0, 0, side, side);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, side, side);
  context.strokeStyle = colour("--soft");
  context.lineWidth = ratio;
  context.setLineDash([4 * ratio, 4 * ratio]);
  context.beginPath();
  context.moveTo(0, 0);
  context.lineTo(side, side);
  context.stroke();
  context.setLineDash([]);
}

/** Red, green and blue of a colour, as the browser reads it. */
function channels(context, colour) {
  context.fillStyle = colour;
  return [1, 3, 5].map((place) => parseInt(context.fillStyle.slice(place, place + 2), 16));
}
