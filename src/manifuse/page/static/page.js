// The page: what is set, what follows from it, and where that is shown. Everything but bridges is computed here.

import { unpack } from "./blocks.js";
import { combine, diffuse, gramOf, weightOf } from "./diffusion.js";
import { brief, count, element, header, measured, named, signed } from "./elements.js";
import { chart, drawRanking, drawSphere, ranksOf } from "./pictures.js";
import { FEWEST_ROWS, scoreOf } from "./scores.js";
import { ask, follow } from "./server.js";
import { drawSurface, placeRing } from "./surface.js";

const $ = (id) => document.getElementById(id);

/** Sliders in logarithmic steps: from, and steps to a factor of ten. */
const AXES = { delta: { from: 0.01, decade: 30 }, scale: { from: 0.01, decade: 30 } };

/** Milliseconds of a frame that the surface may take while it fills. */
const SLICE = 12;

/** Rows of the lists. */
const LISTED = 8;

let problem = null; // what does not change
let space = null; // what the bridges brought: columns, Gram matrix, references
const set = { delta: 1, scale: 0.3, steps: 20, taking: [] };
let shown = null; // what follows
let job = null; // what the server is doing

// --- what the server is doing ---

function showWork(report = job) {
  job = report;
  const running = job !== null && job.state === "running";
  $("working").hidden = !running;
  for (const id of ["build", "check", "whole", "export"]) $(id).disabled = running || (id !== "build" && space === null);
  $("cancel").disabled = !running;
  if (running) {
    const stage = `${job.stage} …`, seconds = `${job.seconds.toFixed(0)} s`;
    $("stage").textContent = job.seconds < 2 ? stage : `${stage} ${seconds}`;
  }
  $("notes").hidden = job === null || job.notes.length === 0;
  $("notes").replaceChildren(...(job?.notes ?? []).map((note) => element("li", note)));
}

function complain(error) {
  $("problem").hidden = error === null;
  $("problem").textContent = error === null ? "" : error.message;
}

// --- the problem and its bridges ---

async function load() {
  const { facts, arrays } = unpack(await (await ask("api/problem")).arrayBuffer());
  problem = {
    ...facts, ...arrays,
    score: scoreOf(facts.labels, arrays, "label"),
    judge: scoreOf(facts.held_back, arrays, "judge"),
    refined: new Float64Array(facts.rows),
  };
  problem.before = ranksOf(problem.scores);
  document.title = `${facts.title} · manifuse explore`;
  $("title").textContent = facts.title;
  const known = facts.labels === null ? "no labels" : `${count(problem.label_rows.length)} labelled`;
  const others = facts.references.length === 1 ? "1 reference" : `${facts.references.length} references`;
  $("subtitle").textContent = `${count(facts.rows)} rows, ${known}; ${others}`;
  $("steps").max = facts.most_steps;
  $("best").hidden = facts.labels === null;
  set.steps = facts.labels === null ? 1 : facts.most_steps;
  $("steps-note").textContent = facts.labels === null
    ? "Steps of eq. 7 in one joint round, over these bridges."
    : "Steps of eq. 7 in one joint round, over these bridges; ends where the labels' score stops rising.";
  await take(await (await ask("api/jobs/latest")).json());
}

/** Wait for bridges and show what they bring. */
async function take(report) {
  complain(null);
  try {
    const built = await follow(report, showWork);
    if (built === null) {
      if (space === null) $("sentence").textContent = "Cancelled. Build bridges to see anything.";
      return;
    }
    useBridges(report.job, built.facts, built.arrays.columns);
  } catch (error) {
    complain(error);
  }
}

function useBridges(name, facts, sent) {
  const first = space === null;
  // An anchored method has the main predictor among the references too, after all others.
  const columns = facts.anchored ? [...sent, sent[0]] : [...sent];
  space = { ...facts, job: name, columns, gram: gramOf(columns), count: facts.references.length };
  space.place = chart(space.gram, space.count);
  space.labelled = problem.score === null ? null : columns.map((column) => pick(column, problem.label_rows));
  space.towards = Float64Array.from(columns, (_, k) => (k === 0 ? 1 : 0));
  if (first) set.taking = facts.references.map((reference) => reference.taken);
  const { neighbours, score_scale: scale, step } = facts.bridges;
  $("neighbours").value = neighbours;
  $("unweighed").checked = scale === null;
  if (scale !== null) $("score-scale").value = scale;
  $("score-scale").disabled = scale === null;
  $("bridge-step").value = step;
  makeReferences();
  if (first) chooseCell();
  $("results").setAttribute("aria-busy", "false");
  showWork();
  outdate();
  render();
}

