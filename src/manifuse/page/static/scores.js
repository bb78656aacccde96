// What labels measure, as diffusion/score.py does it: larger is better.

/** Places of values from the smallest to the largest. */
function order(values) {
  return Uint32Array.from(values, (_, place) => place).sort((a, b) => values[a] - values[b]);
}

/** Ranks of graded labels, equal for equal ones, from 1. */
function ranks(labels) {
  const distinct = [...new Set(labels)].sort((a, b) => a - b);
  const places = new Map(distinct.map((value, place) => [value, place + 1]));
  return { grades: Uint32Array.from(labels, (value) => places.get(value)), count: distinct.length };
}

/** The share of pairs with different grades that are in order, ties one half. */
class Graded {
  constructor(labels) {
    const { grades, count } = ranks(labels);
    this.grades = grades;
    this.sizes = new Float64Array(count + 1);
    for (const grade of grades) this.sizes[grade] += 1;
    this.partners = Float64Array.from(grades, (grade) => grades.length - this.sizes[grade]);
    this.total = this.partners.reduce((sum, value) => sum + value, 0);
    this.tree = new Float64Array(count + 1);
    this.measures = ["accuracy"];
  }

  /** For every row, the rows that values order against it as the grades do; each pair counts at both of its rows. */
  concordance(values) {
    const { grades, tree } = this, places = order(values), counts = new Float64Array(grades.length);
    const passes = [
      [places, (grade) => this.below(grade - 1)],
      [places.slice().reverse(), (grade, seen) => seen - this.below(grade)],
    ];
    for (const [sequence, correct] of passes) {
      tree.fill(0);
      for (let first = 0, seen = 0; first < sequence.length;) {
        let last = first;
        while (last < sequence.length && values[sequence[last]] === values[sequence[first]]) last++;
        for (let place = first; place < last; place++) counts[sequence[place]] += correct(grades[sequence[place]], seen);
        for (let place = first; place < last; place++) this.add(grades[sequence[place]]);
        if (last - first > 1) this.halve(sequence.subarray(first, last), counts);
        seen += last - first;
        first = last;
      }
    }
    return counts;
  }

  /** Rows of equal values and different grades are half right with each other; each of two passes adds a quarter. */
  halve(rows, counts) {
    const sizes = new Map();
    for (const row of rows) sizes.set(this.grades[row], (sizes.get(this.grades[row]) ?? 0) + 1);
    for (const row of rows) counts[row] += (rows.length - sizes.get(this.grades[row])) / 4;
  }

  add(grade) { for (let i = grade; i < this.tree.length; i += i & -i) this.tree[i] += 1; }

  below(grade) {
    let sum = 0;
    for (let i = grade; i > 0; i -= i & -i) sum += this.tree[i];
    return sum;
  }

  evaluate(values) {
    const { grades, tree } = this, sequence = order(values);
    let correct = 0;
    tree.fill(0);
    for (let first = 0; first < sequence.length;) {
      let last = first + 1;
      while (last < sequence.length && values[sequence[last]] === values[sequence[first]]) last++;
      for (let place = first; place < last; place++) correct += this.below(grades[sequence[place]] - 1);
      if (last - first > 1) {
        const sizes = new Map();
        for (let place = first; place < last; place++) {
          const grade = grades[sequence[place]];
          sizes.set(grade, (sizes.get(grade) ?? 0) + 1);
        }
        for (const size of sizes.values()) correct += (size * (last - first - size)) / 4;
      }
      for (let place = first; place < last; place++) this.add(grades[sequence[place]]);
      first = last;
    }
    return (2 * correct) / this.total;
  }

  report(values) { return { accuracy: this.evaluate(values) }; }

  gain(before, after) {
    const one = this.concordance(before), two = this.concordance(after);
    let difference = 0;
    for (let i = 0; i < one.length; i++) difference += two[i] - one[i];
    const value = difference / this.total;
    let squares = 0;
    for (let i = 0; i < one.length; i++) squares += (two[i] - one[i] - value * this.partners[i]) ** 2;
    return { value, error: (2 * Math.sqrt(squares)) / this.total };
  }
}

/** The share of given pairs that are in order, ties one half. */
class Paired {
  constructor(better, worse, rows) {
    Object.assign(this, { better, worse, rows });
    this.measures = ["accuracy"];
  }

  correct(values) {
    return Float64Array.from(this.better, (row, p) => (Math.sign(values[row] - values[this.worse[p]]) + 1) / 2);
  }

  evaluate(values) { return this.correct(values).reduce((sum, value) => sum + value, 0) / this.better.length; }

  report(values) { return { accuracy: this.evaluate(values) }; }

  gain(before, after) {
    const one = this.correct(before), two = this.correct(after), count = one.length;
    const difference = two.map((value, p) => value - one[p]);
    const value = difference.reduce((sum, each) => sum + each, 0) / count;
    const deviations = new Float64Array(this.rows);
    let own = 0;
    difference.forEach((each, p) => {
      deviations[this.better[p]] += each - value;
      deviations[this.worse[p]] += each - value;
      own += (each - value) ** 2;
    });
    const squares = deviations.reduce((sum, each) => sum + each * each, 0);
    return { value, error: Math.sqrt(Math.max(squares - own, own)) / count };
  }
}

/** The negative root mean squared error against known targets. */
class Squared {
  constructor(targets) {
    this.targets = targets;
    this.measures = ["rmse", "mae"];
  }

  squares(values) { return Float64Array.from(values, (value, i) => (value - this.targets[i]) ** 2); }

  evaluate(values) { return -Math.sqrt(mean(this.squares(values))); }

  report(values) {
    const absolute = Float64Array.from(values, (value, i) => Math.abs(value - this.targets[i]));
    return { rmse: -this.evaluate(values), mae: mean(absolute) };
  }

  gain(before, after) {
    const one = this.squares(before), two = this.squares(after);
    const [rootOne, rootTwo] = [one, two].map((squares) => Math.sqrt(mean(squares)));
    const influence = one.map((value, i) => value / (2 * (rootOne || 1)) - two[i] / (2 * (rootTwo || 1)));
    const centre = mean(influence);
    const variance = influence.reduce((sum, each) => sum + (each - centre) ** 2, 0) / (influence.length - 1);
    return { value: rootOne - rootTwo, error: Math.sqrt(variance / influence.length) };
  }
}

function mean(values) { return values.reduce((sum, value) => sum + value, 0) / values.length; }

/** Labelled rows below which no gain is certain. */
export const FEWEST_ROWS = 10;

/** The score of a kind, from the arrays of its name; null where there are no such labels. */
export function scoreOf(kind, arrays, name) {
  if (kind === "graded") return new Graded(arrays[`${name}_values`]);
  if (kind === "squared") return new Squared(arrays[`${name}_values`]);
  if (kind === "paired") {
    return new Paired(arrays[`${name}_better`], arrays[`${name}_worse`], arrays[`${name}_rows`].length);
  }
  return null;
}
