/* "Explain": counts the rows, says them on the button, and asks the model on its next click. One that is under way is followed, no matter who asked for it. */
import { Problem, ask, poll, say } from "./api.js";

const EVERY = 1000; // ms
const count = new Intl.NumberFormat("en");

/** On a page, or in a drawer that was put into it. */
export function offerToExplain() {
  const place = /** @type {HTMLElement | null} */ (document.getElementById("attribute"));
  if (!place || place.dataset.isOffered) return;
  place.dataset.isOffered = "yes";
  const button = /** @type {HTMLButtonElement | null} */ (document.getElementById("attribute-ask"));
  const cost = document.getElementById("attribute-cost");
  const problem = document.getElementById("attribute-problem");
  const cancel = /** @type {HTMLFormElement | null} */ (document.getElementById("attribute-cancel"));
  const path = `/v1/deployments/${encodeURIComponent(place.dataset.deployment)}/attributions`;
  const request = {
    ...(place.dataset.check ? { check_id: place.dataset.check } : {}),
    ...(place.dataset.comparisons ? { comparisons: JSON.parse(place.dataset.comparisons) } : {}),
  };
  let isCounted = false;

  function tell(error) {
    if (!(error instanceof Problem)) throw error;
    problem.textContent = error.message;
    problem.hidden = false;
  }

  function offerToCancel(id) {
    if (!cancel) return;
    if (id) cancel.dataset.api = `POST ${path}/${id}/cancellation`;
    cancel.hidden = !id;
  }

  async function showCost() {
    const { method, rows, requests, records } = await ask("POST", path, { ...request, dry_run: true });
    isCounted = method === "kitagawa" || rows > 0;
    if (method === "kitagawa") cost.textContent = `The deployment has no endpoint: no row is sent to a model, and ${count.format(records)} records are divided by their features.`;
    else if (isCounted) {
      button.textContent = `${place.dataset.done === undefined ? "Explain" : "Explain again"}: ask the model about ${count.format(rows)} rows`;
      cost.textContent = `${count.format(requests)} ${requests === 1 ? "request" : "requests"}, within the limits of the endpoint.`;
    } else cost.textContent = "There is no gap to explain: no group and its reference both have records with an outcome.";
  }

  async function start() {
    const { id } = await ask("POST", path, request);
    button.hidden = true;
    follow(id);
  }

  async function attempt(work) {
    button.disabled = true;
    problem.hidden = true;
    try {
      await work();
    } catch (error) {
      tell(error);
    } finally {
      button.disabled = false;
    }
  }

  /** Loads the page again when the attribution is done. */
  async function follow(id) {
    await poll(async () => {
      if (!place.isConnected) return true;
      const attribution = await ask("GET", `${path}/${id}`);
      problem.hidden = true;
      if (attribution.state === "done") {
        say("The attribution is done.");
        location.reload();
        return true;
      }
      offerToCancel(["queued", "running"].includes(attribution.state) && !attribution.cancel_requested ? id : "");
      if (attribution.state === "cancelled" || attribution.state === "failed") {
        cost.textContent = `The attribution ${attribution.state === "failed" ? "failed" : "was cancelled"}.`;
        if (attribution.problem) tell(new Problem({ detail: attribution.problem }, 0));
        if (button) button.hidden = false;
        return true;
      }
      const { step, done, total } = attribution.progress || { step: "", done: 0, total: 0 };
      const line = attribution.state === "queued" ? "Waits for a worker." : attribution.cancel_requested ? "Stops before its next page." : `Running: ${step}${total ? `, ${count.format(done)} of ${count.format(total)} rows` : ""}.`;
      if (cost.textContent !== line) cost.textContent = line;
      return false;
    }, tell, EVERY);
  }

  button?.addEventListener("click", () => attempt(isCounted ? start : showCost));
  if (place.dataset.attribution) {
    if (button) button.hidden = true;
    follow(place.dataset.attribution);
  } else if (button && place.dataset.done === undefined) attempt(showCost);
}

offerToExplain();
