/* Groups and outcomes as lines, a range as `18 to 25`, and back without a loss.

   In a text column `1` is the text "1", in a number column the number 1. `any` is for classes of undeclared type: `1` is a number, `true` is
   true, all else text. A text that would be read as something else, or has a space at an end, is put in double quotes. */
import { digitsOf, exactNumber, isExact } from "./exact.js";

const NUMBER = String.raw`[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?`;
const ONE = new RegExp(`^${NUMBER}$`);
const RANGE = new RegExp(`^(${NUMBER})\\s*(?:to|-|–|—|\\.\\.)\\s*(${NUMBER})$`, "i");
const CLASS_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/** `{ values, faults }`; faults are about lines that cannot be read. */
export function readValues(text, type) {
  const values = [];
  const faults = [];
  text.split("\n").forEach((line, no) => {
    if (line.trim() === "") return;
    const { value, fault } = READERS[type](line.trim());
    if (fault) faults.push(`line ${no + 1}: ${fault}`);
    else values.push(value);
  });
  return { values, faults };
}

export function writeValues(values, type) {
  return values.map((value) => writeValue(value, type)).join("\n");
}

export function writeValue(value, type = "any") {
  if (Array.isArray(value)) return value.map(String).join(" to ");
  if (isExact(value)) return digitsOf(value);
  if (typeof value !== "string") return String(value);
  const again = READERS[type === "any" ? "any" : "string"](value.trim());
  return again.value === value ? value : JSON.stringify(value);
}

const READERS = { string: readText, integer: readNumber, number: readNumber, boolean: readBoolean, any: readClass };

function readText(line) {
  return { value: unquoted(line) ?? line };
}

function unquoted(line) {
  if (!(line.length > 1 && line.startsWith('"') && line.endsWith('"'))) return null;
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

function readNumber(line) {
  const range = RANGE.exec(line);
  const ends = range ? [Number(range[1]), Number(range[2])] : [Number(line)];
  if (ends.some((end) => Math.abs(end) === Infinity)) return { fault: `“${line}” is too large` };
  if (range) return { value: ends };
  if (!ONE.test(line)) return { fault: `“${line}” is neither a number nor a range such as 18 to 25` };
  return { value: /^[+-]?\d+$/.test(line) ? exactNumber(line.replace("+", "")) : Number(line) };
}

function readBoolean(line) {
  return /^(true|false)$/i.test(line) ? { value: line.toLowerCase() === "true" } : { fault: `“${line}” is neither true nor false` };
}

function readClass(line) {
  if (line === "true" || line === "false") return { value: line === "true" };
  if (CLASS_NUMBER.test(line)) return { value: /^-?\d+$/.test(line) ? exactNumber(line) : Number(line) };
  return readText(line);
}
