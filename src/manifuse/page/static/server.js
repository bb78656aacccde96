// Talking with the server: requests that fail with its own sentence, and jobs that the page follows to their end.

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

export async function fetchFacts(address, options) { return (await ask(address, options)).json(); }

export function post(address, body) { return fetchFacts(address, { method: "POST", body: JSON.stringify(body) }); }

/** Follow a job to its end and show every report on it. Returns its last report; a job that failed throws its message. */
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
  return job;
}
