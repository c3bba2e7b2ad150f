/* After saving, the page is loaded again and says at its part what was saved. */
import { element } from "./api.js";

const KEY = "saved";
const edited = new Set();

/** Asks before the page is left with unsaved changes. */
export function keepEdits(form) {
  for (const kind of ["input", "change"]) form.addEventListener(kind, () => edited.add(form));
}

export function forgetEdits(form) {
  edited.delete(form);
}

export function reloadSaying(form, place, text) {
  forgetEdits(form);
  sessionStorage.setItem(KEY, JSON.stringify({ place, text }));
  history.replaceState(null, "", location.pathname); // a fragment would take the focus away
  history.scrollRestoration = "manual";
  location.reload();
}

/** The focus goes there. */
export function saySaved() {
  const stored = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  if (!stored) return;
  history.scrollRestoration = "auto";
  const { place, text } = JSON.parse(stored);
  const line = element("p", { className: "good", textContent: text, tabIndex: -1 });
  // After a step is done, the part may be on another page.
  (document.getElementById(place)?.querySelector("h2") ?? document.querySelector("h1")).after(line);
  line.focus();
}

addEventListener("beforeunload", (event) => {
  if (edited.size) event.preventDefault();
});
