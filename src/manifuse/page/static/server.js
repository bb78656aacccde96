// Talking with the server: requests that fail with its own sentence, and jobs that the page follows to their end.

import { unpack } from "./packing.js";

/** Milliseconds between two questions about a job. */
const PATIENCE = 150;

/** Send a request. If the server refuses it, its sentence is thrown. */
export async function ask(address, options) {
  let answer;
  try {
    answer = await fetch(address, options);
  } catch {
    throw new Error("The server does not answer; is manifuse still running?");
  }
  if (!answer.ok) throw new Error((await answer.json()).error);
  return answer;
}

export function post(address, body) { return ask(address, { method: "POST", body: JSON.stringify(body) }); }

export async function fetchFacts(address) { return (await ask(address)).json(); }

export async function fetchArrays(address) { return unpack(await (await ask(address)).arrayBuffer()); }

/** Follow a job and show every report on it. Returns its result as facts and arrays, null if it was cancelled. */
export async function follow(report, show) {
  let job = report;
  show(job);
  try {
    while (job.state === "running") {
      await new Promise((resume) => { setTimeout(resume, PATIENCE); });
      job = await fetchFacts(`api/jobs/${job.job}`);
      show(job);
    }
  } catch (error) {
    show({ ...job, state: "lost" });
    throw error;
  }
  if (job.state === "failed") throw new Error(job.message);
  if (job.state === "cancelled") return null;
  return fetchArrays(`api/jobs/${job.job}/result`);
}
