/* A click on a column's head sorts the rows of its table, kept in the address as `order=TABLE-COLUMN-up`; arrow keys move between heads.

   A cell's value is its `data-value`, the moment of its `<time>`, the gravity of its badge, else its number or text; rows without one are last.
   A table that fits into its frame has its head under the window's top, a wider one under the frame's. */
import { say } from "./api.js";

const GRAVITY = "unfair failing failed open rejected suspected unwatched stale acknowledged running queued undecided waiting insufficient_data not_computable fair succeeded resolved".split(" ");
const DAY = /^\d{4}-\d\d/;
const places = new WeakMap();
const prepared = new WeakSet();

export function prepare(root = document) {
  const chosen = /^(\d+)-(\d+)-(up|down)$/.exec(new URLSearchParams(location.search).get("order") ?? "");
  [...root.querySelectorAll("main table")].forEach((table, no) => {
    if (table.tBodies.length !== 1 || table.tBodies[0].rows.length < 2 || table.matches(".entry") || prepared.has(table)) return;
    prepared.add(table);
    const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
    heads.filter((head) => head.textContent.trim() && !head.matches("[data-unsorted]") && !head.querySelector("svg, input")).forEach(addButton);
    if (Number(chosen?.[1]) === no && heads[Number(chosen[2])]) sort(table, heads[Number(chosen[2])], chosen[3]);
    roam(table, table.querySelector("[aria-sort] button.order"));
    if (table.parentElement.matches(".scroll")) widths.observe(table.parentElement);
  });
}

const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) target.classList.toggle("fits", target.firstElementChild.scrollWidth <= target.clientWidth);
});

/** A word of the glossary in a head stays a button of its own. */
function addButton(head) {
  const button = head.ownerDocument.createElement("button");
  Object.assign(button, { type: "button", className: "order", tabIndex: -1 });
  if (head.querySelector("button")) {
    button.ariaLabel = `Sort by ${nameOf(head)}`;
    head.append(" ", button);
  } else {
    button.append(...head.childNodes);
    head.append(button);
  }
}

/** One head of a table is a stop of the Tab key. */
function roam(table, button) {
  table.querySelectorAll("button.order").forEach((other, no) => { other.tabIndex = (button ? other === button : no === 0) ? 0 : -1; });
}

function sort(table, head, way) {
  const column = [...head.parentElement.cells].slice(0, head.cellIndex).reduce((sum, { colSpan }) => sum + colSpan, 0);
  const rows = [...table.tBodies[0].rows];
  rows.forEach((row, no) => { if (!places.has(row)) places.set(row, no); });
  const values = new Map(rows.map((row) => [row, way ? valueOf(row, column) : ""]));
  const sign = way === "down" ? -1 : 1;
  rows.sort((first, second) => compare(values.get(first), values.get(second), sign) || places.get(first) - places.get(second));
  table.tBodies[0].append(...rows);
  table.querySelector("[aria-sort]")?.removeAttribute("aria-sort");
  if (way) head.ariaSort = way === "up" ? "ascending" : "descending";
}

function valueOf(row, column) {
  let at = 0;
  for (const cell of row.cells) {
    if (at === column) {
      const gravity = GRAVITY.findIndex((state) => cell.querySelector(".badge")?.classList.contains(state));
      const text = cell.dataset.value ?? cell.querySelector("time")?.dateTime ?? (gravity < 0 ? cell.textContent.trim() : String(gravity));
      return text === "–" ? "" : text;
    }
    at += cell.colSpan;
  }
  return "";
}

function compare(first, second, sign) {
  if (!first || !second) return Number(!first) - Number(!second);
  const numbers = [first, second].map((text) => (DAY.test(text) ? NaN : parseFloat(text.replaceAll(",", "").replace("−", "-"))));
  return sign * (numbers.some(Number.isNaN) ? first.localeCompare(second, undefined, { numeric: true }) : numbers[0] - numbers[1]);
}

/** Without the explanation of its word. */
function nameOf(head) {
  const shown = head.cloneNode(true);
  shown.querySelectorAll("[popover]").forEach((explanation) => explanation.remove());
  return shown.textContent.trim().replace(/\s+/g, " ");
}

document.addEventListener("click", ({ target }) => {
  const button = /** @type {Element} */ (target).closest("button.order");
  if (!button) return;
  const head = button.closest("th");
  const table = head.closest("table");
  const way = { ascending: "down", descending: "" }[head.ariaSort] ?? "up";
  sort(table, head, way);
  roam(table, button);
  const address = new URL(location.href);
  if (way) address.searchParams.set("order", `${[...document.querySelectorAll("main table")].indexOf(table)}-${head.cellIndex}-${way}`);
  else address.searchParams.delete("order");
  history.replaceState(history.state, "", address);
  const part = document.querySelector("a[rel=next], a[data-more]") ? ", the rows of this page" : "";
  say(way ? `Sorted by ${nameOf(head)}, ${head.ariaSort}${part}.` : "In the first order again.");
  document.dispatchEvent(new Event("sorted"));
});

document.addEventListener("keydown", (event) => {
  const button = /** @type {Element} */ (event.target).closest("button.order");
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!button || !step) return;
  event.preventDefault();
  const table = button.closest("table");
  const buttons = [...table.querySelectorAll("button.order")];
  const next = buttons[buttons.indexOf(button) + step];
  if (!next) return;
  roam(table, next);
  next.focus();
});

prepare();
new MutationObserver(() => prepare()).observe(document.body, { childList: true, subtree: true });
