// The page: what is set, what follows from it, and where that is shown. The browser computes everything but the bridges.

import { combine, diffuse, gramOf, product, weightOf } from "./diffusion.js";
import { brief, count, element, header, measured, signed } from "./elements.js";
import { ranksOf } from "./order.js";
import { chart, drawRanking, drawSphere } from "./pictures.js";
import { FEWEST_ROWS, scoreOf } from "./scores.js";
import { ask, fetchArrays, fetchFacts, follow, post } from "./server.js";
import { drawSurface, moveRing } from "./surface.js";

/** Ids that are shown if what was searched for is only the beginning of some. */
const SHOWN_IDS = 3;

const $ = (id) => document.getElementById(id);

/** What is said of keeping before anything is kept. */
const nothingKept = [...$("kept").childNodes];

/** Sliders in logarithmic steps, their smallest value, and the number of steps for a factor of ten. */
const SLIDERS = ["delta", "scale"], SMALLEST = 0.01, DECADE = 30;

/** Milliseconds of each frame that the filling of the surface may take. */
const SLICE = 12;

/** Rows of the lists. */
const LISTED = 8;

let problem = null; // what does not change
let space = null; // what came with the bridges: columns, Gram matrix, references
let result = null; // what refine gave
let opened = null; // the bridges with which the page opened
const set = { view: "result", delta: 1, scale: 0.3, steps: 20, active: [] }; // what the controls are set to
let shown = null; // what follows from it
let job = null; // what the server is doing

// --- what the server is doing ---

function showWork(report = job) {
  job = report;
  const running = job !== null && job.state === "running";
  $("working").hidden = !running;
  for (const id of ["build", "check", "whole", "export"]) $(id).disabled = running || (id !== "build" && space === null);
  $("cancel").disabled = !running;
  if (running) {
    $("stage").textContent = job.seconds < 2 ? `${job.stage} …` : `${job.stage} … ${job.seconds.toFixed(0)} s`;
  }
  $("notes").hidden = job === null || job.notes.length === 0;
  $("notes").replaceChildren(...(job?.notes ?? []).map((note) => element("li", note)));
}

function showError(error) {
  $("error").hidden = error === null;
  $("error").textContent = error === null ? "" : error.message;
}

// --- the problem and its bridges ---

async function load() {
  const { facts, arrays } = await fetchArrays("api/problem");
  problem = {
    ...facts, ...arrays,
    score: scoreOf(facts, arrays, "labels"),
    judge: scoreOf(facts, arrays, "held_back"),
    refined: new Float64Array(facts.rows),
  };
  problem.before = ranksOf(problem.scores);
  document.title = `${facts.title} · manifuse explore`;
  $("title").textContent = facts.title;
  const known = facts.labels === null ? "no labels" : `${count(problem.labels_rows.length)} labelled`;
  const others = facts.references.length === 1 ? "1 reference" : `${facts.references.length} references`;
  $("subtitle").textContent = `${count(facts.rows)} rows, ${known}; ${others}`;
  $("steps").max = facts.most_steps;
  $("best").hidden = facts.labels === null;
  $("steps-note").textContent = "Each step brings the scores nearer to the references over these bridges."
    + (facts.labels === null ? "" : " The steps end when the score on the labels stops rising.");
  await awaitBridges(await fetchFacts("api/jobs/latest"));
}

/** Let the library refine as its user would, with the references that are switched on, and show a view. */
async function showResult(view = "result") {
  const asked = asRefined(), done = await follow(await (await post("api/result", asked)).json(), showWork);
  if (done === null) return;
  const all = asked.ignored === null ? null : result?.all ?? null;
  result = { ...done.facts, ...done.arrays, after: ranksOf(done.arrays.predictions), ignored: asked.ignored };
  result.all = all ?? result;
  show(view);
}

/** What a request for the result of refine says: null where the switches are as refine sets them. */
function asRefined() {
  const unchanged = set.active.every((active, k) => active === space.references[k].active);
  return { bridges: space.job, ignored: unchanged ? null : problem.references.filter((_, k) => !set.active[k]) };
}

