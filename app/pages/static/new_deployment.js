import { Problem } from "./api.js";
import { checkAsTyped } from "./checking.js";
import { DeploymentForm } from "./deployment_form.js";
import { showTest } from "./endpoint_test.js";
import { askExactly, attempt, onSubmit } from "./forms.js";
import { forgetEdits, keepEdits } from "./saved.js";

const form = document.getElementById("deployment-form");
const filled = new DeploymentForm(form);
filled.columns.add();
keepEdits(form);

checkAsTyped(form, () => askExactly("POST", "/v1/deployments?validate_only=true", filled.read().body));

onSubmit(form, async () => {
  const stored = await askExactly("POST", "/v1/deployments", filled.read().body);
  forgetEdits(form);
  location.assign(`/deployments/${encodeURIComponent(stored.id)}/configure`);
});

form.querySelectorAll("[data-test]").forEach((button) => button.addEventListener("click", () => attempt(form, async () => {
  const { body, records } = filled.read();
  if (!records) throw new Problem({ detail: "There is no record to ask about.", errors: [{ field: "records", message: "write the record that the model is to be asked about" }] }, 422);
  try {
    const result = await askExactly("POST", "/v1/endpoint-tests", { deployment: body, records, find_format: button.dataset.test === "find" });
    if (result.ok) filled.choose(result.payload_format);
    showTest(form.querySelector("[data-tested]"), result);
  } catch (problem) {
    if (problem instanceof Problem) problem.errors.forEach((one) => { one.field = one.field.replace(/^deployment\./, ""); });
    throw problem;
  }
})));
