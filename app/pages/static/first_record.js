/* Says without a reload when the first record has come, and tries a record without storing it. */
import { Problem, ask, say } from "./api.js";
import { askExactly, attempt, bodyOf } from "./forms.js";

const EVERY = 2_000; // ms
const SLOWLY = 10_000; // while nobody looks, or in trouble

export async function startWaiting(place) {
  const line = place.querySelector("[data-received]");
  if (line.classList.contains("good")) return;
  for (;;) {
    let pause = document.hidden ? SLOWLY : EVERY;
    try {
      const found = await ask("GET", place.dataset.path);
      if (found.payload_records.length) {
        line.className = "good";
        line.replaceChildren("First record received ✓ ", Object.assign(document.createElement("a"), { href: place.dataset.after, textContent: "Go on to the first check" }));
        return;
      }
      line.textContent = "No record has come yet. This line changes when the first one does.";
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      line.textContent = `${problem.message} It is asked again in ${SLOWLY / 1000} seconds.`;
      if (problem.status && problem.status < 500) return;
      pause = SLOWLY;
    }
    await new Promise((resolve) => { setTimeout(resolve, pause); });
  }
}

export function startDryRun(form) {
  const result = form.querySelector("[data-dry-result]");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    result.textContent = "";
    attempt(form, async () => {
      const { accepted, rejected, rejections } = await askExactly("POST", form.dataset.path, bodyOf(form).body);
      const refused = rejections.map((one) => `Record ${one.index + 1}, ${one.field}: ${one.reason}`);
      result.className = rejected ? "problem" : "good";
      result.textContent = [`Nothing was stored. ${accepted} would be accepted, ${rejected} refused.`, ...refused].join(" ");
      say(result.textContent);
    });
  });
}

/** Unless a person has typed one. */
export function offerExample(example) {
  const area = /** @type {HTMLTextAreaElement | null} */ (document.getElementById("dry-body"));
  if (area && area.value === "") area.value = JSON.stringify(example, null, 2);
}
