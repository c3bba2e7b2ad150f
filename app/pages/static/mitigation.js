import { show } from "./deployment_form.js";
import { askExactly, bodyOf, onSubmit } from "./forms.js";
import { reloadSaying } from "./saved.js";

export function startMitigation(form) {
  const some = form.querySelector("[data-some]");

  function arrange() {
    show(form.querySelector("[data-attributes]"), some.checked);
  }

  form.addEventListener("change", arrange);
  onSubmit(form, async () => {
    await askExactly("PUT", form.dataset.path, bodyOf(form));
    reloadSaying(form, "mitigation", "Saved how outcomes are mitigated.");
  });
  arrange();
}
