/* Overview: filters at once, keys j and k, the page read again every 30 seconds. Focus, open rows and scrolled place stay. */
import { element, logInAddress, say } from "./api.js";
import { prepare } from "./tables.js";

const EVERY = 30_000; // ms
const TYPING = 200; // ms after the last letter
const KEYS = "fleet-keys";
const PARTS = ["needs", "fleet"];
const FOCUSABLE = "a[href], button, summary";
const [filter, live, pause, updated, keys] = ["filter", "live", "pause", "updated", "keys"].map((id) => document.getElementById(id));
let waiting = 0;
let typing = 0;
let asked = 0;

/** A later call replaces an earlier one. */
async function read(address, { isFilter = false } = {}) {
  const mine = ++asked;
  clearTimeout(waiting);
  const answer = await fetch(address, { headers: { Accept: "text/html" }, credentials: "same-origin" }).catch(() => null);
  const text = answer?.ok ? await answer.text().catch(() => "") : "";
  if (mine !== asked) return;
  const found = new DOMParser().parseFromString(text, "text/html");
  if (found.getElementById("fleet")) {
    const before = states(document);
    PARTS.forEach((id) => swap(document.getElementById(id), found.getElementById(id)));
    if (isFilter) say(`${document.querySelectorAll(".fleet tbody tr").length} deployments are listed.`);
    else announce(before, states(document));
    if (!isPaused()) updated.textContent = `Read at ${new Date().toLocaleTimeString([], { hour12: false })}, again every 30 seconds.`;
  } else if (answer?.redirected || answer?.status === 401) {
    updated.replaceChildren("You are no longer logged in, so this is not read again. ", element("a", { href: logInAddress(), textContent: "Log in" }));
    return;
  } else {
    updated.textContent = "The service does not answer. What is shown may be old; it is asked again in 30 seconds.";
  }
  wait();
}

function swap(old, made) {
  if (made) prepare(made.ownerDocument);
  if (!old || !made || old.outerHTML === made.outerHTML) return;
  const key = keyOf(document.activeElement);
  const open = new Set([...old.querySelectorAll("tr:has(details[open])")].map((row) => row.dataset.id));
  made.querySelectorAll("tr").forEach((row) => { if (open.has(row.dataset.id)) row.querySelector("details").open = true; });
  // A request that is under way must find its form again.
  if (old.querySelector("form[aria-busy='true']")) return;
  const within = old.contains(document.activeElement);
  old.replaceWith(document.adoptNode(made));
  if (within) (elementOf(made, key) ?? document.getElementById("content")).focus({ preventScroll: true });
}

/** Control, and row or line, with the focus. */
function keyOf(element) {
  const holder = element?.closest("[data-id], [data-key], .states, .fleet thead");
  if (!holder) return null;
  return { id: holder.dataset.id, line: holder.dataset.key, place: [...holder.querySelectorAll(FOCUSABLE)].indexOf(element) };
}

function elementOf(part, key) {
  if (!key) return null;
  const holders = [...part.querySelectorAll("[data-id], [data-key], .states, .fleet thead")];
  const holder = holders.find((one) => one.dataset.id === key.id && one.dataset.key === key.line);
  // Where that line is gone: the next one, or the whole part.
  const controls = holder?.querySelectorAll(FOCUSABLE);
  return controls?.[key.place] ?? controls?.[0] ?? part.querySelector(FOCUSABLE);
}

function states(page) {
  return new Map([...page.querySelectorAll("tr[data-id]")].map((row) => [row.dataset.id, { state: row.dataset.state, name: row.querySelector("th").textContent.trim() }]));
}

function announce(before, now) {
  const changed = [...now].filter(([id, one]) => before.has(id) && before.get(id).state !== one.state).map(([, one]) => `${one.name}: ${one.state}`);
  if (changed.length > 3) say(`${changed.length} deployments have another verdict.`);
  else if (changed.length) say(`${changed.join(". ")}.`);
}

function here() {
  return location.pathname + location.search;
}

function wait() {
  clearTimeout(waiting);
  if (!document.hidden && !isPaused()) waiting = setTimeout(() => read(here()), EVERY);
}

function isPaused() {
  return pause.getAttribute("aria-pressed") === "true";
}

/** With an address of its own. */
function choose(state = new URLSearchParams(location.search).getAll("state")) {
  const query = new URLSearchParams({ text: filter.elements.text.value });
  const present = new URLSearchParams(location.search);
  for (const name of ["order", "shown"]) if (present.has(name)) query.set(name, present.get(name));
  if (filter.elements.owner?.value) query.set("owner", filter.elements.owner.value);
  state.forEach((one) => query.append("state", one));
  history.replaceState(null, "", `/?${query}`);
  filter.querySelectorAll("input[name=state]").forEach((one) => one.remove());
  read(here(), { isFilter: true });
}

function move(step) {
  const rows = [...document.querySelectorAll(".fleet tbody tr")];
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step))];
  next?.querySelector("th a").focus();
  next?.scrollIntoView({ block: "nearest" });
}

if (filter) {
  live.hidden = false;
  document.querySelector("[data-without-script]").hidden = true;
  keys.checked = localStorage.getItem(KEYS) !== "off";
  keys.addEventListener("change", () => localStorage.setItem(KEYS, keys.checked ? "on" : "off"));

  filter.addEventListener("submit", (event) => { event.preventDefault(); choose(); });
  // The order is of all, not of those that are shown first.
  document.addEventListener("sorted", () => {
    if (!document.querySelector("a[data-more]")) return;
    const address = new URL(location.href);
    address.searchParams.set("shown", "1000");
    history.replaceState(null, "", address);
    read(here(), { isFilter: true });
  });
  filter.elements.owner?.addEventListener("change", () => choose());
  filter.elements.text.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(choose, TYPING); });
  document.addEventListener("click", (event) => {
    const target = /** @type {HTMLElement} */ (event.target).closest(".states a, a[data-more]");
    if (!target || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const wanted = new URL(target.href);
    if (target.matches("[data-more]")) {
      history.replaceState(null, "", wanted.pathname + wanted.search);
      read(here(), { isFilter: true });
    } else choose(wanted.searchParams.getAll("state"));
  });
  document.addEventListener("keydown", (event) => {
    const isTyping = /** @type {HTMLElement} */ (event.target).closest("input, select, textarea, dialog");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !keys.checked) return;
    if (event.key === "j" || event.key === "k") {
      event.preventDefault();
      move(event.key === "j" ? 1 : -1);
    }
  });
  document.addEventListener("done", () => { say("Acknowledged."); read(here()); });
  pause.addEventListener("click", () => {
    pause.setAttribute("aria-pressed", String(!isPaused()));
    updated.textContent = isPaused() ? "Not read again until you go on." : "Read again every 30 seconds.";
    pause.textContent = isPaused() ? "Go on" : "Pause";
    if (isPaused()) clearTimeout(waiting);
    else read(here());
  });
  document.addEventListener("visibilitychange", () => { if (document.hidden) clearTimeout(waiting); else if (!isPaused()) read(here()); });
  wait();
}
