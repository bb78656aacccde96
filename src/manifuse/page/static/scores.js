// What labels measure, as evidence/score.py does it: larger is better.

import { dot } from "./diffusion.js";
import { order } from "./order.js";

/** Grades of labels: whole numbers from 1, equal for equal labels. */
function gradesOf(labels) {
  const distinct = [...new Set(labels)].sort((a, b) => a - b);
  const grades = new Map(distinct.map((value, index) => [value, index + 1]));
  return { grades: Uint32Array.from(labels, (value) => grades.get(value)), count: distinct.length };
}

/** The share of pairs with different grades that are in order; a tie counts one half. */
class Graded {
  constructor(labels) {
    const { grades, count } = gradesOf(labels);
    this.grades = grades;
    const sizes = new Float64Array(count + 1);
    for (const grade of grades) sizes[grade] += 1;
    this.partners = Float64Array.from(grades, (grade) => grades.length - sizes[grade]);
    this.total = sum(this.partners);
    this.tree = new Float64Array(count + 1);
  }

  /** Walk along a sequence, and add to every row's count what `correct` finds among the rows before it. */
  countAlong(sequence, values, correct, counts) {
    const { grades } = this;
    this.tree.fill(0);
    for (let first = 0; first < sequence.length;) {
      let last = first + 1;
      while (last < sequence.length && values[sequence[last]] === values[sequence[first]]) last++;
      for (let i = first; i < last; i++) counts[sequence[i]] += correct(grades[sequence[i]], first);
      for (let i = first; i < last; i++) this.add(grades[sequence[i]]);
      if (last - first > 1) this.halve(sequence.subarray(first, last), counts);
      first = last;
    }
  }

  /** Rows of equal values and different grades are half right with each other; each walk adds a quarter at both. */
  halve(rows, counts) {
    const sizes = new Map();
    for (const row of rows) sizes.set(this.grades[row], (sizes.get(this.grades[row]) ?? 0) + 1);
    for (const row of rows) counts[row] += (rows.length - sizes.get(this.grades[row])) / 4;
  }

  /** For every row, the rows of smaller values and lower grades. The sum counts every correct pair once. */
  countBelow(sequence, values) {
    const counts = new Float64Array(values.length);
    this.countAlong(sequence, values, (grade) => this.below(grade - 1), counts);
    return counts;
  }

  /** For every row, the rows that values order against it as the grades do; each pair counts at both of its rows. */
  concordance(values) {
    const sequence = order(values), counts = this.countBelow(sequence, values);
    this.countAlong(sequence.reverse(), values, (grade, seen) => seen - this.below(grade), counts);
    return counts;
  }

  /** Enter a grade into the tree of sums (Fenwick's). */
  add(grade) { for (let i = grade; i < this.tree.length; i += i & -i) this.tree[i] += 1; }

  /** How many of the grades entered are at most this one. */
  below(grade) {
    let entered = 0;
    for (let i = grade; i > 0; i -= i & -i) entered += this.tree[i];
    return entered;
  }

  evaluate(values) { return (2 * sum(this.countBelow(order(values), values))) / this.total; }

  gain(before, after) {
    const one = this.concordance(before), two = this.concordance(after);
    const difference = two.map((value, i) => value - one[i]);
    const value = sum(difference) / this.total;
    const deviations = difference.map((each, i) => each - value * this.partners[i]);
    return { value, error: (2 * Math.sqrt(dot(deviations, deviations))) / this.total };
  }
}

/** The share of given pairs that are in order; a tie counts one half. */
class Paired {
  constructor(better, worse, rows) {
    Object.assign(this, { better, worse, rows });
  }

  correct(values) {
    return Float64Array.from(this.better, (row, p) => (Math.sign(values[row] - values[this.worse[p]]) + 1) / 2);
  }

  evaluate(values) { return mean(this.correct(values)); }

  gain(before, after) {
    const one = this.correct(before), two = this.correct(after);
    const difference = two.map((each, p) => each - one[p]), value = mean(difference);
    const centred = difference.map((each) => each - value), deviations = new Float64Array(this.rows);
    centred.forEach((each, p) => {
      deviations[this.better[p]] += each;
      deviations[this.worse[p]] += each;
    });
    const squares = dot(deviations, deviations), own = dot(centred, centred);
    return { value, error: Math.sqrt(Math.max(squares - own, own)) / centred.length };
  }
}

/** The negative root mean squared error against known targets. */
class Squared {
  constructor(targets) {
    this.targets = targets;
  }

  squares(values) { return Float64Array.from(values, (value, i) => (value - this.targets[i]) ** 2); }

  evaluate(values) { return -Math.sqrt(mean(this.squares(values))); }

  gain(before, after) {
    const one = this.squares(before), two = this.squares(after);
    const [rootOne, rootTwo] = [one, two].map((squares) => Math.sqrt(mean(squares)));
    const influence = one.map((value, i) => value / (2 * (rootOne || 1)) - two[i] / (2 * (rootTwo || 1)));
    const centre = mean(influence), centred = influence.map((each) => each - centre);
    const variance = dot(centred, centred) / (centred.length - 1);
    return { value: rootOne - rootTwo, error: Math.sqrt(variance / centred.length) };
  }
}

function sum(values) { return values.reduce((total, value) => total + value, 0); }
function mean(values) { return sum(values) / values.length; }

/** With fewer labelled rows than this, no gain is certain. */
export const FEWEST_ROWS = 10;

/** The score of some labels, from what the server says about them under `name`; null where there are no such labels. */
export function scoreOf(facts, arrays, name) {
  const kind = facts[name];
  if (kind === "GradedRanking") return new Graded(arrays[`${name}_grades`]);
  if (kind === "SquaredError") return new Squared(arrays[`${name}_targets`]);
  if (kind === "PairedRanking") {
    return new Paired(arrays[`${name}_better`], arrays[`${name}_worse`], arrays[`${name}_rows`].length);
  }
  return null;
}
