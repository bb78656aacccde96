// Pictures: numbers in, drawings out. Colours come from the style sheet; only the surface has the same colours, cividis, in
// light and dark.

import { dot, eigenpairs, product } from "./diffusion.js";

const SVG = "http://www.w3.org/2000/svg";

function draw(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function angle(cosine) { return Math.acos(Math.min(1, Math.max(-1, cosine))); }

/**
 * A map of the sphere around the main predictor, along the two leading axes of the references' tangent vectors there.
 * Returns a function that takes the alignments of a point with the main predictor and with every reference, and gives
 * the point's position on the map.
 */
export function chart(gram, count) {
  const references = Array.from({ length: count }, (_, k) => k + 1);
  // Inner products of tangent vectors u_k = (z_k - c_k z_0) / sin, of unit length.
  const sines = references.map((k) => Math.max(Math.sin(angle(gram[0][k])), 1e-12));
  const tangents = references.map((k, i) =>
    references.map((l, j) => (gram[k][l] - gram[0][k] * gram[0][l]) / (sines[i] * sines[j])));
  const axes = eigenpairs(tangents).slice(0, 2).map(({ value, vector }) => {
    // An eigenvector has two signs; the largest entry is positive here.
    const largest = vector.reduce((best, entry) => (Math.abs(entry) > Math.abs(best) ? entry : best), 0);
    const length = value > 1e-12 ? Math.sign(largest) * Math.sqrt(value) : Infinity;
    return vector.map((entry) => entry / length);
  });
  return (withMain, withReferences) => {
    const theta = angle(withMain);
    // Inner products of the point's tangent vector with those of the references. Only its direction matters, not its length.
    const inner = withReferences.map((value, k) => (value - withMain * gram[0][k + 1]) / sines[k]);
    const [x, y = 0] = product(axes, inner);
    const length = Math.hypot(x, y) || 1;
    return { x: (theta * x) / length, y: (theta * y) / length };
  };
}

/** Alignments that may get a ring, the outermost first, and the smallest angle that the map reaches to. */
const RINGS = [-0.9, -0.5, 0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99];
const NARROWEST = Math.PI / 12;

/** With more references than this the picture shows no names; the table shows them. */
const NAMED = 24;

/** Draw the sphere around the main predictor; `locate` is its `chart`. */
export function drawSphere(parent, { gram, names, taking, weights, locate, path, main }) {
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
    const radius = taking[k] ? 5 + 13 * Math.sqrt(weights[k]) : 6;
    points.push({ k, radius, off: taking[k] ? "" : " off", ...at(locate(gram[0][k + 1], row)) });
  }
  const trail = path.map((a) => {
    const alignments = product(gram, a);
    return at(locate(alignments[0], alignments.slice(1, 1 + references)));
  });
  for (const { radius, off, x, y } of points) {
    picture.append(draw("circle", { cx: x, cy: y, r: radius, class: `dot${off}` }));
  }
  picture.append(draw("circle", { cx: half, cy: half, r: 5, class: "centre" }));
  picture.append(draw("text", { x: half - 9, y: half + 4, class: "name", "text-anchor": "end" }, main));
  picture.append(draw("polyline", { points: trail.map(({ x, y }) => `${x},${y}`).join(" "), class: "path" }));
  const end = trail[trail.length - 1];
  picture.append(draw("path", { d: star(end.x, end.y, 9), class: "refined" }));
  if (references <= NAMED) nameDots(picture, points, { names, side: 2 * half, end });
  parent.replaceChildren(picture);
}

