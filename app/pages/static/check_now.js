/* "Check now". A check that is under way is shown, no matter who asked for it; only one that was asked for in this tab leads away
   from the page when it ends. */
import { Problem, ask, element, poll, say } from "./api.js";
import { stepOf } from "./check_step.js";

const EVERY = 700; // ms
const MINE = "asked-check";
const place = /** @type {HTMLElement | null} */ (document.querySelector(".check-now"));
const button = /** @type {HTMLButtonElement | null} */ (document.getElementById("check-now"));
const [who, step, bar, problem] = ["who", "step", "progress", "problem"].map((part) => document.getElementById(`check-now-${part}`));
const page = place && `/deployments/${encodeURIComponent(place.dataset.deployment)}/checks`;
let followed = 0;

function show(check) {
  const { progress } = check;
  const line = stepOf(check);
  if (step.textContent !== line) step.textContent = line;
  bar.hidden = check.cause.startsWith("worker_"); // nothing moves while no worker answers
  if (progress && progress.total > 0) Object.assign(bar, { max: progress.total, value: progress.done });
  else bar.removeAttribute("value");
}

/** A later call replaces this one. */
async function follow(id) {
  const mine = ++followed;
  await poll(async () => {
    if (mine !== followed) return true;
    const check = await ask("GET", `/v1${page}/${id}`);
    if (mine !== followed) return true;
    problem.hidden = true;
    if (check.state !== "queued" && check.state !== "running") {
      end(check);
      return true;
    }
    show(check);
    return false;
  }, tell, EVERY);
}

function end(check) {
  const line = `The check ended: ${check.state.replaceAll("_", " ")}.`;
  say(line);
  if (sessionStorage.getItem(MINE) === check.id) {
    sessionStorage.removeItem(MINE);
    location.assign(`${page}/${check.id}`);
    return;
  }
  step.textContent = `${line} `;
  step.append(element("a", { href: `${page}/${check.id}`, textContent: "Show it" }));
  bar.hidden = true;
}

function tell(error) {
  problem.textContent = error.message;
  problem.hidden = false;
}

async function start() {
  button.disabled = true;
  problem.hidden = true;
  try {
    const check = await ask("POST", `/v1${page}`);
    sessionStorage.setItem(MINE, check.id);
    who.replaceChildren();
    show(check);
    await follow(check.id);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    tell(error);
    button.focus();
  } finally {
    button.disabled = false;
  }
}

button?.addEventListener("click", start);
if (place?.dataset.check) follow(place.dataset.check);
