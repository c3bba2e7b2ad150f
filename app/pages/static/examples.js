/* Proposes columns from JSON (a record, a list, or a model's request) or CSV with a header.

   A whole number in the example may have decimals in the next record. */
import { isExact, readExact } from "./exact.js";

const MOST_ROWS = 200;
const DECIMAL = "\u0001"; // before the digits of a number with a point: 4200.0 is no whole number, though JavaScript says so
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+\.\d+(?:[eE][+-]?\d+)?/g;

/** `{ columns: [{ name, type }], record, passedOver }`. Throws an Error that says what cannot be read. */
export function readExample(text) {
  const trimmed = text.trim();
  if (trimmed === "") throw new Error("Paste a record first: JSON, or CSV with a header line.");
  const records = /^[[{]/.test(trimmed) ? fromJson(trimmed) : fromCsv(trimmed);
  if (!records.length || !Object.keys(records[0]).length) throw new Error("The text contains no record.");
  const names = [...new Set(records.flatMap(Object.keys))];
  const known = (name) => records.map((record) => record[name]).filter((value) => value !== null && value !== undefined && value !== "");
  const isCell = (name) => known(name).every((value) => typeof value !== "object");
  return {
    columns: names.filter(isCell).map((name) => ({ name, type: typeOf(known(name)) })),
    record: Object.fromEntries(names.filter(isCell).map((name) => [name, plain(records[0][name] ?? null)])),
    passedOver: names.filter((name) => !isCell(name)),
  };
}

function typeOf(values) {
  const all = (test) => values.length > 0 && values.every(test);
  if (all((value) => typeof value === "boolean")) return "boolean";
  if (all((value) => Number.isInteger(value) || isExact(value))) return "integer";
  return all((value) => typeof value === "number" || isDecimal(value)) ? "number" : "string";
}

function isDecimal(value) {
  return typeof value === "string" && value.startsWith(DECIMAL);
}

function plain(value) {
  return isDecimal(value) ? Number(value.slice(DECIMAL.length)) : value;
}

function fromJson(text) {
  let found;
  try {
    found = readExact(text.replace(TOKEN, (token) => (token.startsWith('"') ? token : `"\\u0001${token}"`)));
  } catch (error) {
    throw new Error(`This begins like JSON but is not valid JSON: ${error.message}.`);
  }
  const table = found.dataframe_split || (Array.isArray(found.input_data) ? found.input_data[0] : found);
  if (Array.isArray(table?.values || table?.data)) return fromTable(table.fields || table.columns, table.values || table.data);
  const listed = found.dataframe_records || found.records || found;
  const records = (Array.isArray(listed) ? listed : [listed]).slice(0, MOST_ROWS);
  if (!records.every((one) => one !== null && typeof one === "object" && !Array.isArray(one))) throw new Error("A record must be an object: {\"Age\": 31, …}.");
  return records.map((one) => (isObject(one.features) ? { ...one.features, ...one.meta } : one));
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function fromTable(names, rows) {
  if (!Array.isArray(names)) throw new Error("A table needs its column names next to its values: {\"fields\": […], \"values\": [[…]]}.");
  return rows.slice(0, MOST_ROWS).map((row) => Object.fromEntries(names.map((name, no) => [name, row[no] ?? null])));
}

function fromCsv(text) {
  const header = text.split("\n", 1)[0];
  const separator = [",", ";", "\t"].reduce((best, one) => (header.split(one).length > header.split(best).length ? one : best));
  const [names, ...rows] = linesOf(text, separator);
  if (!rows.length) throw new Error("A CSV header needs at least one line of values below it, to see the types by.");
  return fromTable(names.map((name) => name.trim()), typedColumns(rows.slice(0, MOST_ROWS)));
}

/** Cells by line, with quotes undone. */
function linesOf(text, separator) {
  const rows = [[]];
  let cell = "";
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (quoted && sign === '"' && text[at + 1] === '"') { cell += '"'; at += 1; }
    else if (sign === '"' && (quoted || cell === "")) quoted = !quoted;
    else if (quoted) cell += sign;
    else if (sign === separator) { rows.at(-1).push(cell); cell = ""; }
    else if (sign === "\n") { rows.at(-1).push(cell); cell = ""; rows.push([]); }
    else if (sign !== "\r") cell += sign;
  }
  rows.at(-1).push(cell);
  return rows.filter((row) => row.length > 1 || row[0].trim() !== "");
}

/** Leading zeros stay text: they are codes, such as postal codes. */
function typedColumns(rows) {
  const width = Math.max(...rows.map((row) => row.length));
  const readers = Array.from({ length: width }, (_, no) => readerOf(rows.map((row) => (row[no] || "").trim()).filter((text) => text !== "")));
  return rows.map((row) => row.map((text, no) => (text.trim() === "" ? null : readers[no](text.trim()))));
}

function readerOf(texts) {
  if (texts.length && texts.every((text) => /^(true|false)$/i.test(text))) return (text) => text.toLowerCase() === "true";
  if (texts.length && texts.every((text) => /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text))) return (text) => (/[.eE]/.test(text) ? DECIMAL + text : Number(text));
  return (text) => text;
}
