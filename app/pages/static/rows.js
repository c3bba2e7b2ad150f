/* Rows of controls that a person adds and removes.

   <div data-rows="intersections" data-what="intersection"> <template> one row </template> <div data-items></div>
     <button type="button" data-add>Add an intersection</button> </div>

   In a row `data-name` ends a control's name, `data-aria` is its label without the row's number, `data-no` a place for that number,
   `data-remove` the button. Names are given again at every change. */
import { say } from "./api.js";

export class Rows {
  /** `prefix(row, no)` begins the names in a row; `made(row, value)` fills a new one; `changed()` is called at every change.

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

  /** Forms keep what belongs to a row on its element.

      @returns {any[]} */
  get items() {
    return [...this.holder.children];
  }

  add(value = undefined) {
    const row = /** @type {HTMLElement} */ (this.template.content.firstElementChild.cloneNode(true));
    this.holder.append(row);
    this.made(row, value);
    const button = [...row.querySelectorAll("[data-remove]")].find((one) => one.closest("[data-items] > *") === row);
    button.addEventListener("click", () => this.remove(row));
    this.rename();
    return row;
  }

  /** Focus goes to the row in its place, else the last one, else the button that adds one. */
  remove(row) {
    const no = this.items.indexOf(row);
    row.remove();
    this.rename();
    const next = this.items[Math.min(no, this.items.length - 1)];
    (next ? firstIn(next) : this.button).focus();
    this.holder.dispatchEvent(new Event("change", { bubbles: true }));
    say(`Removed ${this.what} ${no + 1}. ${this.items.length} left.`);
  }

  replace(values) {
    this.holder.replaceChildren();
    values.forEach((value) => this.add(value));
    this.rename();
  }

  /** Names and labels follow the row's present place. */
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
