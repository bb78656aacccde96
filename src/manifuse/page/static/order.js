// The order of values, and their ranks.

/** Indices of values from the smallest value to the largest. */
export function order(values) {
  return Uint32Array.from(values, (_, index) => index).sort((a, b) => values[a] - values[b]);
}

/** Rank of every value, 1 for the largest; equal values share the better rank. */
export function ranksOf(values) {
  const ranks = new Uint32Array(values.length), descending = order(values).reverse();
  for (let i = 0, rank = 1; i < values.length; i++) {
    if (i > 0 && values[descending[i]] !== values[descending[i - 1]]) rank = i + 1;
    ranks[descending[i]] = rank;
  }
  return ranks;
}
