// The page: what is asked of `refine`, and where its answer is shown. The server computes everything.

import { count, element, header } from "./elements.js";
import { drawRanking } from "./ranking.js";
import { ask, fetchFacts, follow, post } from "./server.js";

/** Ids that are shown if what was searched for is only the beginning of some. */
const SHOWN_IDS = 3;

/** More predictors do not fit into the table of alignments. */
const MOST_ALIGNED = 18;

const $ = (id) => document.getElementById(id);

/** What is said of keeping before anything is kept. */
const NOTHING_KEPT = $("kept").textContent;

let problem = null; // what does not change
let shown = null; // the answer that is shown, with the job that gave it
let job = null; // what the server is doing, or did last
let turn = 0; // how often something was asked for

// --- asking ---

async function load() {
  problem = await fetchFacts("api/problem");
  document.title = `${problem.title} · manifuse explore`;
  $("title").textContent = problem.title;
  const known = problem.labelled === 0 ? "no labels" : `${count(problem.labelled)} labelled`;
  const others = problem.references.length === 1 ? "1 reference" : `${count(problem.references.length)} references`;
  $("subtitle").textContent = `${count(problem.ids.length)} rows, ${known}; ${others}`;
  for (const card of document.querySelectorAll(problem.classes ? ".of-scores" : ".of-classes")) card.hidden = true;
  for (const card of document.querySelectorAll(problem.classes ? ".of-classes" : ".of-scores")) card.hidden = false;
  makeReferences();
  setControls(problem);
  await showJob(fetchFacts("api/jobs/latest"));
}

/** What the controls ask for. */
function asked() {
  const ignored = problem.references.filter((_, k) => !switches()[k].checked).map((reference) => reference.name);
  return { ignored, same_target: JSON.parse($("controls").elements.target.value) };
}

/** Set the controls to what was asked for. */
function setControls({ ignored, same_target: target }) {
  switches().forEach((box, k) => { box.checked = !ignored.includes(problem.references[k].name); });
  $("controls").elements.target.value = JSON.stringify(target);
}

function switches() { return [...$("references").querySelectorAll("[role=switch]")]; }

/** Let the server refine as the controls say, in the place of what it is doing. */
function refine() { return showJob(post("api/jobs", asked())); }

/** Follow the job that was asked for last, and show what it comes to; at its end the controls say what is shown. */
async function showJob(asking) {
  turn += 1;
  const mine = turn;
  try {
    const last = await follow(await asking, (now) => { if (mine === turn) showWork(now); });
    const answer = last.state === "done" ? await fetchFacts(`api/jobs/${last.job}/result`) : null;
    if (mine !== turn) return;
    if (answer !== null) show({ ...answer, job: last.job });
    else if (shown === null) $("sentence").textContent = "The computation was cancelled. Start again to see what refine gives.";
  } finally {
    if (mine === turn) {
      setControls(shown ?? problem);
      $("results").setAttribute("aria-busy", "false");
    }
  }
}

// --- showing ---

function showWork(report) {
  job = report;
  const running = report.state === "running";
  $("working").hidden = !running;
  $("cancel").disabled = !running;
  $("export").disabled = running || shown === null;
  if (running) $("results").setAttribute("aria-busy", "true");
  $("stage").textContent = report.seconds < 2 ? "Refining …" : `Refining … ${report.seconds.toFixed(0)} s`;
  fillItems($("notes"), report.notes);
}

function showError(error) {
  $("error").hidden = error === null;
  $("error").textContent = error === null ? "" : error.message;
  if (error !== null && shown === null) $("sentence").textContent = "There is no result to show.";
}

function show(answer) {
  shown = answer;
  globalThis.explored = { problem, shown }; // what the page knows, for the browser's console
  $("results").classList.remove("empty");
  $("export").disabled = false;
  $("command").hidden = true;
  $("kept").textContent = NOTHING_KEPT;
  $("tiles").replaceChildren(...shown.tiles.map(tile));
  $("sentence").textContent = shown.sentence;
  fillItems($("findings"), shown.findings);
  showReferences();
  showMatrix();
  if (problem.classes) showClasses();
  else showRanks();
  showRow();
}

function showRanks() {
  drawRanking($("ranking"), shown.before, shown.after);
  fillList($("top"), shown.top);
  fillList($("moved"), shown.moved);
}

function showClasses() {
  fillTable($("counts"), shown.counts);
  fillTable($("changed"), shown.changed);
}

function fillItems(list, texts) {
  list.hidden = texts.length === 0;
  list.replaceChildren(...texts.map((text) => element("li", text)));
}

function tile({ from, number, what }) {
  const box = element("div", "", "tile"), value = element("b");
  if (from !== null) value.append(element("span", `${from} → `, "from"));
  value.append(number);
  box.append(value, element("small", what));
  return box;
}

/** Make a line with a switch for every reference; what is known of it comes with an answer. */
function makeReferences() {
  $("references").tBodies[0].replaceChildren(...problem.references.map(({ name, idle }) => {
    const row = element("tr"), head = element("th"), label = element("label"), box = element("input");
    head.scope = "row";
    Object.assign(box, { type: "checkbox", disabled: idle });
    box.setAttribute("role", "switch");
    label.append(box, name);
    head.append(label);
    row.append(head);
    return row;
  }));
}

