/* Columns that are no input of a model, by name. */
const LABELS = new Set(["label", "labels", "target", "y", "ytrue", "class", "outcome", "groundtruth", "observedlabel", "decision", "approved", "creditrisk", "risk", "default", "defaulted", "churn", "churned"]);
const OUTPUTS = new Map([
  ["prediction", "prediction"], ["predictions", "prediction"], ["predicted", "prediction"], ["ypred", "prediction"],
  ["probability", "probability"], ["probabilities", "probability"], ["predictproba", "probability"], ["yproba", "probability"],
  ["predictedlabel", "label"], ["predictionlabel", "label"],
]);

export function isLabel(name) {
  return LABELS.has(bare(name)) || OUTPUTS.has(bare(name));
}

/** prediction, probability or label; undefined for others. */
export function outputOf(name) {
  return OUTPUTS.get(bare(name));
}

function bare(name) {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}
