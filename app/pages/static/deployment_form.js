import { bodyOf } from "./forms.js";
import { say } from "./api.js";
import { readExample } from "./examples.js";
import { isLabel, outputOf } from "./label_names.js";
import { writeExact } from "./exact.js";
import { Rows } from "./rows.js";
import { writeValues } from "./values.js";

const KEEP = "keep";
const WITH_TOKEN = ["oauth_client", "iam_key", "cpd_key", "mcsp_key"];
const NAMED = ["basic", "header", "oauth_client", "cpd_key"];

export class DeploymentForm {
  constructor(form) {
    this.form = form;
    this.columns = new Rows(form.querySelector("[data-rows=columns]"), {
      prefix: (row) => `${useOf(row)}[${this.columns.items.filter((one) => useOf(one) === useOf(row)).indexOf(row)}]`,
      made: (row, value) => this.#fillColumn(row, value),
    });
    form.querySelector("[data-endpoint]").addEventListener("change", () => this.#arrange());
    this.credentials.addEventListener("change", () => this.#arrange());
    form.querySelector("[data-propose]").addEventListener("click", () => this.#propose());
    this.#arrange();
  }

  get credentials() {
    return this.form.elements.namedItem("endpoint.credentials.kind");
  }

  /** Body without the `records` to test the endpoint with. Throws a `Problem`. */
  read() {
    // Columns that are used as labels stay here.
    const { records, label: _label, ...body } = bodyOf(this.form);
    body.features ??= [];
    body.meta ??= [];
    body.endpoint ??= null;
    if (body.endpoint) {
      body.endpoint.mapping = this.#mergedMapping(body.endpoint.mapping ?? null);
      const kind = body.endpoint.credentials?.kind;
      if (kind === undefined) body.endpoint.credentials = null;
      else if (kind === KEEP) delete body.endpoint.credentials;
      else body.endpoint.credentials.name ??= "";
      if (this.form.querySelector("[data-no-tls]")?.checked) body.endpoint.tls = null;
    }
    return { body, records: this.#onlyFeatures(records, body) };
  }

  fill(stored) {
    const { elements } = this.form;
    const put = (name, value) => { elements.namedItem(name).value = value ?? ""; };
    ["name", "owner", "purpose", "model_revision"].forEach((name) => put(name, stored[name]));
    ["prediction", "probability", "label"].forEach((name) => put(`outputs.${name}`, stored.outputs[name]));
    put("outputs.classes", writeValues(stored.outputs.classes ?? [], "any"));
    const listed = (part) => stored[part].map((column) => ({ ...column, use: part }));
    this.columns.replace([...listed("features"), ...listed("meta")]);
    this.form.querySelector("[data-endpoint]").checked = stored.endpoint !== null;
    if (stored.endpoint) {
      ["url", "payload_format", "timeout_seconds", "page_size", "concurrency", "requests_per_second"].forEach((name) => put(`endpoint.${name}`, stored.endpoint[name]));
    }
    this.mapping = stored.endpoint?.mapping ?? null;
    put("endpoint.mapping", this.mapping && JSON.stringify(this.mapping, null, 2));
    this.#fillCredentials(stored.endpoint?.credentials);
    this.#arrange();
  }

  /** Selects the format that a test found. */
  choose(format) {
    this.form.elements.namedItem("endpoint.payload_format").value = format;
    this.form.dispatchEvent(new Event("change"));
  }

  /** Merge patch of the stored mapping: names that are gone are null. */
  #mergedMapping(mapping) {
    if (!mapping || typeof mapping !== "object") return mapping;
    for (const part of ["columns", "outputs", "constants"]) {
      const gone = Object.keys(this.mapping?.[part] ?? {}).filter((name) => !(name in (mapping[part] ?? {})));
      if (gone.length) mapping[part] = { ...mapping[part], ...Object.fromEntries(gone.map((name) => [name, null])) };
    }
    return mapping;
  }

  #fillCredentials(stored) {
    this.credentials.querySelector(`[value=${KEEP}]`)?.remove();
    if (!stored) return;
    const name = stored.name ? `${stored.kind}, ${stored.name}` : stored.kind;
    this.credentials.prepend(new Option(`keep what is stored (${name})`, KEEP));
    this.credentials.value = KEEP;
  }

  #fillColumn(row, value) {
    const put = (name, text) => { row.querySelector(`[data-name=${name}]`).value = text; };
    if (value) {
      put("name", value.name);
      put("type", value.type);
      put("kind", value.kind || "");
      row.querySelector("[data-use]").value = value.use || "features";
    }
    row.querySelector("[data-use]").addEventListener("change", () => this.columns.rename());
  }

  #arrange() {
    show(this.form.querySelector("[data-endpoint-fields]"), this.form.querySelector("[data-endpoint]").checked);
    const kind = this.credentials.value;
    show(this.form.querySelector("[data-credentials-name]"), NAMED.includes(kind));
    show(this.form.querySelector("[data-credentials-token]"), WITH_TOKEN.includes(kind));
    show(this.form.querySelector("[data-credentials-secret]"), kind !== "" && kind !== KEEP);
  }

