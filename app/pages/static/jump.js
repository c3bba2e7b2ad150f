/* Ctrl-K or Command-K: jump to a deployment by its name. */
const TYPING = 150; // ms after the last letter
const MOST = 8;
let dialog;
let waiting = 0;
let asked = 0;

function build() {
  dialog = document.createElement("dialog");
  dialog.className = "jump";
  dialog.setAttribute("aria-label", "Jump to a deployment");
  const label = Object.assign(document.createElement("label"), { htmlFor: "jump-text", textContent: "Jump to a deployment" });
  const input = Object.assign(document.createElement("input"), { id: "jump-text", type: "search", maxLength: 200, autocomplete: "off" });
  input.setAttribute("aria-describedby", "jump-status");
  const list = document.createElement("ul");
  const status = Object.assign(document.createElement("p"), { id: "jump-status", className: "hint" });
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
  const names = [...found.querySelectorAll(".fleet th[scope=row] a")];
  list.dataset.of = text;
  list.replaceChildren(...names.map((one) => {
    const item = document.createElement("li");
    const link = Object.assign(document.createElement("a"), { href: one.getAttribute("href") });
    link.append(Object.assign(document.createElement("bdi"), { textContent: one.textContent.trim() }));
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
