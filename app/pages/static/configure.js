import { startRecommended } from "./recommended.js";
import { startSnippets } from "./snippets.js";
import { startDryRun, startWaiting } from "./first_record.js";
import { startUpload } from "./upload.js";
import { startMitigation } from "./mitigation.js";
import { checkAsTyped } from "./checking.js";
import { DeploymentForm } from "./deployment_form.js";
import { showTest } from "./endpoint_test.js";
import { askExactly, attempt, bodyOf, onSubmit } from "./forms.js";
import { MonitorForm, startPersons } from "./monitor_form.js";
import { startChannel } from "./channel_step.js";
import { keepEdits, reloadSaying, saySaved } from "./saved.js";

function startDeployment(form) {
  const filled = new DeploymentForm(form);
  const path = form.dataset.path;
  let format = null;
  keepEdits(form);
  document.addEventListener("format-found", (event) => {
    format = event.detail;
    filled.choose(format);
    form.closest("details").open = true;
  });
  checkAsTyped(form, () => askExactly("PATCH", `${path}?validate_only=true`, filled.read().body));
  onSubmit(form, async () => {
    await askExactly("PATCH", path, filled.read().body);
    reloadSaying(form, "model", "Saved the model and endpoint.");
  });
  whenOpened(form, async () => {
    filled.fill(await askExactly("GET", path));
    if (format) filled.choose(format);
  });
}

function startTest(form) {
  onSubmit(form, async (event) => {
    form.querySelector("[data-tested]").hidden = true;
    const { records } = bodyOf(form);
    const body = { ...(records === undefined ? {} : { records: [].concat(records) }), find_format: event.submitter?.value === "find" };
    const result = await askExactly("POST", form.dataset.path, body);
    if (result.ok && body.find_format) document.dispatchEvent(new CustomEvent("format-found", { detail: result.payload_format }));
    showTest(form.querySelector("[data-tested]"), result);
  });
}

function startMonitor(form) {
  const filled = new MonitorForm(form);
  whenOpened(form, () => filled.load());
}

/** What is folded away asks for nothing. */
function whenOpened(form, load) {
  const start = async () => {
    form.setAttribute("aria-busy", "true");
    form.inert = true; // typed values would be replaced by the stored ones
    await attempt(form, load);
    form.inert = false;
    form.setAttribute("aria-busy", "false");
  };
  const details = form.closest("details");
  if (details.open) start();
  else details.addEventListener("toggle", start, { once: true });
}

for (const [id, start] of Object.entries({
  "deployment-form": startDeployment,
  "endpoint-test": startTest,
  "monitor-form": startMonitor,
  "recommended-monitors": startRecommended,
  "persons-form": startPersons,
  "channel-form": startChannel,
  "training-form": startUpload,
  "mitigation-form": startMitigation,
  "first-record": startWaiting,
  "dry-run": startDryRun,
})) {
  const place = document.getElementById(id);
  if (place) start(place);
}
const snippets = document.querySelector("[data-snippets]");
if (snippets) startSnippets(snippets);
saySaved();