/** Show the result of refine, or one round of the diffusion. */
function show(view) {
  set.view = view;
  $(`view-${view}`).checked = true;
  document.body.classList.toggle("as-refined", view === "result");
  $("view-note").textContent = view === "result"
    ? "Labels teach, references are asked, and the diffusion runs to its end."
    : "Labels only choose the step, and teach nothing; so these scores are not those of refine.";
  renewSurface();
}

/** Wait for bridges and show what follows from them. */
async function awaitBridges(report, afresh = space === null) {
  const built = await follow(report, showWork);
  if (built !== null) {
    useBridges(report.job, built.facts, built.arrays.columns);
    if (afresh) startAgain();
    makeReferences();
    if (set.view === "diffusion") renewSurface();
    await showResult(afresh ? "result" : set.view);
    $("results").setAttribute("aria-busy", "false");
  } else if (space === null) $("sentence").textContent = "The computation was cancelled. Build bridges to see the picture.";
}

function useBridges(name, facts, sent) {
  // An anchored method has the main predictor among the references, too, after all others.
  const columns = facts.anchored ? [...sent, sent[0]] : [...sent];
  space = { ...facts, job: name, columns, gram: gramOf(columns), count: facts.references.length };
  space.locate = chart(space.gram, space.count);
  space.labelled = problem.score === null ? null : columns.map((column) => pick(column, problem.labels_rows));
  opened ??= facts.bridges;
  const { neighbours, score_scale: scale, step } = facts.bridges;
  $("neighbours").value = neighbours;
  $("unweighed").checked = scale === null;
  if (scale !== null) $("score-scale").value = scale;
  $("score-scale").disabled = scale === null;
  $("bridge-step").value = step;
  showWork();
}

/** Set what the page opens with, over the bridges that are there. */
function startAgain() {
  set.active = space.references.map((reference) => reference.active);
  set.steps = problem.labels === null ? 1 : problem.most_steps;
  chooseCell();
}

// --- what follows from what is set ---

/** The space with the columns that the switches leave active; smoothed and main columns always are. */
function activeSpace() {
  const active = space.columns.map((_, k) => k).filter((k) => k > space.count || (k > 0 && set.active[k - 1]));
  return { gram: space.gram, active };
}

/** Write Z a into `out`, in units of the main predictor. */
function predict(columns, coefficients, out) {
  combine(columns, coefficients, out);
  for (let row = 0; row < out.length; row++) out[row] = space.offset + space.scale * out[row];
}

/** A function that gives the score of Z a on the labels, null without labels. */
function evaluator() {
  if (problem.score === null) return null;
  const values = new Float64Array(problem.labels_rows.length);
  return (coefficients) => {
    predict(space.labelled, coefficients, values);
    return problem.score.evaluate(values);
  };
}

/** Go to the cell that the labels choose, as the library's method does. */
function chooseCell() {
  const { step_sizes: deltas, weight_scales: scales } = space.cells, inside = activeSpace(), evaluate = evaluator();
  let best = -Infinity;
  [set.delta, set.scale] = [deltas[0], scales[0]];
  if (evaluate === null) return;
  for (const delta of deltas) {
    for (const scale of scales) {
      const { scores } = diffuse(inside, delta, scale, set.steps, evaluate);
      if (scores[scores.length - 1] > best) [best, set.delta, set.scale] = [scores[scores.length - 1], delta, scale];
    }
  }
}

/** What follows from the result of refine. */
function asGiven() {
  const { predictions, after, weights, metric, accuracy, gain } = result;
  return {
    any: true, alignments: metric[1].filter((_, k) => k !== 1), weights, refined: predictions, after,
    labels: gain === null ? null : { ...accuracy, gain, rows: gain.rows },
    heldBack: measure(problem.judge, problem.held_back_rows, predictions),
  };
}

