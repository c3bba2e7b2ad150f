/* Cost of attributing the last day that has ended. Nothing is stored. */
import { Problem, ask } from "./api.js";

const DAY = 86400000; // ms
const count = new Intl.NumberFormat("en");
let newest = 0;

/** An answer to an earlier limit is dropped. */
export async function showNightlyCost(form) {
  const mine = ++newest;
  const line = document.getElementById("m-night-cost");
  if (form.dataset.stored !== "yes") return; // the line says so already
  const most = Number(form.elements.namedItem("attribution.max_rows").value);
  if (!Number.isInteger(most) || most < 1) {
    line.textContent = "What a night costs is not known without a whole number of rows.";
    return;
  }
  const to = Math.floor(Date.now() / DAY) * DAY;
  const range = { from: new Date(to - DAY).toISOString(), to: new Date(to).toISOString() };
  let words;
  try {
    words = wordsOf(await ask("POST", form.dataset.costsPath, { dry_run: true, ...range, max_rows: most }), range.from.slice(0, 10));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    words = `What a night costs is not known. ${[error.message, ...error.errors.map((one) => `${one.field}: ${one.message}.`)].join(" ")}`;
  }
  if (mine === newest) line.textContent = words;
}

function wordsOf({ method, records, rows, requests }, day) {
  if (!records) return `What a night costs is not known: no record of ${day} (UTC) was logged, nor an earlier one that would be read with them.`;
  if (method === "kitagawa") return "The deployment has no endpoint: a night asks the model about no row, and divides the records by their features.";
  const asked = `${count.format(rows)} ${rows === 1 ? "row" : "rows"} in ${count.format(requests)} ${requests === 1 ? "request" : "requests"}`;
  return `By the records of ${day} (UTC) and the stored monitor, a night asks the model about ${asked}.`;
}
