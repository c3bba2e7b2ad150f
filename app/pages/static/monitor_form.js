/* The stored monitor is loaded whole, edited and sent whole. What has no control here stays. */
import { Problem } from "./api.js";
import { checkAsTyped } from "./checking.js";
import { show } from "./deployment_form.js";
import { writeExact, isExact, digitsOf } from "./exact.js";
import { askExactly, bodyOf, onSubmit, warnFields, warningWords } from "./forms.js";
import { startSearch } from "./filtered_list.js";
import { showNightlyCost } from "./nightly_cost.js";
import { Rows } from "./rows.js";
import { forgetEdits, keepEdits, reloadSaying } from "./saved.js";
import { writeGroupNames } from "./group_names.js";
import { showPersons } from "./persons.js";
import { writeValues } from "./values.js";

const OF_MONITOR = ["favourable", "unfavourable", "attributes", "intersections", "min_records", "max_records", "schedule", "metrics", "strata", "draws", "seed", "evidence", "attribution", "names"];
const OF_ATTRIBUTE = ["feature", "monitored", "reference", "threshold", "upper_threshold", "metric_limits", "correlated_features"];
const TYPES = { string: "Values are text.", integer: "Values are whole numbers, or ranges.", number: "Values are numbers, or ranges.", boolean: "Values are true or false." };

/** The form of whose records they are: the stored monitor is sent with nothing else changed. */
export function startPersons(form) {
  const path = form.dataset.apiPath;
  onSubmit(form, async () => {
    const { version: _, warnings: __, measured_metrics: ___, ...monitor } = await askExactly("GET", path);
    await askExactly("PUT", path, { ...monitor, evidence: { ...monitor.evidence, ...bodyOf(form).evidence } });
    reloadSaying(form, "persons", "Saved whose records they are.");
  });
}