function compute() {
  if (set.view === "result") return asGiven();
  const any = set.active.some(Boolean), refined = problem.refined;
  const run = diffuse(activeSpace(), set.delta, set.scale, any ? set.steps : 0, evaluator());
  const last = run.path[run.path.length - 1];
  // Where no reference takes part, the library returns the scores as they came.
  if (any) predict(space.columns, last, refined);
  else refined.set(problem.scores);
  const alignments = product(space.gram, last);
  const weights = set.active.map((active, k) =>
    (active && run.path.length > 1 ? weightOf(alignments[k + 1], set.scale) : 0));
  return {
    run, any, alignments, weights, refined,
    after: ranksOf(refined),
    labels: measure(problem.score, problem.labels_rows),
    heldBack: measure(problem.judge, problem.held_back_rows),
  };
}

function measure(score, rows, refined = problem.refined) {
  if (score === null) return null;
  const before = pick(problem.scores, rows), after = pick(refined, rows);
  return {
    before: Math.abs(score.evaluate(before)), after: Math.abs(score.evaluate(after)), gain: score.gain(before, after),
    rows: rows.length,
  };
}

function pick(values, rows) { return Float64Array.from(rows, (row) => values[row]); }

// --- showing it ---

let scheduled = false;

/** Render once in the next frame, however often it is scheduled until then. */
function schedule() {
  if (scheduled || space === null || result === null) return;
  scheduled = true;
  requestAnimationFrame(() => { scheduled = false; render(); });
}

/** Steps or switches have changed, so the surface has to: it is filled again once the rest of the picture is shown. */
function renewSurface() {
  if (space === null) return;
  space.surface = { heights: [], whole: false };
  schedule();
}

function render() {
  shown = compute();
  forgetKept();
  globalThis.explored = { problem, space, set, shown, job, result, opened }; // the numbers behind the picture, for the browser's console
  showControls();
  showOutcome();
  showReferences();
  showMatrix();
  drawRanking($("ranking"), problem.before, shown.after);
  showLists();
  showRow();
  if (set.view === "result") return;
  showRing();
  drawSphere($("sphere"), {
    gram: space.gram, names: problem.references, active: set.active, weights: shown.weights, locate: space.locate,
    path: shown.any ? shown.run.path : shown.run.path.slice(0, 1), main: problem.main,
  });
  if (space.surface.heights.length === 0) fillSurface();
}

function showControls() {
  for (const id of SLIDERS) {
    $(id).value = Math.round(DECADE * Math.log10(set[id] / SMALLEST));
    $(id).setAttribute("aria-valuetext", brief(set[id]));
    $(`${id}-value`).textContent = brief(set[id]);
  }
  $("steps").value = set.steps;
  $("steps-value").textContent = set.steps;
}

function showOutcome() {
  const { labels, heldBack, run, any, alignments } = shown, tiles = [];
  const name = problem.measure, pair = (title, { before, after, rows }) =>
    tiles.push(tile(measured(name, before), measured(name, after), `${name} ${title} (${count(rows)})`));
  if (labels !== null) {
    pair(set.view === "result" ? "on the labels, each row judged without its own label" : "on the labels", labels);
    const { value, error } = labels.gain;
    const [unit, digits, caption] = problem.task === "ranking"
      ? [100, 1, "gain and its standard error, in points"] : [1, 3, "gain in rmse, and its standard error"];
    tiles.push(tile(null, `${signed(unit * value, digits)} ± ${(unit * error).toFixed(digits)}`, caption));
  }
  if (heldBack !== null) pair("on rows held back", heldBack);
  tiles.push(tile(null, (any ? alignments[0] : 1).toFixed(3), "alignment with the initial scores"));
  if (set.view !== "result") tiles.push(tile(null, `${run.path.length - 1} of ${set.steps}`, "diffusion steps taken"));
  $("tiles").replaceChildren(...tiles);
  $("sentence").textContent = verdict();
  const remarks = set.view === "result" ? result.remarks : [];
  $("remarks").hidden = remarks.length === 0;
  $("remarks").replaceChildren(...remarks.map((remark) => element("li", remark)));
  const best = labels ?? heldBack;
  $("brief").textContent = best === null ? ""
    : `${name} ${measured(name, best.before)} → ${measured(name, best.after)}`;
}

