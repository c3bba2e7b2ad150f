/* Says without a reload when the first record has come, and tries a record without storing it. */
import { ask, element, poll, say } from "./api.js";
import { askExactly, bodyOf, onSubmit } from "./forms.js";

const EVERY = 2_000; // ms
const SLOWLY = 10_000; // while nobody looks, or in trouble

export async function startWaiting(place) {
  const line = place.querySelector("[data-received]");
  if (line.classList.contains("good")) return;
  async function look() {
    const found = await ask("GET", place.dataset.path);
    if (!found.payload_records.length) {
      line.textContent = "No record has come yet. This line changes when the first one does.";
      return false;
    }
    line.className = "good";
    line.replaceChildren("First record received ✓ ", element("a", { href: place.dataset.after, textContent: "Go on to the first check" }));
    return true;
  }

  function tell(problem) {
    line.textContent = `${problem.message} It is asked again in ${SLOWLY / 1000} seconds.`;
  }

  await poll(look, tell, EVERY, SLOWLY);
}

export function startDryRun(form) {
  const result = form.querySelector("[data-dry-result]");
  onSubmit(form, async () => {
    result.textContent = "";
    const { accepted, rejected, rejections } = await askExactly("POST", form.dataset.path, bodyOf(form).body);
    const refused = rejections.map((one) => `Record ${one.index + 1}, ${one.field}: ${one.reason}`);
    result.className = rejected ? "problem" : "good";
    result.textContent = [`Nothing was stored. ${accepted} would be accepted, ${rejected} refused.`, ...refused].join(" ");
    say(result.textContent);
  });
}

/** Unless a person has typed one. */
export function offerExample(example) {
  const area = /** @type {HTMLTextAreaElement | null} */ (document.getElementById("dry-body"));
  if (area && area.value === "") area.value = JSON.stringify(example, null, 2);
}
