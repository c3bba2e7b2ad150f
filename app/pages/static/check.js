/* One check: its progress, and figures that open in place. Without this script a figure opens as a page. */
import { Problem, ask, element, isPlain, say } from "./api.js";
import { stepOf } from "./check_step.js";

const SECOND = 1000;
const AFTER_TROUBLE = 5 * SECOND;

const progress = document.getElementById("progress");
if (progress) setTimeout(look, SECOND);

async function look() {
  if (document.hidden) {
    document.addEventListener("visibilitychange", look, { once: true });
    return;
  }
  let wait = SECOND;
  try {
    const check = await ask("GET", progress.dataset.check);
    if (check.state !== "queued" && check.state !== "running") {
      location.reload();
      return;
    }
    show(check);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    tell(problem.message);
    wait = AFTER_TROUBLE;
  }
  setTimeout(look, wait);
}

function show(check) {
  const { done, total } = check.progress || { done: 0, total: 0 };
  const bar = progress.querySelector("progress");
  tell(stepOf(check));
  bar.hidden = check.cause.startsWith("worker_"); // nothing moves while no worker answers
  progress.querySelector("h2").textContent = check.state === "queued" ? "This check is waiting" : "This check is running";
  if (total) Object.assign(bar, { max: total, value: done });
  else bar.removeAttribute("value");
  progress.querySelector("[data-counts]").textContent = total ? `${done.toLocaleString("en")} of ${total.toLocaleString("en")}` : "";
}

function tell(text) {
  const place = progress.querySelector("[data-step]");
  if (place.textContent === text) return;
  place.textContent = text;
  say(text);
}

const opened = /** @type {HTMLDialogElement} */ (document.getElementById("opened"));

async function open(link) {
  const answer = await fetch(link.href, { credentials: "same-origin", headers: { Accept: "text/html" } }).catch(() => null);
  const found = answer?.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  const content = found?.getElementById("figure");
  if (!content) {
    location.assign(link.href);
    return;
  }
  opened.querySelector("#opened-title").textContent = found.querySelector("#figure-title").textContent;
  const own = document.createElement("p");
  own.append(element("a", { href: link.href, textContent: "Open on its own page" }));
  opened.querySelector("[data-content]").replaceChildren(document.adoptNode(content), own);
  opened.showModal();
}

document.addEventListener("click", (event) => {
  const link = /** @type {Element} */ (event.target).closest("a[data-figure]");
  if (!link || !isPlain(event)) return;
  event.preventDefault();
  open(link);
});
