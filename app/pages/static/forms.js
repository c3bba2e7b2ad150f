/* Forms that change something through REST v1.

   <form data-api="PATCH /v1/users/ada" data-after="reload"> … <p class="problem" data-problem hidden></p> </form>

   A control's name is its place in the body (`channels`, `endpoint.url`, `attributes[0].threshold`). `data-as`: text (default; an empty
   one is left out), number, integer, lines (a list), json, set (checked boxes of that name), flag, values (groups of `data-type`, see
   values.js), names (see group_names.js), persons (see persons.js), day (the end of a date, in UTC). `data-keep-empty` sends an empty text as
   null. `data-in-path` fills {its name} in the address; `data-must-be` has to be typed to confirm. `data-after`: reload (then `data-done`,
   in which {name} is the text of that choice, is in the element `done`), none (an event
   `done` with the answer), or an address in which {name} is filled from the answer. `data-ask` is a question to be confirmed first.
   A button may have its own `data-api`, `data-ask` and `data-deed`: controls in `data-only="some deeds"` are sent by these alone. */
import { Problem, exchange, say, showProblem } from "./api.js";
import { exactNumber, readExact, writeExact } from "./exact.js";
import { readGroupNames } from "./group_names.js";
import { readPersons } from "./persons.js";
import { readValues } from "./values.js";

/** Throws a `Problem` that names every control that cannot be read.

    @returns {Record<string, any>} */
export function bodyOf(form, deed) {
  const body = {};
  const faults = [];
  for (const control of form.elements) {
    const deeds = control.closest("[data-only]")?.dataset.only.split(" ");
    const isLeftOut = (deeds && !deeds.includes(deed)) || control.matches(":disabled") || "inPath" in control.dataset || (control.type === "radio" && !control.checked);
    if (!control.name || isLeftOut) continue;
    try {
      const value = valueOf(control, form);
      if (value !== undefined) put(body, control.name, value);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      faults.push({ field: control.name, message: error.message });
    }
  }
  if (faults.length) throw new Problem({ detail: "Some fields cannot be read.", errors: faults }, 422);
  return body;
}

class Unreadable extends Error {}

function valueOf(control, form) {
  if (control.dataset.mustBe !== undefined) return confirmed(control);
  const kind = control.dataset.as || "text";
  if (kind === "flag") return control.checked;
  if (kind === "set") {
    const checked = [...form.elements].filter((one) => one.name === control.name && one.checked && !one.matches(":disabled"));
    const chosen = checked.map((one) => one.value);
    return chosen.length === 0 && "omitEmpty" in control.dataset ? undefined : chosen;
  }
  if (kind === "persons") return readPersons(control);
  const text = kind === "text" && control.type === "password" ? control.value : control.value.trim();
  if (text === "" && control.required) throw new Unreadable("is required");
  if (control.title && control.validity.patternMismatch) throw new Unreadable(`must be ${control.title}`);
  if (text === "") return "keepEmpty" in control.dataset ? null : undefined;
  if (kind === "number") return numberOf(text);
  if (kind === "integer") return integerOf(text);
  if (kind === "lines") return text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  if (kind === "values") return groupsOf(text, control.dataset.type);
  if (kind === "names") return namesOf(text);
  if (kind === "json") return jsonOf(text);
  if (kind === "day") return `${text}T23:59:59Z`;
  return text;
}

function confirmed(control) {
  if (control.value.trim() !== control.dataset.mustBe) throw new Unreadable(`type ${control.dataset.mustBe} to confirm`);
  return undefined;
}

function numberOf(text) {
  if (/,\d{3}(?!\d)/.test(text)) throw new Unreadable("must be written without commas between thousands, and with a point before decimals");
  const number = Number(text.replace(",", "."));
  if (Number.isFinite(number)) return number;
  throw new Unreadable("must be a number");
}

function integerOf(text) {
  if (/^[+-]?\d+$/.test(text)) return exactNumber(text.replace("+", ""));
  throw new Unreadable("must be a whole number, written in digits only");
}

function groupsOf(text, type) {
  const { values, faults } = readValues(text, type);
  if (faults.length) throw new Unreadable(faults.join("; "));
  return values;
}

function namesOf(text) {
  const { names, faults } = readGroupNames(text);
  if (faults.length) throw new Unreadable(faults.join("; "));
  return names;
}

function jsonOf(text) {
  try {
    return readExact(text);
  } catch (error) {
    throw new Unreadable(`is not JSON: ${error.message}`);
  }
}

function put(body, name, value) {
  const steps = name.replace(/\[(\d+)\]/g, ".$1").split(".");
  let place = body;
  steps.slice(0, -1).forEach((step, no) => {
    place[step] ??= /^\d+$/.test(steps[no + 1]) ? [] : {};
    place = place[step];
  });
  place[steps.at(-1)] = value;
}

/** What belongs to no field is at the top of the form. */
export function showProblems(form, problem) {
  const left = markFields(form, problem ? problem.errors : []).map(({ field, message }) => `${field}: ${message}`);
  form.querySelectorAll("[aria-invalid]").forEach(reveal);
  const place = form.querySelector("[data-problem]");
  if (!place) return;
  const message = problem && problem.errors.length ? left.join("; ") || "Please correct the marked fields." : problem?.message;
  showProblem(place, problem ? Object.assign(new Error(message), { status: problem.status, requestId: problem.requestId }) : null);
}

