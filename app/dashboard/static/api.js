/* Talks to REST v1 with the session of the page. Every change a page makes goes through here. */

/** What the service refused: its problem document, with `errors` naming the fields. */
export class Problem extends Error {
  constructor(document, status) {
    super(document.detail || `The service answered ${status}.`);
    this.status = status;
    this.errors = document.errors || [];
    this.requestId = document.request_id || null;
  }
}

/** What a change is answered when the session is over. The page stays, and with it what was typed. */
const LOGGED_OUT = {
  detail: "Nothing was saved: you are no longer logged in. What you typed is still here. Log in in another tab, come back, and send it again.",
};

/** The answer's JSON (null without a body). Throws a `Problem`; one of status 0 if no answer came. */
export async function ask(method, path, body) {
  const text = await exchange(method, path, body === undefined ? undefined : JSON.stringify(body));
  return text === "" ? null : JSON.parse(text);
}

/** The text of the answer to a body that is sent as it is: a text, or a file. Throws as `ask` does. */
export async function exchange(method, path, body, type = "application/json") {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = type;
  let answer;
  let text;
  try {
    answer = await fetch(path, { method, headers, credentials: "same-origin", body });
    text = await answer.text();
  } catch {
    throw new Problem({ detail: "The service does not answer. Check the connection and try again." }, 0);
  }
  if (answer.ok) return text;
  if (answer.status === 401 && method === "GET") location.assign(logInAddress());
  throw new Problem(answer.status === 401 ? LOGGED_OUT : documentOf(text), answer.status);
}

/** The problem document of an answer; empty if it is none. */
export function documentOf(text) {
  try {
    return JSON.parse(text) || {};
  } catch {
    return {};  // a proxy in between may answer in HTML
  }
}

/** The log-in page that returns to this page. */
export function logInAddress() {
  return `/login?next=${encodeURIComponent(location.pathname + location.search)}&ended=true`;
}

/** Says something to people who listen instead of look. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

/** Shows `problem` in `place` as an alert, or takes the one there away. */
export function showProblem(place, problem) {
  place.textContent = problem ? problem.message + (problem.requestId && problem.status >= 500 ? ` (request ${problem.requestId})` : "") : "";
  if (problem?.status === 401) place.append(" ", Object.assign(document.createElement("a"), { href: logInAddress(), target: "_blank", textContent: "Log in (opens a new tab)" }));
  place.hidden = !problem;
}
