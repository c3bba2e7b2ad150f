/* Follows a scan, no matter who asked for it, and loads the page again when it has ended. */
import { ask, poll, say } from "./api.js";

const EVERY = 2000; // ms
const step = document.getElementById("scan-step");
const problem = document.getElementById("scan-problem");

async function look() {
  const { state, words } = await ask("GET", step.dataset.scan);
  problem.hidden = true;
  if (state !== "queued" && state !== "running") {
    say("The scan has ended.");
    location.reload();
    return true;
  }
  if (step.textContent !== words) step.textContent = words;
  return false;
}

function tell(error) {
  problem.textContent = error.message;
  problem.hidden = false;
}

if (step) poll(look, tell, EVERY);
