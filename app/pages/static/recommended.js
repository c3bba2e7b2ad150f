/* Recommended monitors: what is ticked is accepted with one request. */
import { Problem, showProblem } from "./api.js";
import { isExact, digitsOf } from "./exact.js";
import { askExactly, bodyOf, onSubmit, warningWords } from "./forms.js";
import { show } from "./deployment_form.js";
import { reloadSaying } from "./saved.js";
import { writeValue, writeValues } from "./values.js";

const SOURCES = { training: "the training data", payload: "the newest records" };

export async function startRecommended(place) {
  try {
    new Recommended(place).fill(await askExactly("GET", place.dataset.path));
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    place.querySelector("[data-recommended-state]").textContent = "";
    showProblem(document.querySelector("[data-recommended-problem]"), problem);
  }
  place.setAttribute("aria-busy", "false");
}

class Recommended {
  constructor(place) {
    this.place = place;
    this.form = place.querySelector("form");
    this.holder = place.querySelector("[data-proposals]");
    this.template = place.querySelector("template[data-proposal]");
    if (this.form) onSubmit(this.form, () => this.#accept());
  }

  fill(found) {
    const many = found.proposals.length;
    this.place.querySelector("[data-recommended-state]").textContent = many ? `${many === 1 ? "One attribute is" : `${many} attributes are`} proposed.` : "Nothing is proposed.";
    found.proposals.forEach((proposal) => this.#add(proposal));
    if (this.form) this.form.hidden = many === 0;
    if (this.form && found.outcomes.origin !== "monitor") this.#fillOutcomes(found.outcomes);
    this.place.querySelector("[data-others]").append(...others(found));
  }

  #fillOutcomes({ favourable, unfavourable, evidence }) {
    show(this.form.querySelector("[data-outcomes]"), true);
    this.form.querySelector("[data-outcomes-evidence]").textContent = `Say once what is good for a person. ${favourable ? "Suggested" : "Not known"}: ${evidence}.`;
    for (const [name, values] of Object.entries({ favourable, unfavourable })) {
      const area = this.form.elements.namedItem(name);
      area.value = writeValues(values || [], area.dataset.type);
    }
  }

  #add(proposal) {
    const made = this.template.content.firstElementChild.cloneNode(true);
    const part = (name) => made.querySelector(`[${name}]`);
    part("data-title").textContent = `${proposal.feature}: ${proposal.kind.replaceAll("_", " ")}, ${proposal.confidence} confidence`;
    part("data-region").setAttribute("aria-label", `Groups of ${proposal.feature}`);
    part("data-evidence").append(...evidenceOf(proposal).flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
    part("data-warnings").append(...proposal.warnings.map((text) => element("p", text, "note")));
    part("data-groups").append(...proposal.groups.map(groupRow));
    this.holder.append(made);
    if (this.form) this.#fillControls(made, proposal);
    if (proposal.customary && differs(proposal, proposal.customary)) this.#offerCustomary(made, proposal);
  }

  /** Custom would compare other groups than the rates do: either may be chosen. */
  #offerCustomary(made, { feature, customary }) {
    const names = (values) => values.map(shown).join(", ");
    show(made.querySelector("[data-customary]"), true);
    made.querySelector("[data-customary-text]").textContent =
      [`Custom would compare ${names(customary.monitored)} with ${names(customary.reference)}: ${customary.reason}.`, ...customary.warnings].join(" ");
    const button = made.querySelector("[data-take-customary]");
    if (!button) return;
    button.textContent = `Take the customary groups of ${feature}`;
    button.addEventListener("click", () => {
      made.querySelector("[data-accept]").checked = true;
      this.#arrange();
      made.querySelectorAll("[data-as=values]").forEach((area) => { area.value = writeValues(customary[area.dataset.member], area.dataset.type); });
      made.querySelector("[data-member=monitored]").focus();
    });
  }

