/* Follows a scan, no matter who asked for it, and loads the page again when it has ended. */
import { Problem, ask, say } from "./api.js";

const EVERY = 2000; // ms
const SLOWLY = 5000; // while nobody looks, or in trouble
const step = document.getElementById("scan-step");
const problem = document.getElementById("scan-problem");

async function follow(path) {
  for (;;) {
    let pause = document.hidden ? SLOWLY : EVERY;
    try {
      const { state, words } = await ask("GET", path);
      problem.hidden = true;
      if (state !== "queued" && state !== "running") {
        say("The scan has ended.");
        location.reload();
        return;
      }
      if (step.textContent !== words) step.textContent = words;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problem.textContent = error.message;
      problem.hidden = false;
      if (error.status && error.status < 500) return;
      pause = SLOWLY;
    }
    await new Promise((resolve) => { setTimeout(resolve, pause); });
  }
}

if (step) follow(step.dataset.scan);