/** What the result says of itself and, with some references switched off, of what is lost without them. */
function verdictOfResult() {
  const { reason, ignored, all } = result, lost = [], name = problem.measure;
  const compare = (here, there, title) => {
    if (here === null) return;
    lost.push(`${name} ${title} ${measured(name, here)}, and ${measured(name, there)} when the page was opened`);
  };
  if (ignored !== null && all !== result) {
    if (result.accuracy !== null) compare(result.accuracy.after, all.accuracy.after, "on the labels");
    compare(result.held_back, all.held_back, "on rows held back");
  }
  const without = ignored === null || ignored.length === 0 ? "" : `Without ${ignored.join(", ")}: `;
  return `${without}${reason}${lost.length === 0 ? "" : ` (${lost.join("; ")})`}`;
}

function verdict() {
  if (set.view === "result") return verdictOfResult();
  const { labels, run, any } = shown;
  if (!any) return "No reference takes part, so the scores stay as they came.";
  if (labels === null) return "Without labels this page cannot tell whether the scores are better. Look at the alignments and at the pairs in the table.";
  const ending = run.stopped ? "The score on the labels stopped rising. " : "";
  if (labels.rows < FEWEST_ROWS) return `${ending}With fewer than ${FEWEST_ROWS} labelled rows no gain is certain.`;
  return labels.gain.value > labels.gain.error
    ? `${ending}The gain exceeds its standard error, so the safeguard would take the refined scores.`
    : `${ending}The gain does not exceed its standard error, so the safeguard would keep the scores as they came.`;
}

function tile(before, after, caption) {
  const box = element("div", "", "tile"), number = element("b");
  if (before !== null) number.append(element("span", `${before} → `, "from"));
  number.append(after);
  box.append(number, element("small", caption));
  return box;
}

function makeReferences() {
  const rows = space.references.map((reference, k) => {
    const row = element("tr"), head = element("th"), label = element("label"), box = element("input");
    head.scope = "row";
    Object.assign(box, { type: "checkbox", checked: set.active[k], disabled: reference.idle });
    box.setAttribute("role", "switch");
    box.addEventListener("change", () => {
      set.active[k] = box.checked;
      if (set.view !== "result") renewSurface();
      else {
        showError(null);
        showResult().catch(showError);
      }
    });
    label.append(box, reference.name);
    head.append(label);
    row.append(head, ...Array.from({ length: 8 }, () => element("td")));
    const cells = [...row.querySelectorAll("td")].slice(1);
    cells[0].append("", element("span", "", "meter"));
    cells[0].lastChild.append(element("i"));
    cells[2].textContent = reference.alignment.toFixed(2);
    cells[3].textContent = reference.chance.toFixed(2);
    cells[4].textContent = reference.fidelity.toFixed(2);
    cells[5].textContent = count(reference.pairs);
    cells[6].textContent = `${(100 * reference.reached).toFixed(0)} %`;
    cells[2].className = Math.abs(reference.alignment) <= reference.chance ? "low" : "";
    cells[4].className = reference.fidelity <= reference.chance ? "low" : "";
    return row;
  });
  $("references").tBodies[0].replaceChildren(...rows);
}

function showReferences() {
  [...$("references").tBodies[0].rows].forEach((row, k) => {
    const [worth, ...cells] = row.querySelectorAll("td");
    worth.textContent = (set.view === "result" && result.ignored === null ? result.worths[k] : null) ?? "–";
    row.className = set.active[k] ? "" : "off";
    row.querySelector("input").checked = set.active[k];
    cells[0].firstChild.textContent = shown.weights[k].toFixed(3);
    cells[0].querySelector("i").style.width = `${100 * shown.weights[k]}%`;
    cells[1].textContent = shown.alignments[k + 1].toFixed(3);
  });
}

/** A score as it came. The page computes with the log-odds of probabilities, which were drawn to 1/2 by a margin. */
function asItCame(score) {
  if (problem.margin === null) return score;
  return Math.min(1, Math.max(0, 0.5 + (1 / (1 + Math.exp(-score)) - 0.5) / (1 - problem.margin)));
}

