/* Asks on every page whether a worker answers. A missing answer changes nothing: it must never take away what a person types. */
const EVERY = 10_000; // ms
const place = document.getElementById("workers");
let waiting = 0;

async function look() {
  clearTimeout(waiting);
  if (document.hidden) return;
  const answer = await fetch("/v1/workers", { headers: { Accept: "application/json" }, credentials: "same-origin" }).catch(() => null);
  if (answer?.status === 401) return;
  const found = answer?.ok ? await answer.json().catch(() => null) : null;
  if (found) show(found);
  waiting = setTimeout(look, EVERY);
}

function show({ sentence, next_step: step }) {
  const said = place.querySelector("[data-sentence]")?.textContent ?? "";
  if (said === (sentence ?? "")) return;
  place.replaceChildren(...(sentence ? [notice(sentence, step)] : []));
}

function notice(sentence, step) {
  const template = /** @type {HTMLTemplateElement} */ (document.getElementById("worker-notice"));
  const made = document.importNode(template.content, true);
  made.querySelector("[data-sentence]").textContent = sentence;
  made.querySelector("[data-step]").textContent = step;
  return made;
}

if (place) {
  waiting = setTimeout(look, EVERY);
  document.addEventListener("visibilitychange", look);
}
