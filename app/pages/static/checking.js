/* While a person types, REST says with validate_only=true what would be refused. Problems are shown without an alert or a change of focus,
   only at fields that the person has been at, until saving was tried. */
import { Problem, showProblem } from "./api.js";
import { controlFor, markFields, warnFields, warningWords } from "./forms.js";

const PAUSE = 700; // ms without a key

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
    let warnings = [];
    try {
      warnings = (await check())?.warnings || [];
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problem = error;
    }
    if (mine === last && form.isConnected) show(problem, warnings);
  }

  function show(problem, warnings) {
    const shown = (problem?.errors || []).filter((one) => isAt(controlFor(form, one.field)));
    markFields(form, shown);
    const elsewhere = warnFields(form, warnings);
    tell(line, problem ? words(problem, shown.length) : savable(warnings, elsewhere));
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
    last += 1; // must not speak over the answer to saving
    clearTimeout(waiting);
  });
}

function savable(warnings, elsewhere) {
  if (!warnings.length) return "Checked: this can be saved.";
  const marked = warnings.length > elsewhere.length ? ["Look at the warnings at the fields."] : [];
  return ["Checked: this can be saved, but there are warnings.", ...marked, warningWords(elsewhere)].join(" ").trim();
}

function words(problem, shown) {
  if (problem.status === 0) return "";
  if (!problem.errors.length) return `Saving would be refused: ${problem.message}`;
  if (!shown) return "Not complete yet.";
  return shown === 1 ? "One field needs a correction." : `${shown} fields need a correction.`;
}

function tell(line, text) {
  if (line.textContent !== text) line.textContent = text;
}