/** Say of the row that was searched for where it was and is, and how sure that is. */
function showRow() {
  const asked = $("find").value.trim();
  const row = problem.ids.indexOf(asked);
  if (row < 0) {
    const alike = asked === "" ? [] : problem.ids.filter((id) => id.startsWith(asked));
    const first = alike.slice(0, SHOWN_IDS).join(", "), more = alike.length > SHOWN_IDS ? " and more" : "";
    const begin = alike.length === 0 ? "." : `. ${count(alike.length)} begin${alike.length === 1 ? "s" : ""} with it: ${first}${more}.`;
    $("found").textContent = asked === "" ? `For example ${problem.ids[0]}.` : `No row has this id${begin}`;
    return;
  }
  const said = [`${problem.ids[row]}: rank ${count(problem.before[row])} before, ${count(shown.after[row])} after`,
    `score ${brief(asItCame(problem.scores[row]))} before, ${brief(asItCame(shown.refined[row]))} after`];
  if (set.view === "result") {
    said.push(`support ${result.support[row].toFixed(2)} (${result.meaning_of_support})`);
    if (result.errors !== undefined) said.push(`standard error ${brief(result.errors[row])}`);
  }
  $("found").textContent = `${said.join("; ")}.`;
  explainRow(row, $("found").textContent);
}

/** Say why a row moved: where the rows most like it are, and where the references put the nearest common rows. */
async function explainRow(row, start) {
  const after = shown.after, of = problem.ids.length;
  const place = (ranks) => (each) => 100 * (of - ranks[each]) / Math.max(of - 1, 1);
  const mean = (values) => (values.reduce((sum, value) => sum + value, 0) / values.length).toFixed(0);
  const said = [start], before = place(problem.before);
  let near = [], pairs = [];
  try {
    ({ near, pairs } = await fetchFacts(`api/rows/${row}`));
  } catch (error) {
    said.push(`What is near it could not be found out. ${error.message}`);
  }
  if (set.view === "result" && Number.isFinite(result.learned?.[row])) {
    const diffused = result.diffused ? ", after the diffusion" : "";
    said.push(`Its own score is at ${before(row).toFixed(0)} of 100 (0 is the lowest); ${result.teacher} puts it at ` +
      `${result.learned[row].toFixed(0)}, and${diffused} it is at ${place(after)(row).toFixed(0)}.`);
  }
  if (near.length > 0) {
    said.push(`The ${near.length} rows most like it are at ${mean(near.map(before))} of 100 on average before, and at ` +
      `${mean(near.map(place(after)))} after.`);
  }
  const used = set.view === "result" ? result.used : shown.weights.map((weight) => weight > 0);
  pairs.forEach(({ rows, theirs, own }, k) => {
    if (!used[k]) return;
    if (own !== null) said.push(`${problem.references[k]} knows this row itself, and puts it at ${own.toFixed(0)}.`);
    if (rows.length > 0) {
      const [nearest, them] = rows.length === 1 ? ["row", "it"] : [`${rows.length} rows`, "them"];
      said.push(`${problem.references[k]} puts the nearest ${nearest} that both know at ${mean(theirs)}, ` +
        `where your scores put ${them} at ${mean(rows.map(before))}.`);
    }
  });
  // Another row may have been asked for in the meantime.
  if ($("found").textContent === start) $("found").textContent = said.join(" ");
}

