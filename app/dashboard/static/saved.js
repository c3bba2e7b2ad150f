/* After saving: the page is loaded again and says at its part what was saved. Before it: leaving asks first, so that nothing typed is lost. */
const KEY = "saved";
const edited = new Set();

/** Asks before the page is left while the form holds something that was not saved. */
export function keepEdits(form) {
  for (const kind of ["input", "change"]) form.addEventListener(kind, () => edited.add(form));
}

/** The form is saved: it may be left. */
export function forgetEdits(form) {
  edited.delete(form);
}

/** Loads the page again and says `text` at the part with that id. */
export function reloadSaying(form, place, text) {
  forgetEdits(form);
  sessionStorage.setItem(KEY, JSON.stringify({ place, text }));
  history.replaceState(null, "", location.pathname); // a fragment would take the focus away again
  history.scrollRestoration = "manual";
  location.reload();
}

/** Says what was saved before the page was loaded again; the focus goes there. */
export function saySaved() {
  const stored = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  if (!stored) return;
  history.scrollRestoration = "auto";
  const { place, text } = JSON.parse(stored);
  const line = Object.assign(document.createElement("p"), { className: "good", textContent: text, tabIndex: -1 });
  // The part may be on another page by now: after a step is done, the next one is shown.
  (document.getElementById(place)?.querySelector("h2") ?? document.querySelector("h1")).after(line);
  line.focus();
}

addEventListener("beforeunload", (event) => {
  if (edited.size) event.preventDefault();
});
