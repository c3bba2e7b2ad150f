import { element } from "./api.js";
import { isExact, digitsOf } from "./exact.js";

/** Shows the result that REST gave. */
export function showTest(place, result) {
  const lines = result.ok ? answered(result) : [`The test failed after ${seconds(result.seconds)}: ${result.fault}`];
  place.className = result.ok ? "good" : "problem";
  lines.push(`Sent: ${result.sent}.`);
  if (result.read) lines.push(`Read: ${result.read}`);
  if (result.tried.length) lines.push(result.ok ? `The format that was found is ${result.payload_format}, and it is selected. Save it to use it.` : `No format gave a usable answer. The nearest is ${result.payload_format}.`);
  const tried = result.tried.map((one) => `Tried ${one.payload_format}: ${one.fault ?? one.read}`);
  place.replaceChildren(...lines.map(paragraph), ...tried.map(paragraph), ...result.warnings.map((text) => paragraph(`Note: ${text}`)));
  place.hidden = false;
  place.focus();
}

function answered(result) {
  const many = result.predictions.length;
  const lines = [`The model answered about ${many === 1 ? "one record" : `${many} records`} in ${seconds(result.seconds)}.`];
  result.predictions.forEach((one, no) => lines.push(`${many > 1 ? `Record ${no + 1}: ` : ""}${prediction(one)}`));
  if (result.outcome_reason) lines.push(result.outcome_reason);
  if (result.logged) {
    const same = { true: "the same as", false: "not the same as", null: "not compared with" }[String(result.same_as_logged)];
    lines.push(`That is ${same} what was logged of the record ${result.logged.id}, by revision ${result.logged.model_revision}.`);
  }
  return lines;
}

function prediction(one) {
  const parts = [`It predicts ${shown(one.prediction)}`];
  if (one.label !== null) parts.push(`which it calls ${shown(one.label)}`);
  if (one.probability !== null) parts.push(`with probability ${[].concat(one.probability).map(shown).join(" and ")}`);
  const outcome = one.outcome ? ` The monitor counts that as ${one.outcome}.` : "";
  return `${parts.join(", ")}.${outcome}`;
}

function shown(value) {
  return isExact(value) ? digitsOf(value) : JSON.stringify(value);
}

function seconds(taken) {
  return taken < 1 ? `${Math.round(taken * 1000)} ms` : `${taken.toFixed(1)} s`;
}

function paragraph(text) {
  return element("p", { textContent: text });
}