/** Write each name beside its dot: inside the picture, and where it covers no other name or dot if there is room. */
function nameDots(picture, points, { names, side, end }) {
  const around = (x, y, reach) => ({ left: x - reach, right: x + reach, top: y - reach, bottom: y + reach });
  const taken = [around(side / 2, side / 2, 10), around(end.x, end.y, 10)];
  for (const { k, x, y, radius } of points) taken.push({ k, ...around(x, y, radius + 4) });
  for (const { k, x, y, radius, off } of points) {
    const width = 6.6 * names[k].length, far = radius + 4;
    const positions = [
      { x: x + far, y, left: x + far, anchor: "start" }, { x: x - far, y, left: x - far - width, anchor: "end" },
      { x, y: y - far - 6, left: x - width / 2, anchor: "middle" }, { x, y: y + far + 6, left: x - width / 2, anchor: "middle" },
    ].map((each) => ({ ...each, right: each.left + width, top: each.y - 7, bottom: each.y + 7 }));
    const inside = positions.filter((each) => each.left > 0 && each.right < side);
    const free = inside.find((each) => taken.every((other) => other.k === k || each.left > other.right || each.right < other.left
      || each.top > other.bottom || each.bottom < other.top));
    const chosen = free ?? inside[0] ?? positions[0];
    taken.push(chosen);
    picture.append(draw("text", {
      x: chosen.x, y: chosen.y + 4, "text-anchor": chosen.anchor, class: `name${off}`,
    }, names[k]));
  }
}

function star(x, y, radius) {
  const corners = Array.from({ length: 10 }, (_, k) => {
    const reach = k % 2 ? radius * 0.45 : radius, direction = (Math.PI * k) / 5 - Math.PI / 2;
    return `${(x + reach * Math.cos(direction)).toFixed(2)} ${(y + reach * Math.sin(direction)).toFixed(2)}`;
  });
  return `M${corners.join("L")}Z`;
}

const CIVIDIS = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102], [254, 232, 56]];

/** The colour of a share in [0, 1], and black or white to write on it. */
export function cividis(share) {
  const position = share * (CIVIDIS.length - 1), low = Math.min(Math.floor(position), CIVIDIS.length - 2);
  const mixed = CIVIDIS[low].map((value, k) => Math.round(value + (position - low) * (CIVIDIS[low + 1][k] - value)));
  const luminance = dot(mixed.map((value) => (value / 255) ** 2.2), [0.2126, 0.7152, 0.0722]);
  return { background: `rgb(${mixed.join(" ")})`, ink: luminance > 0.2 ? "#000" : "#fff" };
}

/** Draw how many rows lie at each rank before and after. */
export function drawRanking(canvas, before, after) {
  const ratio = globalThis.devicePixelRatio || 1, side = Math.max(120, Math.round(canvas.clientWidth * ratio));
  if (canvas.width !== side || canvas.height !== side) canvas.width = canvas.height = side;
  const context = canvas.getContext("2d"), style = getComputedStyle(canvas), count = before.length;
  const colour = (name) => style.getPropertyValue(name).trim();
  const bins = Math.max(24, Math.min(Math.floor(side / (2 * ratio)), Math.round(Math.sqrt(count) * 4)));
  const density = new Uint32Array(bins * bins), scale = bins / count;
  let fullest = 1;
  for (let row = 0; row < count; row++) {
    const bin = Math.floor((after[row] - 0.5) * scale) * bins + Math.floor((before[row] - 0.5) * scale);
    density[bin] += 1;
    if (density[bin] > fullest) fullest = density[bin];
  }
  // One pixel for each bin, enlarged afterwards. That is many times faster than a rectangle for each bin.
  const picture = new ImageData(bins, bins), [rose, fell] = ["--blue", "--orange"].map((name) => channels(context, colour(name)));
  for (let bin = 0; bin < density.length; bin++) {
    if (density[bin] === 0) continue;
    const hue = bin % bins >= Math.floor(bin / bins) ? rose : fell;
    const share = Math.log1p(density[bin]) / Math.log1p(fullest);
    picture.data.set([...hue, 255 * (0.3 + 0.7 * share)], 4 * bin);
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

/** Red, green and blue of a colour of the style sheet. */
function channels(context, colour) {
  context.fillStyle = colour;
  return [1, 3, 5].map((first) => parseInt(context.fillStyle.slice(first, first + 2), 16));
}
