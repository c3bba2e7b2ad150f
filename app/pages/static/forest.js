/* Drawer of the forest: opens over the page, under its own address. Without this script its link leads there. */
import { isPlain } from "./api.js";
import { offerToExplain } from "./attributing.js";

const home = () => /** @type {HTMLDialogElement | null} */ (document.getElementById("drawer"));

/** Address of the open row; focus returns to its link. */
let opener = location.search;

function show(dialog, address) {
  if (dialog.open) dialog.close();
  dialog.showModal();
  dialog.querySelector("#drawer-title").focus();
  offerToExplain();
  const playbook = /** @type {HTMLDetailsElement | null} */ (dialog.querySelector("#what-now"));
  if (playbook && new URL(address, location.href).hash === "#what-now") {
    playbook.open = true;
    playbook.querySelector("summary").focus();
  }
  dialog.addEventListener("cancel", (event) => { event.preventDefault(); leave(); });
  dialog.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    // The backdrop belongs to the dialog itself.
    if (target === dialog && !within(dialog, event)) leave();
    else if (target.closest("#drawer-close") && isPlain(event)) { event.preventDefault(); leave(); }
    else if (target.closest("[data-leave]")) dialog.close();
  });
}

function within(dialog, { clientX, clientY }) {
  const box = dialog.getBoundingClientRect();
  return clientX >= box.left && clientX <= box.right && clientY >= box.top && clientY <= box.bottom;
}

function leave() {
  const dialog = home();
  const left = new URL(dialog.dataset.close || "?", location.href);
  history.pushState(null, "", left.pathname + left.search); // without an empty question mark
  remove(dialog);
}

function remove(dialog) {
  dialog.close();
  dialog.remove();
  document.querySelectorAll("tr.open").forEach((row) => row.classList.remove("open"));
  const link = [...document.querySelectorAll("a[data-row]")].find((one) => /** @type {HTMLAnchorElement} */ (one).search === opener);
  /** @type {HTMLElement} */ (link)?.focus();
}

/** Where it cannot be read, the page itself opens. */
async function open(address) {
  const answer = await fetch(address, { credentials: "same-origin", headers: { Accept: "text/html" } }).catch(() => null);
  const found = answer?.ok ? new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("drawer") : null;
  if (!found) return location.assign(address);
  home()?.remove();
  opener = new URL(address, location.href).search;
  const dialog = /** @type {HTMLDialogElement} */ (document.adoptNode(found));
  document.querySelector(".forest-section").append(dialog);
  show(dialog, address);
}

document.addEventListener("click", async (event) => {
  const link = /** @type {HTMLAnchorElement | null} */ (/** @type {Element} */ (event.target).closest("a[data-row]"));
  if (!link || !isPlain(event)) return;
  event.preventDefault();
  await open(link.href);
  history.pushState(null, "", link.href);
});

addEventListener("popstate", () => {
  const dialog = home();
  if (new URLSearchParams(location.search).has("group")) open(location.href);
  else if (dialog) remove(dialog);
});

if (home()) show(home(), location.href);