function showMatrix() {
  const names = ["refined", problem.main, ...problem.references];
  if (names.length > 18) {
    $("matrix").replaceChildren(element("caption", "There are more predictors than fit into this table."));
    return;
  }
  const { alignments } = shown, gram = space.gram;
  // The metric of the result has the main predictor before the refined one.
  const placed = (i) => (i < 2 ? 1 - i : i);
  const value = (i, j) => {
    if (i === j) return 1;
    if (set.view === "result") return result.metric[placed(i)][placed(j)];
    if (i === 0 || j === 0) return alignments[Math.max(i, j) - 1];
    return gram[i - 1][j - 1];
  };
  const head = element("tr");
  head.append(element("td"), ...names.slice(0, -1).map((name) => header(name, "col")));
  const rows = names.slice(1).map((name, k) => {
    const i = k + 1, row = element("tr");
    row.append(header(name, "row"), ...names.slice(0, -1).map((_, j) => {
      if (j >= i) return element("td");
      const cell = element("td", value(i, j).toFixed(2).replace(/^-(0\.0+)$/, "$1")), share = Math.min(40, 40 * Math.abs(value(i, j)));
      cell.style.background = `color-mix(in srgb, var(--${value(i, j) < 0 ? "orange" : "blue"}) ${share}%, var(--panel))`;
      return cell;
    }));
    return row;
  });
  $("matrix").replaceChildren(head, ...rows);
}

function showLists() {
  const { before } = problem, { after } = shown;
  const top = [], moved = [];
  const keep = (list, row, better) => {
    if (list.length === LISTED && !better(row, list[LISTED - 1])) return;
    let position = list.length;
    while (position > 0 && better(row, list[position - 1])) position--;
    list.splice(position, 0, row);
    if (list.length > LISTED) list.pop();
  };
  const higher = (one, two) => after[one] < after[two];
  const farther = (one, two) => Math.abs(after[one] - before[one]) > Math.abs(after[two] - before[two]);
  for (let row = 0; row < after.length; row++) {
    keep(top, row, higher);
    keep(moved, row, farther);
  }
  fillList($("top"), top);
  fillList($("moved"), moved);
}

function fillList(table, rows) {
  const head = element("tr");
  head.append(...["rank", "id", "was", "moved"].map((name) => header(name, "col")));
  table.replaceChildren(head, ...rows.map((row) => {
    const line = element("tr"), up = problem.before[row] - shown.after[row];
    const change = up === 0 ? "=" : `${up > 0 ? "▲" : "▼"} ${count(Math.abs(up))}`;
    line.append(element("td", count(shown.after[row])), element("td", problem.ids[row]), element("td", count(problem.before[row])),
      element("td", change, up > 0 ? "up" : up < 0 ? "down" : ""));
    return line;
  }));
}

// --- the surface: it is filled cell by cell, between frames ---

function fillSurface() {
  if (problem.score === null) {
    $("surface-note").textContent = "Without labels there is no accuracy to show. Give labels with --labels.";
    return;
  }
  const { step_sizes: deltas, weight_scales: scales } = problem, inside = activeSpace(), evaluate = evaluator();
  const heights = new Float64Array(deltas.length * scales.length).fill(NaN), own = { heights, whole: false };
  space.surface = own;
  const steps = set.steps;
  let cell = 0;
  const fill = () => {
    if (space.surface !== own) return; // another surface took its place
    const until = performance.now() + SLICE;
    while (cell < heights.length && performance.now() < until) {
      const { scores } = diffuse(inside, deltas[Math.floor(cell / scales.length)], scales[cell % scales.length], steps, evaluate);
      heights[cell] = scores[scores.length - 1];
      cell += 1;
    }
    if (cell < heights.length) setTimeout(fill);
    else {
      own.whole = true;
      showSurface();
    }
  };
  setTimeout(fill);
}

function showSurface() {
  const { step_sizes: deltas, weight_scales: scales } = problem, name = problem.measure;
  const choose = (cell) => { Object.assign(set, cell); schedule(); };
  const range = drawSurface($("surface"), { deltas, scales, heights: space.surface.heights, name, choose });
  $("surface-note").textContent = `${name === "accuracy" ? "Accuracy, %," : "Root mean squared error"} on the labels after at most `
    + `${set.steps} steps; ${range}, light is better. The ring marks the values of the sliders; choose a cell to go there.`;
  showRing();
}

function showRing() {
  const { step_sizes: deltas, weight_scales: scales } = problem;
  moveRing($("surface"), { deltas, scales, delta: set.delta, scale: set.scale });
}

// --- what is set, exported and checked ---

function request() {
  const ignored = problem.references.filter((_, k) => !set.active[k]);
  return { bridges: space.job, step_size: set.delta, weight_scale: set.scale, steps: set.steps, ignored };
}