export class MonitorForm {
  constructor(form) {
    this.form = form;
    this.path = form.dataset.apiPath;
    this.stored = {};
    const place = (name) => form.querySelector(`[data-rows=${name}]`);
    this.intersections = new Rows(place("intersections"), { made: (row, value) => this.#fillIntersection(row, value || []) });
    this.attributes = new Rows(place("attributes"), {
      made: (row, value) => this.#fillAttribute(row, value),
      changed: () => this.#renamed(),
    });
    this.ownMetrics = form.querySelector("[data-own-metrics]");
    const list = form.querySelector("[data-metrics]");
    this.searchMetrics = startSearch(form.querySelector("#m-metric-search"), list.querySelector(".choices"), form.querySelector("#m-metric-found"));
    this.ownMetrics.addEventListener("change", () => this.#arrangeMetrics());
    form.addEventListener("change", (event) => event.target.matches("[data-name=feature]") && this.#chosen(event.target.closest("[data-items] > *")));
    keepEdits(form);
    checkAsTyped(form, () => askExactly("PUT", `${this.path}?validate_only=true`, this.read()));
    onSubmit(form, () => this.#save(form, this.read()));
    form.elements.namedItem("attribution.max_rows").addEventListener("change", () => showNightlyCost(form));
    this.#wireJson();
  }

  async load() {
    if (this.form.dataset.stored === "yes") {
      this.fill(await askExactly("GET", this.path));
      showNightlyCost(this.form);
    } else this.attributes.add();
  }

  fill({ version, warnings, measured_metrics: _, ...monitor }) {
    this.stored = monitor;
    const { elements } = this.form;
    for (const name of ["favourable", "unfavourable"]) elements.namedItem(name).value = writeValues(monitor[name], elements.namedItem(name).dataset.type);
    for (const name of ["min_records", "max_records", "schedule", "strata", "draws", "seed"]) elements.namedItem(name).value = plain(monitor[name]);
    elements.namedItem("attribution.nightly").checked = monitor.attribution.nightly;
    elements.namedItem("attribution.max_rows").value = plain(monitor.attribution.max_rows);
    showPersons(elements.namedItem("evidence"), monitor.evidence);
    elements.namedItem("evidence.false_alarm_hours").value = plain(monitor.evidence.false_alarm_hours);
    elements.namedItem("names.favourable").value = monitor.names.favourable ?? "";
    elements.namedItem("names.groups").value = writeGroupNames(monitor.names.groups);
    this.attributes.replace(monitor.attributes);
    this.intersections.replace(monitor.intersections);
    this.ownMetrics.checked = monitor.metrics !== null;
    this.form.querySelectorAll("[name=metrics]").forEach((box) => { box.checked = (monitor.metrics || []).includes(box.value); });
    this.#arrangeMetrics();
    warnFields(this.form, warnings);
  }

  /** Throws a `Problem`. */
  read() {
    const body = bodyOf(this.form);
    const rows = this.attributes.items;
    this.#requireEachLimitOnce(rows);
    const whole = { attributes: [], intersections: [], metrics: null, strata: null, ...body };
    const monitor = { ...without(this.stored, OF_MONITOR), ...inThisOrder(OF_MONITOR, whole) };
    monitor.evidence = { ...this.stored.evidence, ...monitor.evidence };
    monitor.attributes = rows.map((row, no) => this.#readAttribute(row, body.attributes?.[no]));
    monitor.intersections = this.intersections.items.map((_, no) => (body.intersections?.[no] || []).filter((name) => name));
    if (monitor.metrics) monitor.metrics = inOrderOf(this.stored.metrics, monitor.metrics);
    return monitor;
  }

  #readAttribute(row, read) {
    const stored = row.stored || {};
    const named = { reference: null, upper_threshold: null, metric_limits: {}, ...read };
    const found = { ...without(stored, OF_ATTRIBUTE), ...inThisOrder(OF_ATTRIBUTE, named) };
    row.limits.items.forEach((limit) => { found.metric_limits[metricOf(limit)] ??= {}; });
    if (stored.rule) Object.assign(found, { monitored: stored.monitored, reference: stored.reference });
    found.correlated_features = inOrderOf(stored.correlated_features, read?.correlated_features || []);
    return found;
  }

  #requireEachLimitOnce(rows) {
    const errors = rows.flatMap((row, no) => {
      const keys = row.limits.items.map(metricOf);
      return keys.filter((key, at) => keys.indexOf(key) < at).map((key) => ({ field: `attributes[${no}].metric_limits.${key}.lower`, message: "this metric has limits in two rows; remove one" }));
    });
    if (errors.length) throw new Problem({ detail: "A metric has limits twice.", errors }, 422);
  }

  #fillAttribute(row, value) {
    const part = (name) => row.querySelector(`[data-name=${name}]`);
    row.stored = value;
    row.limits = new Rows(row.querySelector("[data-rows=limits]"), {
      prefix: (limit) => `attributes[${this.attributes.items.indexOf(row)}].metric_limits.${metricOf(limit)}`,
      made: (limit, found) => this.#fillLimit(row, limit, found),
    });
    row.querySelector("[data-correlated]").addEventListener("toggle", (event) => event.target.open && this.#strengths(row));
    if (value) {
      if (value.rule) this.#showRule(row, value);
      part("feature").value = value.feature;
      part("threshold").value = plain(value.threshold);
      part("upper_threshold").value = plain(value.upper_threshold);
      part("monitored").value = writeValues(value.monitored, typeOf(row));
      part("reference").value = writeValues(value.reference || [], typeOf(row));
      row.limits.replace(Object.entries(value.metric_limits));
      row.querySelector("[data-rows=limits]").closest("details").open = row.limits.items.length > 0;
      row.querySelectorAll("[data-name=correlated_features]").forEach((box) => { box.checked = value.correlated_features.includes(box.value); });
    }
    this.#chosen(row);
  }

  /** An attribute by a rule: limits can be changed here, the rule only in JSON. */
  #showRule(row, { feature, monitored, found_by }) {
    row.querySelector("[data-name=feature]").append(new Option(feature, feature));
    const groups = row.querySelector("[data-groups]");
    groups.disabled = true;
    groups.hidden = true;
    const origin = found_by ? ` Found by a search among ${found_by.subsets} groups (p = ${found_by.p_value}).` : "";
    row.querySelector("[data-rule]").textContent = `Monitored: ${monitored[0]}; reference: all others.${origin}`;
  }

  #fillLimit(row, limit, found) {
    if (found) {
      limit.querySelector("[data-metric]").value = found[0];
      limit.querySelector("[data-name=lower]").value = plain(found[1].lower);
      limit.querySelector("[data-name=upper]").value = plain(found[1].upper);
    }
    limit.querySelector("[data-metric]").addEventListener("change", () => row.limits.rename());
  }

  #fillIntersection(row, names) {
    row.querySelectorAll("[data-attribute]").forEach((select, no) => offer(select, this.#features(), names[no] || ""));
  }

  #chosen(row) {
    const option = row.querySelector("[data-name=feature]").selectedOptions[0];
    const type = option?.dataset.type;
    row.querySelectorAll("[data-as=values]").forEach((area) => { area.dataset.type = type || "any"; });
    row.querySelector("[data-column-type]").textContent = TYPES[type] || "";
    row.querySelector("[data-title]").textContent = option?.value ? `: ${option.value}` : "";
    const isMeta = option !== undefined && "meta" in option.dataset;
    const correlated = row.querySelector("[data-correlated]");
    correlated.hidden = !isMeta;
    correlated.querySelector("fieldset").disabled = !isMeta;
    this.#offerAttributes();
  }

  #renamed() {
    this.attributes?.items.forEach((row) => row.limits?.rename());
    this.#offerAttributes();
  }

  #features() {
    return (this.attributes?.items || []).map((row) => row.querySelector("[data-name=feature]").value).filter((name) => name);
  }

