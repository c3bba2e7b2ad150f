/* JSON in which whole numbers beyond 2^53 survive: JavaScript alone would round a seed or a class value to another one.

   Such a number is kept as a text with a NUL before its digits, which no text of ours may hold, and written as a number again. */
const MARK = "\u0000";
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Returns the value of a JSON text. Throws a SyntaxError as JSON.parse does. */
export function readExact(text) {
  return JSON.parse(text.replace(TOKEN, (token) => (isUnsafe(token) ? `"\\u0000${token}"` : token)));
}

/** The JSON of a value that `readExact` or `exactNumber` gave. */
export function writeExact(value, indent) {
  return JSON.stringify(value, null, indent)?.replace(/"\\u0000(-?\d+)"/g, "$1");
}

/** The whole number that the digits spell, exactly. */
export function exactNumber(digits) {
  return isUnsafe(digits) ? MARK + digits : Number(digits);
}

/** Whether it is a number of ours that JavaScript could not hold. */
export function isExact(value) {
  return typeof value === "string" && value.startsWith(MARK);
}

/** The digits of such a number. */
export function digitsOf(value) {
  return value.slice(MARK.length);
}

function isUnsafe(token) {
  return /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token));
}
