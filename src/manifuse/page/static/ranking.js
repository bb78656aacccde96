// The picture of the ranking: numbers in, a drawing out. Colours come from the style sheet.

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
  const picture = new ImageData(bins, bins), [rose, fell, stayed] = ["--blue", "--orange", "--soft"].map((name) => channels(context, colour(name)));
  for (let bin = 0; bin < density.length; bin++) {
    if (density[bin] === 0) continue;
    const rise = (bin % bins) - Math.floor(bin / bins), hue = rise > 0 ? rose : rise < 0 ? fell : stayed;
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
