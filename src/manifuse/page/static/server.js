// Talking with the server: requests that fail with its own sentence, and jobs that are followed to their end.

import { unpack } from "./blocks.js";

/** Milliseconds between two looks at a job. */
const PATIENCE = 150;

/** Send a request; an answer that is a refusal is thrown as the sentence that it holds. */
export async function ask(address, { method = "GET", body } = {}) {
  const options = { method };
  if (body !== undefined) Object.assign(options, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  let answer;
  try {
    answer = await fetch(address, options);
  } catch {
    throw new Error("The server does not answer; is manifuse still running?");
  }
  if (!answer.ok) throw new Error((await answer.json()).error);
  return answer;
}

/** Follow a job, showing every look at it; its result as facts and arrays, null where it was cancelled. */
export async function follow(report, show) {
  let job = report;
  show(job);
  try {
    while (job.state === "running") {
      await new Promise((resume) => { setTimeout(resume, PATIENCE); });
      job = await (await ask(`api/jobs/${job.job}`)).json();
      show(job);
    }
  } catch (error) {
    show({ ...job, state: "lost" });
    throw error;
  }
  if (job.state === "failed") throw new Error(job.message);
  if (job.state === "cancelled") return null;
  return unpack(await (await ask(`api/jobs/${job.job}/result`)).arrayBuffer());
}