function showReferences() {
  const { references, parts, columns } = shown, head = element("tr");
  // Names may break after an underscore.
  const heads = references.head.map((name) => name.replaceAll("_", "_\u200b"));
  head.append(...["takes part", ...heads, "how"].map((name) => header(name, "col")));
  $("references").tHead.replaceChildren(head);
  [...$("references").tBodies[0].rows].forEach((row, k) => {
    row.replaceChildren(row.cells[0], ...references.body[k].map((text) => element("td", text)), element("td", parts[k], "how"));
    row.className = shown.ignored.includes(problem.references[k].name) ? "off" : "";
  });
  $("columns").textContent = `What the columns say: ${columns}`;
}

function showMatrix() {
  const names = ["refined", problem.main, ...problem.references.map((reference) => reference.name)], { metric } = shown;
  if (names.length > MOST_ALIGNED) {
    $("matrix").replaceChildren(element("caption", "There are more predictors than fit into this table."));
    return;
  }
  const head = element("tr");
  head.append(element("td"), ...names.slice(0, -1).map((name) => header(name, "col")));
  const rows = names.slice(1).map((name, k) => {
    const row = element("tr");
    row.append(header(name, "row"), ...names.slice(0, -1).map((_, j) => (j > k ? element("td") : aligned(metric[k + 1][j]))));
    return row;
  });
  $("matrix").replaceChildren(head, ...rows);
}

function aligned(value) {
  const cell = element("td", value.toFixed(2).replace(/^-(0\.0+)$/, "$1")), share = Math.min(40, 40 * Math.abs(value));
  cell.style.background = `color-mix(in srgb, var(--${value < 0 ? "orange" : "blue"}) ${share}%, var(--panel))`;
  return cell;
}

/** Fill a table of texts, in which the first of a line names it. */
function fillTable(table, { head, body }) {
  if (body.length === 0) return table.replaceChildren(element("caption", "No row changed class."));
  const names = element("tr");
  names.append(...head.map((name) => header(name, "col")));
  table.replaceChildren(names, ...body.map(([name, ...texts]) => {
    const line = element("tr");
    line.append(header(name, "row"), ...texts.map((text) => element("td", text)));
    return line;
  }));
}

function fillList(table, rows) {
  if (rows.length === 0) return table.replaceChildren(element("caption", "No row moved."));
  const head = element("tr");
  head.append(...["rank", "id", "was", "moved"].map((name) => header(name, "col")));
  table.replaceChildren(head, ...rows.map((row) => {
    const line = element("tr"), before = shown.before[row], after = shown.after[row], up = before - after;
    const change = up === 0 ? "=" : `${up > 0 ? "▲" : "▼"} ${count(Math.abs(up))}`;
    line.append(element("td", count(after)), header(problem.ids[row], "row"), element("td", count(before)),
      element("td", change, up > 0 ? "up" : up < 0 ? "down" : ""));
    return line;
  }));
}

/** Say what the server knows of the row that was searched for, or which ids begin like it. */
async function showRow() {
  const id = $("find").value.trim(), row = problem.ids.indexOf(id), from = shown.job;
  const say = (sentences) => {
    // Another row may have been asked for in the meantime.
    if ($("find").value.trim() === id && shown.job === from) {
      $("found").replaceChildren(...sentences.map((sentence) => element("p", sentence)));
    }
  };
  if (id === "") return say([`For example ${problem.ids[0]}.`]);
  if (row < 0) return say([beginningWith(id)]);
  try {
    say((await fetchFacts(`api/jobs/${from}/rows/${row}`)).sentences);
  } catch (error) {
    say([`What became of this row could not be found out. ${error.message}`]);
  }
}

function beginningWith(start) {
  const alike = problem.ids.filter((id) => id.startsWith(start));
  if (alike.length === 0) return "No row has this id.";
  const first = alike.slice(0, SHOWN_IDS).join(", "), more = alike.length > SHOWN_IDS ? " and more" : "";
  return `No row has this id. ${count(alike.length)} begin${alike.length === 1 ? "s" : ""} with it: ${first}${more}.`;
}

async function exportShown() {
  const answer = await ask(`api/jobs/${shown.job}/export`), link = element("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = /filename="(.*)"/.exec(answer.headers.get("content-disposition"))[1];
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href));
  $("command").hidden = false;
  $("command").textContent = answer.headers.get("x-manifuse-command").replaceAll(" && ", " &&\n");
  const where = link.download.endsWith(".toml") ? "Put it into the folder where manifuse explore runs; there" : "There";
  $("kept").textContent = `${link.download} is in your downloads. ${where} this command repeats these scores:`;
}

function wire() {
  const attempt = (id, event, work) => $(id).addEventListener(event, () => {
    if (problem === null) return;
    showError(null);
    work().catch(showError);
  });
  attempt("references", "change", refine);
  attempt("target", "change", refine);
  attempt("export", "click", exportShown);
  attempt("cancel", "click", () => ask(`api/jobs/${job.job}`, { method: "DELETE" }));
  attempt("reset", "click", () => {
    setControls(problem);
    return refine();
  });
  $("find").addEventListener("input", () => { if (shown !== null) showRow(); });
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  const redraw = () => { if (shown !== null && !problem.classes) drawRanking($("ranking"), shown.before, shown.after); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  new ResizeObserver(redraw).observe($("ranking"));
}

wire();
load().catch(showError);