// --- what follows from what is set ---

/** The space with the gates as the switches stand; smoothed and main columns always take part. */
function gated() {
  const gates = space.columns.slice(1).map((_, k) => (k < space.count && !set.taking[k] ? 0 : 1));
  return { gram: space.gram, gates };
}

/** Scores of Z a on the labels, in units of the main predictor. */
function evaluator() {
  if (problem.score === null) return null;
  const values = new Float64Array(problem.label_rows.length);
  return (coefficients) => {
    combine(space.labelled, coefficients, values);
    for (let row = 0; row < values.length; row++) values[row] = space.offset + space.scale * values[row];
    return problem.score.evaluate(values);
  };
}

/** The cell that the labels choose, as the library's method would. */
function chooseCell() {
  const { step_sizes: deltas, weight_scales: scales } = space.cells, inside = gated(), evaluate = evaluator();
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

function compute() {
  const inside = gated(), any = set.taking.some(Boolean);
  const run = diffuse(inside, set.delta, set.scale, any ? set.steps : 0, evaluator());
  const last = run.path[run.path.length - 1], refined = problem.refined;
  if (any) {
    combine(space.columns, last, refined);
    for (let row = 0; row < refined.length; row++) refined[row] = space.offset + space.scale * refined[row];
  } else {
    // As the library has it: where no reference takes part, the scores come back as they came.
    refined.set(problem.scores);
  }
  const alignments = space.gram.map((row) => row.reduce((sum, value, k) => sum + value * last[k], 0));
  const weights = set.taking.map((taking, k) =>
    (taking && run.path.length > 1 ? weightOf(alignments[k + 1], set.scale) : 0));
  return {
    run, any, alignments, weights, refined,
    after: ranksOf(refined),
    labels: measure(problem.score, problem.label_rows),
    held: measure(problem.judge, problem.judge_rows),
  };
}

function measure(score, rows) {
  if (score === null) return null;
  const before = pick(problem.scores, rows), after = pick(problem.refined, rows);
  return {
    before: score.report(before), after: score.report(after), gain: score.gain(before, after), rows: rows.length,
  };
}

function pick(values, rows) { return Float64Array.from(rows, (row) => values[row]); }

// --- showing it ---

let asked = false;
let filling = 0; // which surface is being filled

/** Render in the next frame, however often it is asked for until then. */
function schedule() {
  if (asked || space === null) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; render(); });
}

/** The surface is of other steps or switches: it is filled anew, once the rest of the picture is there. */
function outdate() {
  if (space === null) return;
  space.surface = { heights: [], whole: false };
  filling += 1;
  schedule();
}

function render() {
  shown = compute();
  globalThis.explored = { problem, space, set, shown, job }; // for whoever wants the numbers behind the picture
  showControls();
  showOutcome();
  showReferences();
  showMatrix();
  showRing();
  drawSphere($("sphere"), {
    gram: space.gram, names: problem.references, taking: set.taking, weights: shown.weights, place: space.place,
    path: shown.any ? shown.run.path : shown.run.path.slice(0, 1), main: problem.main,
  });
  drawRanking($("ranking"), problem.before, shown.after);
  showLists();
  if (space.surface.heights.length === 0) fillSurface();
}

function showControls() {
  for (const [id, { from, decade }] of Object.entries(AXES)) {
    $(id).value = Math.round(decade * Math.log10(set[id] / from));
    $(id).setAttribute("aria-valuetext", brief(set[id]));
    $(`${id}-value`).textContent = brief(set[id]);
  }
  $("steps").value = set.steps;
  $("steps-value").textContent = set.steps;
}

function showOutcome() {
  const { labels, held, run, any, alignments } = shown, tiles = [];
  const pair = (title, { before, after, rows }) => Object.keys(after).forEach((name) => {
    tiles.push(tile(measured(name, before[name]), measured(name, after[name]), `${named(name)} ${title} (${count(rows)})`));
  });
  if (labels !== null) {
    pair("on the labels", labels);
    const { value, error } = labels.gain;
    const unit = problem.task === "ranking" ? 100 : 1, places = problem.task === "ranking" ? 1 : 3;
    tiles.push(tile(null, `${signed(unit * value, places)} ± ${(unit * error).toFixed(places)}`,
      problem.task === "ranking" ? "gain and its standard error, points" : "gain in rmse, and its standard error"));
  }
  if (held !== null) pair("on rows held back", held);
  tiles.push(tile(null, (any ? alignments[0] : 1).toFixed(3), "alignment with where it began"));
  tiles.push(tile(null, `${run.path.length - 1} of ${set.steps}`, "diffusion rounds taken"));
  $("tiles").replaceChildren(...tiles);
  $("sentence").textContent = verdict();
  const measure = labels ?? held;
  $("brief").textContent = measure === null ? "" : Object.entries(measure.after).map(([name, value]) =>
    `${named(name)} ${measured(name, measure.before[name])} → ${measured(name, value)}`).join(" · ");
}

