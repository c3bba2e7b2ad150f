/* Downloads of reports, of which one that fails is offered again, and their links, to be copied. */
import { documentOf, element, isPlain, logInAddress, say } from "./api.js";

const waiting = new WeakSet();

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy-link]");
  if (!button) return;
  const address = new URL(button.dataset.copyLink, location.href).href;
  try {
    await navigator.clipboard.writeText(address);
    say("The link is copied. It asks for a log-in.");
  } catch {
    // Without https there is no clipboard.
    const field = element("input", { value: address, readOnly: true, ariaLabel: "The link" });
    button.replaceWith(field);
    field.select();
    say("The link is selected: press Ctrl and C.");
  }
});

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-report]");
  if (!link || !isPlain(event)) return;
  event.preventDefault();
  download(link);
});

/** One at a time of each link. */
async function download(link) {
  if (waiting.has(link)) return;
  waiting.add(link);
  const line = lineOf(link);
  line.className = "report-state";
  line.textContent = "The report is being made …";
  line.hidden = false;
  const failed = await fetchFile(link).catch(() => "The service does not answer, or the connection broke. Nothing was changed.");
  waiting.delete(link);
  line.hidden = !failed;
  if (!failed) {
    line.textContent = "";
    say("The report is downloaded.");
    return;
  }
  line.className = "report-state problem";
  const again = element("button", { type: "button", className: "quiet", textContent: "Try again" });
  again.addEventListener("click", () => download(link));
  line.replaceChildren(`${link.textContent.trim()} was not downloaded. ${failed} `, again);
}

/** Why there is no file; empty after a download. */
async function fetchFile(link) {
  const answer = await fetch(link.href, { credentials: "same-origin", headers: { Accept: "*/*" } });
  if (answer.status === 401) {
    location.assign(logInAddress());
    return "You are no longer logged in.";
  }
  if (!answer.ok) {
    const { detail, request_id: request } = documentOf(await answer.text());
    return `${detail || `The service answered ${answer.status}.`}${request && answer.status >= 500 ? ` (request ${request})` : ""}`;
  }
  const named = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "");
  const address = URL.createObjectURL(await answer.blob());
  element("a", { href: address, download: named ? named[1] : "report" }).click();
  // The browser has taken the file by then.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  return "";
}

/** The line below the links that says how it goes; people who listen hear what changes in it. */
function lineOf(link) {
  const place = link.closest("ul, p, div");
  const next = place.nextElementSibling;
  if (next?.matches(".report-state")) return next;
  const line = element("p", { className: "report-state" });
  line.setAttribute("role", "status");
  place.after(line);
  return line;
}
