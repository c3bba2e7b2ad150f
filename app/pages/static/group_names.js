/* Display names of groups, one on a line: `sex: female = women`. */
const LINE = /^(.+?): (.+) = (.+)$/;

/** `{ names, faults }`; faults are lines that cannot be read. */
export function readGroupNames(text) {
  const names = {};
  const faults = [];
  text.split("\n").forEach((line, no) => {
    if (line.trim() === "") return;
    const found = LINE.exec(line.trim());
    if (!found) faults.push(`line ${no + 1}: write column: group = name`);
    else (names[found[1]] ??= {})[found[2].trim()] = found[3].trim();
  });
  return { names, faults };
}

export function writeGroupNames(names) {
  return Object.entries(names).flatMap(([feature, groups]) => Object.entries(groups).map(([group, name]) => `${feature}: ${group} = ${name}`)).join("\n");
}