/** Returns the problems that are about no control. */
export function markFields(form, problems) {
  for (const control of form.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
  clearNotes(form, NOTE);
  const { found, left } = byControl(form, problems);
  found.forEach((messages, control) => {
    control.setAttribute("aria-invalid", "true");
    note(control, messages.join("; "), NOTE, "field-problem");
  });
  return left;
}

/** Returns the warnings that are about no field. */
export function warnFields(form, warnings) {
  clearNotes(form, WARNING);
  const { found, left } = byControl(form, warnings);
  found.forEach((messages, control) => note(control, messages.join("; "), WARNING, "field-warning"));
  return left;
}

export function warningWords(warnings) {
  return (warnings || []).map(({ field, message }) => `Warning: ${field.match(/[a-z_]+(?=[^a-z_]*$)/)?.[0].replaceAll("_", " ") ?? ""}: ${message}${message.endsWith("?") ? "" : "."}`).join(" ");
}

function byControl(form, problems) {
  const found = new Map();
  const left = [];
  for (const one of problems) {
    const control = controlFor(form, one.field);
    if (control) found.set(control, [...(found.get(control) || []), placed(one, control)]);
    else left.push(one);
  }
  return { found, left };
}

/** The message, with the place inside the control's value. */
function placed({ field, message }, control) {
  const inside = field.startsWith(control.name) ? field.slice(control.name.length) : "";
  return inside.includes(".") ? `${inside.replace(/^\./, "")}: ${message}` : message;
}

export function controlFor(form, field) {
  // `monitored[1]` belongs to `monitored`, and a place may hold several controls.
  for (let name = field; name; name = name.replace(/(\[\d+\]|\.?[^.[\]]+)$/, "")) {
    const control = form.elements.namedItem(name);
    const first = control instanceof RadioNodeList ? control[0] : control;
    const inside = [...form.elements].find((one) => one.name?.startsWith(`${name}.`) || one.name?.startsWith(`${name}[`));
    const chosen = first || inside;
    if (chosen) return chosen.type === "hidden" || chosen.matches(":disabled") ? null : chosen;
  }
  return null;
}

const NOTE = "problem-of-";
const WARNING = "warning-of-";

function clearNotes(form, prefix) {
  form.querySelectorAll(`[aria-describedby*=${prefix}]`).forEach((control) => describe(control, (id) => !id.startsWith(prefix)));
  form.querySelectorAll(`[id^=${prefix}]`).forEach((one) => one.remove());
}

function note(control, message, prefix, className) {
  const line = document.createElement("p");
  line.className = className;
  line.id = prefix + `${control.id || control.name}`.replace(/[^\w-]/g, "-");
  line.textContent = message;
  describe(control, () => true, line.id);
  (control.closest("label") || control).after(line);
}

/** Keeps the description ids that pass, and adds one. */
function describe(control, passes, added) {
  const ids = (control.getAttribute("aria-describedby") || "").split(" ").filter((id) => id && passes(id));
  if (added) ids.push(added);
  if (ids.length) control.setAttribute("aria-describedby", ids.join(" "));
  else control.removeAttribute("aria-describedby");
}

function reveal(control) {
  for (let around = control.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
}

/** Disables the form's buttons meanwhile; shows what is refused, and focuses the first problem. */
export async function attempt(form, deed) {
  const buttons = [...form.querySelectorAll("button:enabled")];
  buttons.forEach((button) => { button.disabled = true; });
  try {
    await deed();
    showProblems(form, null);
    return true;
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    showProblems(form, problem);
    (form.querySelector("[aria-invalid]") || form.querySelector("[data-problem]"))?.focus();
    if (!form.querySelector("[data-problem]")) say(problem.message); // that place speaks for itself
    return false;
  } finally {
    buttons.forEach((button) => { button.disabled = false; });
  }
}

/** Attempts the deed in place of what a browser does with the form. */
export function onSubmit(form, deed) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(form, () => deed(event));
  });
}

/** Whole numbers stay exact. Throws a `Problem`. */
export async function askExactly(method, path, body) {
  const text = await exchange(method, path, body === undefined ? undefined : writeExact(body));
  return text === "" ? null : readExact(text);
}

async function send(form, button) {
  const [method, address] = (button?.dataset.api || form.dataset.api).split(" ");
  const path = address.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(form.elements.namedItem(name).value.trim()));
  const question = button?.dataset.ask || form.dataset.ask;
  if (question && !confirm(question)) return;
  await attempt(form, async () => {
    const body = bodyOf(form, button?.dataset.deed);
    follow(form, await askExactly(method, path, method === "DELETE" || ("bodyless" in form.dataset) ? undefined : body));
  });
}

function follow(form, answer) {
  const after = form.dataset.after || "reload";
  if (after === "none") form.dispatchEvent(new CustomEvent("done", { detail: answer, bubbles: true }));
  else if (after === "reload") {
    if (form.dataset.done) sessionStorage.setItem(DONE, form.dataset.done.replace(/\{(\w+)\}/g, (_, name) => form.elements.namedItem(name).selectedOptions[0].text));
    location.reload();
  } else location.assign(after.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(answer[name])));
}

const DONE = "done";
const done = document.getElementById(DONE);
if (done) {
  done.textContent = sessionStorage.getItem(DONE);
  sessionStorage.removeItem(DONE);
}

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (!form.dataset.api) return;
  event.preventDefault();
  send(form, event.submitter);
});
