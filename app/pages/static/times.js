/* Local time on hover, and the choice of it in the range bar. A moment reads `2026-11-22 09:00 UTC`, or `2026-11-22 10:00 UTC+01:00`. */
const MOMENT = /(\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC([+-]\d\d:\d\d)?/;
const here = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const format = new Intl.DateTimeFormat("en-GB", { timeZone: here, dateStyle: "medium", timeStyle: "short" });

function said(moment) {
  return `${format.format(moment)} in ${here}; ${moment.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** When the pointer reaches the element: nothing of the page changes before. */
function wrap(element) {
  for (const node of [...element.childNodes]) {
    const found = node.nodeType === Node.TEXT_NODE && MOMENT.exec(node.data);
    if (!found) continue;
    const moment = new Date(`${found[1]}T${found[2]}${found[3] || "Z"}`);
    if (Number.isNaN(moment.getTime())) continue;
    const rest = node.splitText(found.index);
    rest.splitText(found[0].length);
    const time = document.createElement("time");
    time.dateTime = moment.toISOString();
    time.title = said(moment);
    rest.replaceWith(time);
    time.append(found[0]);
    wrap(element);
    return;
  }
}

addEventListener("pointerover", ({ target }) => {
  if (!(target instanceof HTMLElement) || target.closest("textarea, option, script, style, [contenteditable]")) return;
  if (target instanceof HTMLTimeElement) {
    const moment = new Date(target.dateTime);
    if (!Number.isNaN(moment.getTime())) target.title = said(moment);
  } else wrap(target);
});

for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a[data-local-zone]"))) {
  const bar = /** @type {HTMLElement} */ (link.closest("[data-zone]"));
  if (here === "UTC" || bar.dataset.zone === here) continue;
  const address = new URL(link.href);
  address.searchParams.set("zone", here);
  link.href = address.href;
  link.textContent = `local time (${here})`;
  link.hidden = false;
}