function verdict() {
  const { labels, run, any } = shown;
  if (!any) return "No reference takes part, so the scores come back as they came.";
  const begin = space.presmoothed
    ? `It began with the scores smoothed over their own graph (${measured(problem.score.measures[0], Math.abs(run.scores[0]))} on the labels). `
    : "";
  if (labels === null) return "Without labels nothing says whether this is better; alignments and the held-out pairs are what there is to go by.";
  const ending = run.stopped ? "The labels' score stopped rising. " : "";
  if (labels.rows < FEWEST_ROWS) return `${begin}${ending}Below ten labelled rows no gain is certain.`;
  return labels.gain.value > labels.gain.error
    ? `${begin}${ending}The gain exceeds its standard error: the safeguard would take it.`
    : `${begin}${ending}The gain does not exceed its standard error: the safeguard would keep the scores as they came.`;
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
    Object.assign(box, { type: "checkbox", checked: set.taking[k], disabled: reference.idle });
    box.setAttribute("role", "switch");
    box.addEventListener("change", () => {
      set.taking[k] = box.checked;
      outdate();
    });
    label.append(box, reference.name);
    head.append(label);
    row.append(head, ...Array.from({ length: 7 }, () => element("td")));
    const cells = row.querySelectorAll("td");
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
    const cells = row.querySelectorAll("td");
    row.className = set.taking[k] ? "" : "off";
    row.querySelector("input").checked = set.taking[k];
    cells[0].firstChild.textContent = shown.weights[k].toFixed(3);
    cells[0].querySelector("i").style.width = `${100 * shown.weights[k]}%`;
    cells[1].textContent = shown.alignments[k + 1].toFixed(3);
  });
}

