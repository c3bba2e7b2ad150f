/* Each button stores its outcome as the label of its record; the next record takes the focus. */
import { element, say } from "./api.js";

for (const form of document.querySelectorAll("[data-label-form]")) {
  const label = /** @type {HTMLInputElement} */ (form.querySelector("input[name='records[0].label']"));
  let chosen = "";
  // Before the form is sent: the button says which label it is.
  form.addEventListener("click", (event) => {
    const button = /** @type {HTMLElement} */ (event.target).closest("[data-label-value]");
    if (!button) return;
    label.value = button.dataset.labelValue;
    chosen = button.querySelector("bdi").textContent;
  });
  form.addEventListener("done", () => {
    const badge = element("span", { className: "badge", textContent: `labelled ${chosen}`, tabIndex: -1 });
    const forms = [...document.querySelectorAll("[data-label-form]")];
    const next = forms[forms.indexOf(form) + 1]?.querySelector("button");
    form.replaceWith(badge);
    say(`Stored the label ${chosen}.`);
    (next ?? badge).focus();
  });
}
