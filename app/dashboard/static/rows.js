/* Rows of controls that a person adds and removes.

   <div data-rows="intersections" data-what="intersection"> <template> one row </template> <div data-items></div>
     <button type="button" data-add>Add an intersection</button> </div>

   In a row `data-name` is the end of a control's name, `data-aria` its label without the row's number, `data-no` a place for that number,
   `data-remove` the button that removes it. Names are given again whenever rows come, go or change. */
import { say } from "./api.js";

export class Rows {
  /** `prefix(row, no)` gives the first part of the names in a row; `made(row, value)` fills a new one; `changed()` is called at every change.

      @param {HTMLElement} place
      @param {{ prefix?: (row: any, no: number) => string, made?: (row: any, value: any) => void, changed?: () => void }} options */
  constructor(place, { prefix, made = () => {}, changed = () => {} } = {}) {
    this.what = place.dataset.what;
    this.template = /** @type {HTMLTemplateElement} */ (place.querySelector(":scope > template, :scope > * > template"));
    this.holder = place.querySelector("[data-items]");
    this.button = [...place.querySelectorAll("[data-add]")].find((one) => one.closest("[data-rows]") === place);
    this.prefix = prefix || ((row, no) => `${place.dataset.rows}[${no}]`);
    this.made = made;
    this.changed = changed;
    this.button.addEventListener("click", () => firstIn(this.add()).focus());
  }

  /** The rows; forms keep what belongs to one on its element.

      @returns {any[]} */
  get items() {
    return [...this.holder.children];
  }

  /** One more row at the end, filled from `value`. */
  add(value = undefined) {
    const row = /** @type {HTMLElement} */ (this.template.content.firstElementChild.cloneNode(true));
    this.holder.append(row);
    this.made(row, value);
    const button = [...row.querySelectorAll("[data-remove]")].find((one) => one.closest("[data-items] > *") === row);
    button.addEventListener("click", () => this.remove(row));
    this.rename();
    return row;
  }

  /** Takes a row away; the focus goes to the one that takes its place, else to the last one, else to the button that adds one. */
  remove(row) {
    const no = this.items.indexOf(row);
    row.remove();
    this.rename();
    const next = this.items[Math.min(no, this.items.length - 1)];
    (next ? firstIn(next) : this.button).focus();
    this.holder.dispatchEvent(new Event("change", { bubbles: true }));
    say(`Removed ${this.what} ${no + 1}. ${this.items.length} left.`);
  }

  /** As many rows as there are values. */
  replace(values) {
    this.holder.replaceChildren();
    values.forEach((value) => this.add(value));
    this.rename();
  }

  /** Gives every control its name and label by the place where its row is now. */
  rename() {
    this.items.forEach((row, no) => {
      const own = (selector) => [...row.querySelectorAll(selector)].filter((one) => one.closest("[data-items] > *") === row);
      const prefix = this.prefix(row, no);
      own("[data-name]").forEach((one) => { one.name = joined(prefix, one.dataset.name); });
      own("[data-aria]").forEach((one) => one.setAttribute("aria-label", `${one.dataset.aria} ${no + 1}`));
      own("[data-no]").forEach((one) => { one.textContent = no + 1; });
    });
    this.changed();
  }
}

function joined(prefix, name) {
  return name === "" || name.startsWith("[") ? prefix + name : `${prefix}.${name}`;
}

function firstIn(row) {
  return row.querySelector("input:enabled, select:enabled, textarea:enabled, button:enabled");
}
