/* `<details data-table="ADDRESS OF ITS CSV">` is filled from the CSV when it is opened. */
const SHOWN = 500; // newest rows

function parsed(text) {
  const rows = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    rows.at(-1).push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === "") break;
    if (end !== ",") rows.push([]);
  }
  return rows.filter((row) => row.length > 1 || row[0]);
}

function worthShowing(rows) {
  // A column that says the same in every row only takes room.
  return rows[0].map((_, no) => no).filter((no) => no === 0 || rows.length === 2 || rows.slice(1).some((row) => row[no] !== rows[1][no]));
}

function cell(kind, text, attributes = {}) {
  const made = document.createElement(kind);
  const isNumber = kind === "td" && /^-?\d+(\.\d+)?(e-?\d+)?$/.test(text);
  const rounded = isNumber && /\.\d{5,}/.test(text) ? Number(text).toFixed(4) : text;
  made.textContent = isNumber ? rounded.replace(/^-/, "\u2212") : text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function tableOf(rows, title) {
  const columns = worthShowing(rows);
  const table = document.createElement("table");
  const newest = rows.slice(1).reverse().slice(0, SHOWN);
  table.append(cell("caption", rows.length - 1 > SHOWN ? `${title}: the newest ${SHOWN} of ${rows.length - 1} rows; the CSV has all.` : title));
  const head = table.createTHead().insertRow();
  for (const no of columns) head.append(cell("th", rows[0][no].replaceAll("_", " "), { scope: "col" }));
  const body = table.createTBody();
  for (const row of newest) {
    const line = body.insertRow();
    for (const no of columns) line.append(cell("td", row[no] ?? ""));
  }
  return table;
}

async function fill(details) {
  const place = details.querySelector("[data-rows]");
  place.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(details.dataset.table, { credentials: "same-origin" });
    if (!answer.ok) throw new Error(`the service answered ${answer.status}`);
    const rows = parsed(await answer.text());
    place.replaceChildren(rows.length > 1 ? tableOf(rows, details.dataset.title) : "There are no figures in this range.");
  } catch (error) {
    place.textContent = `The table cannot be shown: ${error.message}. Close and open this part to try again.`;
    details.addEventListener("toggle", () => fill(details), { once: true });
  } finally {
    place.removeAttribute("aria-busy");
  }
}

for (const details of document.querySelectorAll("[data-table]")) details.addEventListener("toggle", () => fill(details), { once: true });
