/* JSON in which whole numbers beyond 2^53 survive, which JavaScript would round.

   Such a number is a text with a NUL before its digits, which no text of ours may hold. */
const MARK = "\u0000";
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Throws a SyntaxError as JSON.parse does. */
export function readExact(text) {
  return JSON.parse(text.replace(TOKEN, (token) => (isUnsafe(token) ? `"\\u0000${token}"` : token)));
}

export function writeExact(value, indent) {
  return JSON.stringify(value, null, indent)?.replace(/"\\u0000(-?\d+)"/g, "$1");
}

export function exactNumber(digits) {
  return isUnsafe(digits) ? MARK + digits : Number(digits);
}

/** Whether JavaScript could not hold the number. */
export function isExact(value) {
  return typeof value === "string" && value.startsWith(MARK);
}

export function digitsOf(value) {
  return value.slice(MARK.length);
}

function isUnsafe(token) {
  return /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token));
}
