/* "Explain…": shows the cost first, starts only then. One that is under way is followed, no matter who asked for it. */
import { Problem, ask, say } from "./api.js";

const EVERY = 1000; // ms
const SLOWLY = 5000; // while nobody looks, or in trouble
const place = /** @type {HTMLElement | null} */ (document.getElementById("attribute"));
const [begin, start, leave] = ["ask", "start", "leave"].map((part) => /** @type {HTMLButtonElement | null} */ (document.getElementById(`attribute-${part}`)));
const cost = document.getElementById("attribute-cost");
const problem = document.getElementById("attribute-problem");
const path = place && `/v1/deployments/${encodeURIComponent(place.dataset.deployment)}/attributions`;
const count = new Intl.NumberFormat("en");

const together = /** @type {HTMLInputElement | null} */ (document.getElementById("attribute-together"));
const cancel = /** @type {HTMLFormElement | null} */ (document.getElementById("attribute-cancel"));

function wanted() {
  const comparisons = together?.checked ? { comparisons: JSON.parse(together.dataset.comparisons) } : {};
  return place.dataset.check ? { check_id: place.dataset.check, ...comparisons } : comparisons;
}

function offerToCancel(id) {
  if (!cancel) return;
  if (id) cancel.dataset.api = `POST ${path}/${id}/cancellation`;
  cancel.hidden = !id;
}

function tell(error) {
  if (!(error instanceof Problem)) throw error;
  problem.textContent = error.message;
  problem.hidden = false;
}

function offer(isOffered) {
  begin.hidden = isOffered;
  start.hidden = leave.hidden = !isOffered;
  (isOffered ? start : begin).focus();
}

/** Display name, which the page knows of measured groups. */
function nameOf({ attribute, group }) {
  const named = JSON.parse(place.dataset.names).find((one) => one.attribute === attribute && one.group === group);
  return named ? named.name : group;
}

function words({ method, rows, requests, gaps, records }) {
  if (method === "kitagawa") return `The deployment has no endpoint: the model would be asked about no row, and ${count.format(records)} records divided by their features.`;
  if (!gaps.length) return "There is no gap to attribute: the model would be asked about no row.";
  const parts = gaps.map((one) => `${one.attribute}, ${nameOf(one)}: ${count.format(one.rows)} rows for ${count.format(one.pairs)} pairs`);
  return `The model would be asked about ${count.format(rows)} rows in ${count.format(requests)} ${requests === 1 ? "request" : "requests"}, within the limits of its endpoint. ${parts.join("; ")}.`;
}

async function showCost() {
  begin.disabled = true;
  problem.hidden = true;
  try {
    cost.textContent = words(await ask("POST", path, { ...wanted(), dry_run: true }));
    offer(true);
  } catch (error) {
    tell(error);
  } finally {
    begin.disabled = false;
  }
}

async function startIt() {
  start.disabled = true;
  problem.hidden = true;
  try {
    const queued = await ask("POST", path, wanted());
    offer(false);
    await follow(queued.id);
  } catch (error) {
    tell(error);
  } finally {
    start.disabled = false;
  }
}

/** Loads the page again when the attribution is done. */
async function follow(id) {
  for (;;) {
    let pause = document.hidden ? SLOWLY : EVERY;
    try {
      const found = await ask("GET", `${path}/${id}`);
      problem.hidden = true;
      if (found.state === "done") {
        say("The attribution is done.");
        location.reload();
        return;
      }
      offerToCancel(["queued", "running"].includes(found.state) && !found.cancel_requested ? id : "");
      if (found.state === "cancelled") {
        cost.textContent = "The attribution was cancelled.";
        return;
      }
      if (found.state === "failed") {
        cost.textContent = "The attribution failed.";
        tell(new Problem({ detail: found.problem }, 0));
        return;
      }
      const { step, done, total } = found.progress || { step: "", done: 0, total: 0 };
      const line = found.state === "queued" ? "Waits for a worker." : found.cancel_requested ? "Stops before its next page." : `Running: ${step}${total ? `, ${count.format(done)} of ${count.format(total)} rows` : ""}.`;
      if (cost.textContent !== line) cost.textContent = line;
    } catch (error) {
      tell(error);
      if (error.status && error.status < 500) return;
      pause = SLOWLY;
    }
    await new Promise((resolve) => { setTimeout(resolve, pause); });
  }
}

begin?.addEventListener("click", showCost);
// Another choice has another cost, to be seen before the start.
together?.addEventListener("change", () => {
  if (start.hidden) return;
  cost.textContent = "";
  offer(false);
});
start?.addEventListener("click", startIt);
leave?.addEventListener("click", () => {
  cost.textContent = "Not started.";
  offer(false);
});
if (place?.dataset.attribution) follow(place.dataset.attribution);