  #propose() {
    const problem = this.form.querySelector("[data-example-problem]");
    const example = this.form.querySelector("[data-example]");
    problem.textContent = "";
    example.removeAttribute("aria-invalid");
    let found;
    try {
      found = readExample(example.value);
    } catch (error) {
      problem.textContent = error.message;
      example.setAttribute("aria-invalid", "true");
      example.focus();
      return;
    }
    const there = this.columns.items.filter((row) => row.querySelector("[data-name=name]").value.trim() !== "").map(columnOf);
    const names = new Set(there.map((column) => column.name));
    this.columns.replace([...there, ...found.columns.filter((column) => !names.has(column.name)).map((column) => (isLabel(column.name) ? { ...column, use: "label" } : column))]);
    this.#takeOutputs(found.columns.filter((column) => !names.has(column.name)).map((column) => column.name));
    this.form.elements.namedItem("records").value = writeExact(found.record, 2);
    const labels = found.columns.filter((column) => !names.has(column.name) && isLabel(column.name)).map((column) => column.name);
    const left = labels.length ? ` ${labels.join(", ")}: named like a label or an answer, so it is not a feature. If it is one, change its use.` : "";
    const over = found.passedOver.length ? ` Left out, because they are not single values: ${found.passedOver.join(", ")}.` : "";
    say(`${found.columns.length} columns were read from the example.${over}`);
    this.form.querySelector("[data-proposed]").textContent = `Read ${found.columns.length} columns. Look at each type, and at whether it is a feature or only logged.${left}${over}`;
    this.columns.items[0].querySelector("input").focus();
    this.form.dispatchEvent(new Event("change"));
  }

  /** Where no output is named yet, or only the usual name is there. */
  #takeOutputs(names) {
    for (const name of names) {
      const output = outputOf(name);
      if (output === "prediction" || (output && !this.form.elements.namedItem(`outputs.${output}`).value)) this.form.elements.namedItem(`outputs.${output}`).value = name;
    }
  }

  #onlyFeatures(records, body) {
    if (records === undefined) return undefined;
    const names = new Set(body.features.map((column) => column.name));
    return [].concat(records).map((one) => (one && typeof one === "object" ? Object.fromEntries(Object.entries(one).filter(([name]) => names.has(name))) : one));
  }
}

function useOf(row) {
  return row.querySelector("[data-use]").value;
}

function columnOf(row) {
  const value = (name) => row.querySelector(`[data-name=${name}]`).value;
  return { name: value("name"), type: value("type"), kind: value("kind"), use: useOf(row) };
}

/** A hidden fieldset is no part of the body. */
export function show(fieldset, isShown) {
  fieldset.hidden = !isShown;
  fieldset.disabled = !isShown;
}
