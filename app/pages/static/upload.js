/* The training file itself is the body. */
import { Problem, exchange } from "./api.js";
import { attempt } from "./forms.js";
import { reloadSaying } from "./saved.js";

const TYPES = { csv: "text/csv", parquet: "application/vnd.apache.parquet", json: "application/json" };

export function startUpload(form) {
  const state = form.querySelector("[data-upload-state]");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const isStored = await attempt(form, async () => {
      const file = chosenIn(form);
      const query = new URLSearchParams({ label: form.elements.namedItem("label").value });
      const weight = form.elements.namedItem("weight").value.trim();
      if (weight) query.set("weight", weight);
      state.textContent = `Sending and reading ${file.name} (${size(file.size)}). This can take a minute.`;
      await exchange("PUT", `${form.dataset.path}?${query}`, file, TYPES[endingOf(file)]);
    });
    state.textContent = "";
    if (isStored) reloadSaying(form, "training", "Stored the training data.");
  });
}

function chosenIn(form) {
  const [file] = form.elements.namedItem("body").files;
  const message = file ? "must end in .csv, .parquet or .json" : "choose a file";
  if (file && TYPES[endingOf(file)]) return file;
  throw new Problem({ detail: "There is no file to upload.", errors: [{ field: "body", message }] }, 422);
}

function endingOf(file) {
  return file.name.split(".").at(-1).toLowerCase();
}

function size(bytes) {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
