/* Code that logs records, with buttons that copy it. */
import { offerExample } from "./first_record.js";
import { Problem, ask, element, say, showProblem } from "./api.js";

const NAMES = { payload: "Log scored records", feedback: "Log labels", records: "records", sh: "shell with curl", python: "Python with httpx" };

export async function startSnippets(place) {
  try {
    const found = await ask("GET", place.dataset.snippets);
    document.querySelector("[data-key-variable]").textContent = found.key_variable;
    const forms = JSON.parse(place.dataset.forms);
    found.snippets.forEach((one, no) => place.append(piece(one, forms, no)));
    offerExample(found.example);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    showProblem(document.querySelector("[data-snippets-problem]"), problem);
  }
  place.setAttribute("aria-busy", "false");
}

/** Two pieces may have the same form and language. */
function nameOf({ logs, form, language, asks_model: asks }, forms) {
  if (asks) return "Ask the model, and log its answer: Python with httpx and evenhand-client";
  if (form === "client") return `${NAMES[logs]}: Python with evenhand-client`;
  return `${NAMES[logs]} as ${forms[form] ?? NAMES[form]}: ${NAMES[language]}`;
}

function piece(snippet, forms, no) {
  const name = nameOf(snippet, forms), { code } = snippet;
  const details = element("details", { open: no === 0 });
  const block = element("pre", { tabIndex: 0 });
  block.setAttribute("role", "region");
  block.setAttribute("aria-label", name);
  block.append(element("code", { textContent: code }));
  const button = element("button", { type: "button", className: "quiet copy", textContent: "Copy" });
  button.append(element("span", { className: "visually-hidden", textContent: `: ${name}` }));
  button.addEventListener("click", () => copy(code, block, name));
  details.append(element("summary", { textContent: name }), button, block);
  return details;
}

async function copy(code, block, name) {
  let isCopied = false;
  try {
    await navigator.clipboard.writeText(code);
    isCopied = true;
  } catch {
    // Without https there is no clipboard; what is selected can be copied.
    getSelection().selectAllChildren(block);
    isCopied = document.execCommand("copy");
  }
  say(isCopied ? `Copied: ${name}.` : "Could not copy. The code is selected: press Ctrl and C.");
}