  #fillControls(made, proposal) {
    made.proposal = proposal;
    const box = made.querySelector("[data-accept]");
    made.querySelector("[data-accept-text]").textContent = `Watch ${proposal.feature}`;
    made.querySelector("[data-legend]").textContent = `Groups and limits of ${proposal.feature}`;
    made.querySelectorAll("[data-as=values]").forEach((area) => {
      const values = proposal[area.dataset.member] || [];
      area.dataset.type = typeOf([...proposal.monitored, ...proposal.reference]);
      area.value = writeValues(values, area.dataset.type);
    });
    made.querySelector("[data-member=threshold]").value = proposal.threshold;
    made.querySelector("[data-member=upper_threshold]").value = proposal.upper_threshold ?? "";
    box.checked = proposal.accepted_by_default;
    box.addEventListener("change", () => this.#arrange());
    this.#arrange();
  }

  /** Ticked proposals get their places in the list that is sent. */
  #arrange() {
    let no = 0;
    for (const made of this.holder.children) {
      const isTicked = made.querySelector("[data-accept]").checked;
      show(made.querySelector("[data-edit]"), isTicked);
      made.querySelectorAll("[data-member]").forEach((one) => { one.name = isTicked ? `attributes[${no}].${one.dataset.member}` : ""; });
      if (isTicked) no += 1;
    }
  }

  async #accept() {
    const ticked = [...this.holder.children].filter((made) => made.querySelector("[data-accept]").checked);
    if (!ticked.length) throw new Problem({ detail: "Tick at least one attribute." }, 422);
    const body = bodyOf(this.form);
    body.attributes = ticked.map((made, no) => ({ feature: made.proposal.feature, monitored: [], ...body.attributes[no] }));
    const { warnings } = await askExactly("POST", this.place.dataset.path, body);
    const accepted = `Accepted ${body.attributes.map((one) => one.feature).join(", ")} into the fairness monitor.`;
    reloadSaying(this.form, "monitor", `${accepted} ${warningWords(warnings)}`.trim());
  }
}

function differs(one, other) {
  const said = ({ monitored, reference }) => JSON.stringify([monitored, reference].map((values) => values.map(shown).sort()));
  return said(one) !== said(other);
}

function evidenceOf({ evidence, is_meta: isMeta }) {
  const at = new Date(evidence.at).toISOString().slice(0, 16).replace("T", " ");
  const missing = evidence.missing ? `, ${evidence.missing.toLocaleString("en")} of them without a value` : "";
  return [
    ...(evidence.name ? [["Name", evidence.name]] : []),
    ["Values", evidence.values],
    ["Seen in", `${SOURCES[evidence.data]}: ${evidence.records.toLocaleString("en")} records${missing} (${at} UTC)`],
    ["Reference", evidence.reference],
    ["Limits", evidence.threshold],
    ...(isMeta ? [["Use", "it is a meta field: the model does not see it"]] : []),
  ];
}

function groupRow(group) {
  const row = document.createElement("tr");
  const head = element("th", group.meaning && group.meaning !== shown(group.value) ? `${shown(group.value)} (${group.meaning})` : shown(group.value));
  head.scope = "row";
  const share = group.rate === null ? `– ${group.reason}` : `${percent(group.rate)} (${percent(group.lower)} to ${percent(group.upper)})`;
  row.append(head, element("td", group.role), element("td", group.records.toLocaleString("en"), "number"), element("td", share));
  return row;
}

function others({ already_monitored: already, not_proposed: passed }) {
  const lines = [];
  if (already.length) lines.push(element("p", `Watched already: ${already.map((one) => one.feature).join(", ")}.`));
  if (passed.length) {
    const list = document.createElement("ul");
    list.append(...passed.map((one) => element("li", `${one.feature} (${one.kind.replaceAll("_", " ")}): ${one.reason}`)));
    lines.push(element("p", "Examined and not proposed:"), list);
  }
  return lines;
}

/** By what was proposed, which has the column's type. */
function typeOf(values) {
  if (values.every((value) => typeof value === "boolean")) return "boolean";
  return values.every((value) => typeof value === "string" && !isExact(value)) ? "string" : "number";
}

function shown(value) {
  return isExact(value) ? digitsOf(value) : writeValue(value, "string");
}

function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

function element(kind, text, className = "") {
  return Object.assign(document.createElement(kind), { textContent: text, className });
}
