// The f-diffusion in coefficient space (eq. 5-10): the page's own solution of the problem of a few dimensions that the
// library solves in kernels/spectral.py and diffusion/prediction.py. Every iterate is Z a; rows of the table never appear.

/** Gram matrix Z'Z of columns of numbers. */
export function gramOf(columns) {
  const size = columns.length;
  const gram = Array.from({ length: size }, () => new Float64Array(size));
  for (let i = 0; i < size; i++) {
    for (let j = i; j < size; j++) {
      const left = columns[i], right = columns[j];
      let sum = 0;
      for (let row = 0; row < left.length; row++) sum += left[row] * right[row];
      gram[i][j] = gram[j][i] = sum;
    }
  }
  return gram;
}

/** v'M w. */
export function bilinear(v, matrix, w) {
  let sum = 0;
  for (let i = 0; i < v.length; i++) {
    if (v[i] === 0) continue;
    let inner = 0;
    for (let j = 0; j < w.length; j++) inner += matrix[i][j] * w[j];
    sum += v[i] * inner;
  }
  return sum;
}

/** Weight of a reference of this alignment (eq. 5). */
export function weightOf(alignment, scale) {
  return Math.exp(-(1 - alignment * alignment) / scale);
}

/** Leading eigenvector of a symmetric matrix, by Jacobi's rotations. */
export function leadingVector(matrix) {
  const size = matrix.length;
  const a = matrix.map((row) => Float64Array.from(row));
  const vectors = matrix.map((_, i) => Float64Array.from({ length: size }, (__, j) => (i === j ? 1 : 0)));
  let total = 0;
  for (const row of a) for (const value of row) total += value * value;
  for (let sweep = 0; sweep < 60; sweep++) {
    let off = 0;
    for (let p = 0; p < size; p++) for (let q = p + 1; q < size; q++) off += a[p][q] * a[p][q];
    if (off <= 1e-34 * total) break;
    for (let p = 0; p < size; p++) {
      for (let q = p + 1; q < size; q++) {
        if (a[p][q] === 0) continue;
        const theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const t = (theta >= 0 ? 1 : -1) / (Math.abs(theta) + Math.hypot(theta, 1));
        const c = 1 / Math.hypot(t, 1), s = t * c;
        for (let k = 0; k < size; k++) {
          const kp = a[k][p], kq = a[k][q];
          a[k][p] = c * kp - s * kq;
          a[k][q] = s * kp + c * kq;
        }
        for (let k = 0; k < size; k++) {
          const pk = a[p][k], qk = a[q][k];
          a[p][k] = c * pk - s * qk;
          a[q][k] = s * pk + c * qk;
          const vp = vectors[k][p], vq = vectors[k][q];
          vectors[k][p] = c * vp - s * vq;
          vectors[k][q] = s * vp + c * vq;
        }
      }
    }
  }
  let best = 0;
  for (let i = 1; i < size; i++) if (a[i][i] > a[best][best]) best = i;
  return vectors.map((row) => row[best]);
}

/** One step of the f-diffusion (eq. 7); gates are 0 for references that take no part. */
export function step(current, { gram, gates }, delta, scale) {
  const size = current.length;
  const unit = new Float64Array(size);
  // S = Z M with M = [a, diag(sqrt(delta w))]; columns of weight 0 are left out.
  const used = [], roots = [];
  for (let k = 1; k < size; k++) {
    if (gates[k - 1] === 0) continue;
    unit[k] = 1;
    const share = delta * weightOf(bilinear(current, gram, unit), scale);
    unit[k] = 0;
    used.push(k);
    roots.push(Math.sqrt(share));
  }
  const kept = used.length + 1;
  const small = Array.from({ length: kept }, () => new Float64Array(kept));
  small[0][0] = bilinear(current, gram, current);
  for (let i = 0; i < used.length; i++) {
    unit[used[i]] = 1;
    small[0][i + 1] = small[i + 1][0] = roots[i] * bilinear(current, gram, unit);
    unit[used[i]] = 0;
    for (let j = i; j < used.length; j++) {
      small[i + 1][j + 1] = small[j + 1][i + 1] = roots[i] * roots[j] * gram[used[i]][used[j]];
    }
  }
  const leading = leadingVector(small);
  const advanced = Float64Array.from(current, (value) => value * leading[0]);
  used.forEach((k, i) => { advanced[k] += roots[i] * leading[i + 1]; });
  // The sign is the one that agrees with what the round began with, which is the first column.
  let towards = 0;
  for (let i = 0; i < size; i++) towards += advanced[i] * gram[0][i];
  const factor = (towards < 0 ? -1 : 1) / Math.sqrt(bilinear(advanced, gram, advanced));
  return advanced.map((value) => value * factor);
}

/**
 * Run the f-diffusion in one cell. With `evaluate`, only steps that raise the score are taken; without, all.
 * Returns the coefficients from the start on, their scores, and whether it stopped before its last step.
 */
export function diffuse(space, delta, scale, steps, evaluate) {
  let current = new Float64Array(space.gram.length);
  current[0] = 1;
  const path = [current], scores = [evaluate ? evaluate(current) : NaN];
  for (let taken = 0; taken < steps; taken++) {
    const candidate = step(current, space, delta, scale);
    if (evaluate) {
      const height = evaluate(candidate);
      if (!(height > scores[scores.length - 1])) return { path, scores, stopped: true };
      scores.push(height);
    }
    path.push(candidate);
    current = candidate;
  }
  return { path, scores, stopped: false };
}

/** Z a. */
export function combine(columns, coefficients, out) {
  out.fill(0);
  columns.forEach((column, k) => {
    const factor = coefficients[k];
    if (factor === 0) return;
    for (let row = 0; row < out.length; row++) out[row] += factor * column[row];
  });
  return out;
}
