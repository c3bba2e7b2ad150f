/* Offers the reader's own zone for the times of pages. The choice is kept, so the address need not name it. */
const here = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const input = /** @type {HTMLInputElement | null} */ (document.getElementById("clock"));
const button = document.getElementById("local-clock");

if (input && here !== input.value) {
  button.textContent = here;
  button.hidden = false;
  button.addEventListener("click", () => { input.value = here; });
}

const address = new URL(location.href);
if (address.searchParams.has("clock")) {
  address.searchParams.delete("clock");
  history.replaceState(history.state, "", address);
}
