// The f-diffusion in coefficient space (eq. 5-10): the page solves here the problem of a few dimensions that the library
// solves in kernels/spectral.py and diffusion/prediction.py. Every iterate is Z a, so that a step reads no row of the table.

/** Gram matrix Z'Z of columns of numbers. */
export function gramOf(columns) {
  const size = columns.length;
  const gram = Array.from({ length: size }, () => new Float64Array(size));
  for (let i = 0; i < size; i++) {
    for (let j = i; j < size; j++) {
      gram[i][j] = gram[j][i] = dot(columns[i], columns[j]);
    }
  }
  return gram;
}

export function dot(v, w) {
  let sum = 0;
  for (let i = 0; i < v.length; i++) sum += v[i] * w[i];
  return sum;
}

/** M v. */
export function product(matrix, v) { return matrix.map((row) => dot(row, v)); }

/** Weight of a reference of this alignment (eq. 5). */
export function weightOf(alignment, scale) {
  return Math.exp(-(1 - alignment * alignment) / scale);
}

/** Eigenvalues of a symmetric matrix and their vectors, the largest first, by Jacobi's rotations. */
export function eigenpairs(matrix) {
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
  const pairs = vectors.map((_, i) => ({ value: a[i][i], vector: vectors.map((row) => row[i]) }));
  return pairs.sort((one, two) => two.value - one.value);
}

/** One step of the f-diffusion (eq. 7) over the active columns, which are indices from 1 on. */
function step(current, { gram, active }, delta, scale) {
  const alignments = product(gram, current);
  // S = Z M with M = [a, diag(sqrt(delta w))] of the active columns; its Gram matrix is small.
  const roots = active.map((k) => Math.sqrt(delta * weightOf(alignments[k], scale)));
  const small = [
    [dot(current, alignments), ...active.map((k, i) => roots[i] * alignments[k])],
    ...active.map((k, i) => [roots[i] * alignments[k], ...active.map((l, j) => roots[i] * roots[j] * gram[k][l])]),
  ];
  const leading = eigenpairs(small)[0].vector;
  const advanced = Float64Array.from(current, (value) => value * leading[0]);
  active.forEach((k, i) => { advanced[k] += roots[i] * leading[i + 1]; });
  // The sign agrees with the prediction that the round began with, which is the first column.
  const sign = dot(advanced, gram[0]) < 0 ? -1 : 1;
  const factor = sign / Math.sqrt(dot(advanced, product(gram, advanced)));
  return advanced.map((value) => value * factor);
}

/**
 * Run the f-diffusion in one cell. With `evaluate`, it stops before the first step that does not raise the score.
 * Returns the coefficients from the start on, their scores, and whether it stopped early.
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

/** Write Z a into `out`. */
export function combine(columns, coefficients, out) {
  out.fill(0);
  columns.forEach((column, k) => {
    const factor = coefficients[k];
    if (factor === 0) return;
    for (let row = 0; row < out.length; row++) out[row] += factor * column[row];
  });
}
