
/** One line for a check as REST answers it. */
export function stepOf({ cause, progress, waits_for: waitsFor, next_step: next }) {
  if (cause !== "check_running") return [waitsFor, next].filter(Boolean).join(" ");
  return progress ? `${progress.step[0].toUpperCase()}${progress.step.slice(1)}.` : "A worker has started it.";
}
