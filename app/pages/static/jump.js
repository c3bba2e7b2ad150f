/* Ctrl-K or Command-K: jump to a deployment, a page or a group of this one by its name. ? says the keys. */
import { element } from "./api.js";

const TYPING = 150; // ms after the last letter
const MOST = 8;
const PLACES = "nav[aria-label=Main] a, nav[aria-label='Of this deployment'] a, table.forest a[data-row]";
let dialog;
let waiting = 0;
let asked = 0;

function build() {
  dialog = document.createElement("dialog");
  dialog.className = "jump";
  dialog.setAttribute("aria-label", "Jump to a deployment, page or group");
  const label = element("label", { htmlFor: "jump-text", textContent: "Jump to a deployment, page or group" });
  const input = element("input", { id: "jump-text", type: "search", maxLength: 200, autocomplete: "off" });
  input.setAttribute("aria-describedby", "jump-status");
  const list = document.createElement("ul");
  const status = element("p", { id: "jump-status", className: "hint" });
  status.setAttribute("role", "status");
  dialog.append(label, input, list, status);
  document.body.append(dialog);

  input.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(find, TYPING); });
  dialog.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    const at = links.indexOf(/** @type {any} */ (document.activeElement));
    if (event.key === "Enter" && at < 0) {
      event.preventDefault();
      if (list.dataset.of === input.value) links[0]?.click();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const next = at + (event.key === "ArrowDown" ? 1 : -1);
      (next < 0 ? input : links[Math.min(next, links.length - 1)])?.focus();
    }
  });
}

async function find() {
  const mine = ++asked;
  const [input, list, status] = [dialog.querySelector("input"), dialog.querySelector("ul"), dialog.querySelector("[role=status]")];
  const text = input.value;
  const wanted = new URLSearchParams({ text, sort: "name", shown: String(MOST) });
  const answer = await fetch(`/?${wanted}`, { credentials: "same-origin" }).catch(() => null);
  const page = answer?.ok ? await answer.text().catch(() => "") : "";
  if (mine !== asked) return;
  const found = new DOMParser().parseFromString(page, "text/html");
  const here = text.trim() ? [...document.querySelectorAll(PLACES)].filter((one) => one.textContent.toLowerCase().includes(text.trim().toLowerCase())) : [];
  const names = [...found.querySelectorAll(".fleet th[scope=row] a"), ...here];
  list.dataset.of = text;
  list.replaceChildren(...names.map((one) => {
    const item = document.createElement("li");
    const link = element("a", { href: one.getAttribute("href") });
    link.append(element("bdi", { textContent: one.textContent.trim() }));
    item.append(link);
    return item;
  }));
  if (found.getElementById("fleet") || found.querySelector(".inbox")) status.textContent = names.length ? `${names.length} found. Enter opens the first.` : "No deployment fits.";
  else status.textContent = "The names cannot be read now. Log in again, or try later.";
}

function open() {
  if (!dialog) build();
  if (dialog.open) return;
  dialog.showModal();
  dialog.querySelector("input").select();
  find();
}

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    open();
  }
});
const button = document.getElementById("jump-open");
if (button) {
  button.hidden = false;
  button.addEventListener("click", open);
}

const KEYS = [["Ctrl K", "jump to a deployment, page or group"], ["j k Enter", "move through the overview, open one"], ["← → ↑ ↓", "bars and groups of a chart"], ["Shift ← →", "mark a time of a chart, Enter shows it"], ["Esc", "close"]];

document.addEventListener("keydown", (event) => {
  if (event.key !== "?" || event.ctrlKey || event.metaKey || /** @type {Element} */ (event.target).closest("input, select, textarea, dialog")) return;
  const help = element("dialog", { className: "jump" });
  help.setAttribute("aria-label", "Keys");
  const list = document.createElement("dl");
  list.className = "facts";
  KEYS.forEach(([key, words]) => list.append(element("dt", { textContent: key }), element("dd", { textContent: words })));
  help.append(list);
  help.addEventListener("close", () => help.remove());
  document.body.append(help);
  help.showModal();
});

/** Open menus close like those of the browser. */
function closeMenus(keep) {
  document.querySelectorAll("details.menu[open]").forEach((menu) => { if (!menu.contains(keep)) /** @type {HTMLDetailsElement} */ (menu).open = false; });
}
document.addEventListener("click", ({ target }) => closeMenus(/** @type {Node} */ (target)));
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.activeElement?.closest("details.menu[open]");
  if (!menu) return;
  closeMenus(null);
  menu.querySelector("summary").focus();
});

// A phone shows a part of a row of tabs: the one with the open tab.
for (const tab of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".tabs [aria-current]"))) {
  const row = tab.closest(".tabs");
  row.scrollLeft = tab.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
}
