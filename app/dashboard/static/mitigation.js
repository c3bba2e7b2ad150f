/* Mitigation settings: goals are of parity mode, and of the attributes that are chosen. */
import { show } from "./deployment_form.js";
import { askExactly, attempt, bodyOf } from "./forms.js";
import { reloadSaying } from "./saved.js";

export function startMitigation(form) {
  const mode = form.elements.namedItem("mode");
  const some = form.querySelector("[data-some]");
  const goals = [...form.querySelectorAll("[data-goal]")];
  const boxes = [...form.querySelectorAll("[name=attributes]")];

  function arrange() {
    show(form.querySelector("[data-attributes]"), some.checked);
    const chosen = boxes.filter((box) => !some.checked || box.checked).map((box) => box.value);
    goals.forEach((goal) => show(goal, mode.value === "parity" && chosen.includes(goal.dataset.goal)));
    goals.filter((goal) => !goal.disabled).forEach((goal, no) => {
      goal.querySelectorAll("[data-member]").forEach((one) => { one.name = `parity[${no}].${one.dataset.member}`; });
    });
  }

  form.addEventListener("change", arrange);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(form, async () => {
      const body = { parity: [], ...bodyOf(form) };
      goals.filter((goal) => !goal.disabled).forEach((goal, no) => { body.parity[no].attribute = goal.dataset.goal; });
      await askExactly("PUT", form.dataset.path, body);
      reloadSaying(form, "mitigation", "Saved how outcomes are mitigated.");
    });
  });
  arrange();
}