function showMatrix() {
  const names = ["refined", problem.main, ...problem.references];
  if (names.length > 18) {
    $("matrix").replaceChildren(element("caption", "More predictors than fit a table."));
    return;
  }
  const { alignments } = shown, gram = space.gram;
  const value = (i, j) => {
    if (i === j) return 1;
    if (i === 0 || j === 0) return alignments[Math.max(i, j) - 1];
    return gram[i - 1][j - 1];
  };
  const head = element("tr");
  head.append(element("td"), ...names.slice(0, -1).map((name) => header(name, "col")));
  const rows = names.slice(1).map((name, place) => {
    const i = place + 1, row = element("tr");
    row.append(header(name, "row"), ...names.slice(0, -1).map((_, j) => {
      if (j >= i) return element("td");
      const cell = element("td", value(i, j).toFixed(2).replace(/^-(0\.0+)$/, "$1")), share = Math.min(100, 75 * Math.abs(value(i, j)));
      cell.style.background = `color-mix(in srgb, var(--${value(i, j) < 0 ? "orange" : "blue"}) ${share}%, var(--panel))`;
      if (share > 58) cell.style.color = "var(--on-tint)";
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
    let place = list.length;
    while (place > 0 && better(row, list[place - 1])) place--;
    list.splice(place, 0, row);
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
    line.append(element("td", count(shown.after[row])), element("td", idOf(row)), element("td", count(problem.before[row])),
      element("td", change, up > 0 ? "up" : up < 0 ? "down" : ""));
    return line;
  }));
}

function idOf(row) {
  return new TextDecoder().decode(problem.ids.subarray(row === 0 ? 0 : problem.id_ends[row - 1], problem.id_ends[row]));
}

// --- the surface, which fills cell by cell between frames ---

function fillSurface() {
  if (problem.score === null) {
    $("surface-note").textContent = "Without labels there is no accuracy to show. Give some with --labels.";
    return;
  }
  const { step_sizes: deltas, weight_scales: scales } = problem, own = filling, inside = gated(), evaluate = evaluator();
  const heights = new Float64Array(deltas.length * scales.length).fill(NaN);
  space.surface = { heights, whole: false };
  const steps = set.steps;
  let cell = 0;
  const fill = () => {
    if (own !== filling) return;
    const until = performance.now() + SLICE;
    while (cell < heights.length && performance.now() < until) {
      const { scores } = diffuse(inside, deltas[Math.floor(cell / scales.length)], scales[cell % scales.length], steps, evaluate);
      heights[cell] = scores[scores.length - 1];
      cell += 1;
    }
    if (cell < heights.length) setTimeout(fill);
    else {
      space.surface.whole = true;
      showSurface();
    }
  };
  setTimeout(fill);
}

function showSurface() {
  const { step_sizes: deltas, weight_scales: scales } = problem, name = problem.score.measures[0];
  const choose = (cell) => { Object.assign(set, cell); schedule(); };
  const range = drawSurface($("surface"), { deltas, scales, heights: space.surface.heights, name, choose });
  $("surface-note").textContent = `${name === "accuracy" ? "Accuracy, %," : "Root mean squared error"} on the labels after at most `
    + `${set.steps} rounds; ${range}, light is better. The ring is where the sliders stand; choose a cell to go there.`;
  showRing();
}

function showRing() {
  const { step_sizes: deltas, weight_scales: scales } = problem;
  placeRing($("surface"), { deltas, scales, delta: set.delta, scale: set.scale });
}

// --- what is set, exported and checked ---

function wish() {
  const ignored = problem.references.filter((_, k) => !set.taking[k]);
  return { bridges: space.job, step_size: set.delta, weight_scale: set.scale, steps: set.steps, ignored };
}

async function keep() {
  const answer = await ask("api/export", { method: "POST", body: wish() });
  const link = element("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = /filename="(.*)"/.exec(answer.headers.get("content-disposition"))[1];
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href));
  $("command").hidden = false;
  $("command").textContent = answer.headers.get("x-manifuse-command").replaceAll(" && ", " &&\n");
  $("kept").textContent = `${link.download} is among your downloads. This repeats the picture on the command line:`;
}

/** Let the library compute what is set, in one round or in all. */
async function confirm(whole) {
  const now = Float64Array.from(shown.refined);
  const done = await follow(await (await ask("api/refinement", { method: "POST", body: { ...wish(), whole } })).json(), showWork);
  if (done === null) {
    $("kept").textContent = "Cancelled.";
    return;
  }
  const { facts, arrays } = done;
  let difference = 0;
  arrays.predictions.forEach((value, row) => { difference = Math.max(difference, Math.abs(value - now[row])); });
  const said = (values, title) => (values === null ? "" : `${Object.entries(values).map(([name, value]) =>
    `${named(name)} ${measured(name, value)}`).join(", ")} ${title}`);
  const measures = [said(facts.accuracy, "on the labels"), said(facts.held_back, "on rows held back")].filter(Boolean).join("; ");
  $("kept").textContent = whole
    ? `In ${facts.rounds} rounds, bridges following: ${measures || "no labels to measure by"}. ${facts.reason}`
    : `The library's scores differ from the page's by ${difference.toExponential(0)} at most. ${measures}`;
  $("kept").dataset.difference = String(difference);
}

function wire() {
  for (const [id, { from, decade }] of Object.entries(AXES)) {
    $(id).addEventListener("input", () => {
      set[id] = Number((from * 10 ** (Number($(id).value) / decade)).toPrecision(3));
      schedule();
    });
  }
  $("steps").addEventListener("input", () => {
    set.steps = Number($("steps").value);
    outdate();
  });
  $("best").addEventListener("click", () => {
    if (space === null) return;
    chooseCell();
    schedule();
  });
  $("unweighed").addEventListener("change", () => { $("score-scale").disabled = $("unweighed").checked; });
  const attempt = (id, work) => $(id).addEventListener("click", async () => {
    complain(null);
    try {
      await work();
    } catch (error) {
      complain(error);
    }
  });
  attempt("build", async () => {
    if (!$("controls").reportValidity()) return;
    const body = {
      neighbours: Number($("neighbours").value), step: Number($("bridge-step").value),
      score_scale: $("unweighed").checked ? null : Number($("score-scale").value),
      candidate: space === null ? 0 : space.bridges.candidate,
    };
    await take(await (await ask("api/bridges", { method: "POST", body })).json());
  });
  attempt("cancel", async () => { if (job !== null) await ask(`api/jobs/${job.job}`, { method: "DELETE" }); });
  attempt("export", keep);
  attempt("check", () => confirm(false));
  attempt("whole", () => confirm(true));
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", schedule);
  new ResizeObserver(() => { if (shown !== null) drawRanking($("ranking"), problem.before, shown.after); }).observe($("ranking"));
}

wire();
load().catch(complain);