  #offerAttributes() {
    this.form.querySelectorAll("[data-attribute]").forEach((select) => offer(select, this.#features(), select.value));
  }

  #arrangeMetrics() {
    const boxes = [...this.form.querySelectorAll("[name=metrics]")];
    if (this.ownMetrics.checked && !boxes.some((box) => box.checked)) boxes.forEach((box) => { box.checked = "usual" in box.dataset; });
    show(this.form.querySelector("[data-metrics]"), this.ownMetrics.checked);
    this.searchMetrics();
  }

  async #strengths(row) {
    const line = row.querySelector("[data-strengths]");
    if (this.form.dataset.training !== "yes") {
      line.textContent = "Upload training data with this column first: they show which features go together with it.";
      return;
    }
    const feature = row.querySelector("[data-name=feature]").value;
    const found = await askExactly("GET", `${this.form.dataset.correlatedPath}?attribute=${encodeURIComponent(feature)}`);
    line.textContent = found.reason || `How strongly each goes together with ${feature} in the training data, from 0 to 1, corrected for chance, and the level that chance alone reaches. What is above both it and ${found.threshold} is recommended; pick all of these together.`;
    const strengths = new Map(found.features.map((one) => [one.feature, one]));
    row.querySelectorAll("[data-strength]").forEach((place) => { place.textContent = strengthWords(strengths.get(place.dataset.strength)); });
  }

  async #save(form, monitor) {
    const { warnings } = await askExactly("PUT", this.path, monitor);
    [this.form, form].forEach(forgetEdits);
    reloadSaying(form, "monitor", `Saved the fairness monitor. ${warningWords(warnFields(this.form, warnings || []))}`.trim());
  }

  #wireJson() {
    const form = /** @type {HTMLFormElement} */ (document.getElementById("monitor-json-form"));
    const details = /** @type {HTMLDetailsElement} */ (document.getElementById("monitor-json"));
    const read = () => bodyOf(form).monitor;
    details.addEventListener("toggle", () => { if (details.open) /** @type {HTMLTextAreaElement} */ (form.elements.namedItem("monitor")).value = writeExact(this.#presentOrStored(), 2); });
    keepEdits(form);
    checkAsTyped(form, () => askExactly("PUT", `${this.path}?validate_only=true`, read()));
    onSubmit(form, () => this.#save(form, read()));
  }

  #presentOrStored() {
    try {
      return this.read();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return this.stored;
    }
  }
}

function strengthWords(one) {
  if (!one) return "";
  const rest = one.can_be_picked ? "" : ", cannot be picked";
  if (one.strength === null) return `(${one.reason}${rest})`;
  const remark = one.recommended ? ", recommended" : one.strength > one.chance_level ? "" : ", no stronger than chance";
  return `(${one.strength.toFixed(3)}, chance ${one.chance_level.toFixed(3)}${remark}${rest})`;
}

function offer(select, names, chosen) {
  const none = select.options[0];
  const listed = chosen && !names.includes(chosen) ? [...names, chosen] : names;
  select.replaceChildren(none, ...listed.map((name) => new Option(name, name)));
  select.value = chosen;
}

function typeOf(row) {
  return row.querySelector("[data-name=feature]").selectedOptions[0]?.dataset.type || "any";
}

function metricOf(row) {
  return row.querySelector("[data-metric]").value;
}

function plain(value) {
  if (value === null || value === undefined) return "";
  return isExact(value) ? digitsOf(value) : String(value);
}

function without(whole, names) {
  return Object.fromEntries(Object.entries(whole).filter(([name]) => !names.includes(name)));
}

/** In the order of the documentation. */
function inThisOrder(names, whole) {
  return Object.fromEntries(names.filter((name) => name in whole).map((name) => [name, whole[name]]));
}

/** In the stored order, new members last: another order would be another monitor. */
function inOrderOf(stored, picked) {
  const kept = (stored || []).filter((one) => picked.includes(one));
  return [...kept, ...picked.filter((one) => !kept.includes(one))];
}
