/* REST v1 with the session of the page. Every change of a page goes through here. */

/** A problem document, with `errors` naming the fields. */
export class Problem extends Error {
  constructor(document, status) {
    super(document.detail || `The service answered ${status}.`);
    this.status = status;
    this.errors = document.errors || [];
    this.requestId = document.request_id || null;
  }
}

/** Answer to a change when the session is over. The page stays, with what was typed. */
const LOGGED_OUT = {
  detail: "Nothing was saved: you are no longer logged in. What you typed is still here. Log in in another tab, come back, and send it again.",
};

/** The answer's JSON (null without a body). Throws a `Problem`, of status 0 if no answer came. */
export async function ask(method, path, body) {
  const text = await exchange(method, path, body === undefined ? undefined : JSON.stringify(body));
  return text === "" ? null : JSON.parse(text);
}

/** Sends a text or a file as it is. Throws as `ask` does. */
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

/** An answer's problem document; empty if it is none. */
export function documentOf(text) {
  try {
    return JSON.parse(text) || {};
  } catch {
    return {};  // a proxy in between may answer in HTML
  }
}

export function logInAddress() {
  return `/login?next=${encodeURIComponent(location.pathname + location.search)}&ended=true`;
}

/** Calls `look` until it returns true, more slowly while nobody looks or in trouble. `tell` gets each `Problem`; a refusal ends it. */
export async function poll(look, tell, every, slowly = 5000) {
  for (;;) {
    let pause = document.hidden ? slowly : every;
    try {
      if (await look()) return;
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      tell(problem);
      if (problem.status && problem.status < 500) return;
      pause = slowly;
    }
    await new Promise((resolve) => { setTimeout(resolve, pause); });
  }
}

/** Without a key, with which the browser's own ways of opening a link are meant. */
export function isPlain(event) {
  return event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
}

export function element(kind, properties) {
  return Object.assign(document.createElement(kind), properties);
}

/** For screen readers. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

/** Shows `problem` in `place` as an alert, or removes the one there. */
export function showProblem(place, problem) {
  place.textContent = problem ? problem.message + (problem.requestId && problem.status >= 500 ? ` (request ${problem.requestId})` : "") : "";
  if (problem?.status === 401) place.append(" ", element("a", { href: logInAddress(), target: "_blank", textContent: "Log in (opens a new tab)" }));
  place.hidden = !problem;
}
