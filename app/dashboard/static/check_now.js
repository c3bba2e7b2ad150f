/* "Check fairness now": asks for a check, shows how far it is, and leads to it when it is over. */
import { ask, say } from "./api.js";

const EVERY = 700; // milliseconds between two looks
const place = document.querySelector(".check-now");
const [button, step, bar, problem] = ["", "-step", "-progress", "-problem"].map((part) => document.getElementById(`check-now${part}`));

function show(check) {
  const { progress, state } = check;
  step.textContent = state === "queued" ? "Waiting for a worker …" : `${progress ? progress.step : "Beginning"} …`;
  if (progress && progress.total > 0) {
    bar.max = progress.total;
    bar.value = progress.done;
  } else bar.removeAttribute("value");
}

async function run() {
  button.disabled = true;
  problem.hidden = true;
  bar.hidden = false;
  const checks = `/v1/deployments/${encodeURIComponent(place.dataset.deployment)}/checks`;
  try {
    let check = await ask("POST", checks);
    while (check.state === "queued" || check.state === "running") {
      show(check);
      await new Promise((resolve) => { setTimeout(resolve, EVERY); });
      check = await ask("GET", `${checks}/${check.id}`);
    }
    say(`The check ended: ${check.state.replace("_", " ")}.`);
    location.assign(`/deployments/${encodeURIComponent(place.dataset.deployment)}/checks/${check.id}`);
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
    step.textContent = "";
    bar.hidden = true;
    button.disabled = false;
    button.focus();
  }
}

button?.addEventListener("click", run);