/** What was exported or checked is no longer what is shown. */
function forgetKept() {
  if ($("kept").firstChild === nothingKept[0]) return;
  $("command").hidden = true;
  $("kept").replaceChildren(...nothingKept);
  delete $("kept").dataset.difference;
}

async function exportShown() {
  const answer = await (set.view === "result" ? post("api/result/export", asRefined()) : post("api/export", request()));
  const link = element("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = /filename="(.*)"/.exec(answer.headers.get("content-disposition"))[1];
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href));
  $("command").hidden = false;
  $("command").textContent = answer.headers.get("x-manifuse-command").replaceAll(" && ", " &&\n");
  const where = link.download.endsWith(".toml") ? "Put it into the folder of your tables; there" : "There";
  $("kept").textContent = `${link.download} is in your downloads. ${where} this command repeats these scores:`;
}

/** Let the library compute what is set: all joint rounds if `whole`, else the one that the page shows. */
async function refine(whole) {
  const now = Float64Array.from(shown.refined);
  const done = await follow(await (await post(whole ? "api/refinement" : "api/check", request())).json(), showWork);
  if (done === null) {
    $("kept").textContent = "The computation was cancelled.";
    return;
  }
  const { facts, arrays } = done;
  let difference = 0;
  arrays.predictions.forEach((value, row) => { difference = Math.max(difference, Math.abs(value - now[row])); });
  const name = problem.measure, said = (value, title) => (value === null ? "" : `${name} ${measured(name, value)} ${title}`);
  const measures = [said(facts.accuracy === null ? null : facts.accuracy.after, "on the labels"), said(facts.held_back, "on rows held back")].filter(Boolean).join("; ");
  $("kept").textContent = whole
    ? `After ${facts.rounds} rounds with new bridges: ${measures || "no labels to measure by"}. ${facts.reason}`
    : `The scores of the library and of the page differ by at most ${difference.toExponential(0)}. ${measures}`;
  $("kept").dataset.difference = String(difference);
}

function wire() {
  for (const id of SLIDERS) {
    $(id).addEventListener("input", () => {
      set[id] = Number((SMALLEST * 10 ** (Number($(id).value) / DECADE)).toPrecision(3));
      if (set.view === "result") show("diffusion");
      schedule();
    });
  }
  $("steps").addEventListener("input", () => {
    set.steps = Number($("steps").value);
    renewSurface();
  });
  $("best").addEventListener("click", () => {
    if (space === null) return;
    chooseCell();
    schedule();
  });
  $("unweighed").addEventListener("change", () => { $("score-scale").disabled = $("unweighed").checked; });
  const attempt = (id, work) => $(id).addEventListener("click", async () => {
    showError(null);
    await work().catch(showError);
  });
  const build = async (bridges, afresh) => awaitBridges(await (await post("api/bridges", bridges)).json(), afresh);
  attempt("build", async () => {
    if (!$("controls").reportValidity()) return;
    await build({
      neighbours: Number($("neighbours").value), step: Number($("bridge-step").value),
      score_scale: $("unweighed").checked ? null : Number($("score-scale").value),
      candidate: space === null ? 0 : space.bridges.candidate,
    });
  });
  attempt("view-result", showResult);
  $("view-diffusion").addEventListener("change", () => { if (space !== null) show("diffusion"); });
  attempt("reset", async () => {
    if (space === null) return;
    if (JSON.stringify(space.bridges) !== JSON.stringify(opened)) return build(opened, true);
    startAgain();
    await showResult();
  });
  $("find").addEventListener("input", () => { if (shown !== null) showRow(); });
  attempt("cancel", async () => { if (job !== null) await ask(`api/jobs/${job.job}`, { method: "DELETE" }); });
  attempt("export", exportShown);
  attempt("check", () => refine(false));
  attempt("whole", () => refine(true));
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", schedule);
  new ResizeObserver(() => { if (shown !== null) drawRanking($("ranking"), problem.before, shown.after); }).observe($("ranking"));
}

wire();
load().catch(showError);
