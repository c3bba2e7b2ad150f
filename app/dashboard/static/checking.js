/* While a person types: REST says with validate_only=true what would be refused. Problems are shown at their fields without an alert and
   without moving the focus, and only at fields that the person has been at, until saving was tried. What is told to people who listen is
   one short line, when it changes. */
import { Problem, showProblem } from "./api.js";
import { controlFor, markFields } from "./forms.js";

const PAUSE = 700; // milliseconds without a key

/** Calls `check` when the person pauses; it throws a `Problem` where saving would be refused. */
export function checkAsTyped(form, check) {
  const line = form.querySelector("[data-checked]");
  const seen = new WeakSet();
  let everything = false;
  let waiting = 0;
  let last = 0;

  async function run() {
    const mine = ++last;
    let problem = null;
    let answer = null;
    try {
      answer = await check();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problem = error;
    }
    if (mine === last && form.isConnected) show(problem, answer?.warnings || []);
  }

  function show(problem, warnings) {
    const shown = (problem?.errors || []).filter((one) => isAt(controlFor(form, one.field)));
    markFields(form, shown);
    tell(line, words(problem, shown.length, warnings));
    if (!shown.length) showProblem(form.querySelector("[data-problem]"), null);
  }

  function isAt(control) {
    return control !== null && (everything || seen.has(control));
  }

  function later(event) {
    if (event.target.type === "password" && event.type === "focusout" && !event.target.value) return;
    if (event.target.name) seen.add(event.target);
    clearTimeout(waiting);
    waiting = setTimeout(run, PAUSE);
  }

  form.addEventListener("input", later);
  form.addEventListener("change", later);
  form.addEventListener("submit", () => {
    everything = true;
    last += 1; // what is still being checked must not speak over what saving is answered
    clearTimeout(waiting);
  });
}

function words(problem, shown, warnings) {
  if (!problem) return ["Checked: this can be saved.", ...warnings.map((one) => `Note: ${one.message}.`)].join(" ");
  if (problem.status === 0) return "";
  if (!problem.errors.length) return `Saving would be refused: ${problem.message}`;
  if (!shown) return "Not complete yet.";
  return shown === 1 ? "One field needs a correction." : `${shown} fields need a correction.`;
}

function tell(line, text) {
  if (line.textContent !== text) line.textContent = text;
}
