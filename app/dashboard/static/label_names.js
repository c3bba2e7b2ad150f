/* Columns that are no input of a model: the label that it predicts, and the outputs of its answer. Known by their names. */
const LABELS = new Set(["label", "labels", "target", "y", "ytrue", "class", "outcome", "groundtruth", "observedlabel", "decision", "approved", "creditrisk", "risk", "default", "defaulted", "churn", "churned"]);
const OUTPUTS = new Map([
  ["prediction", "prediction"], ["predictions", "prediction"], ["predicted", "prediction"], ["ypred", "prediction"],
  ["probability", "probability"], ["probabilities", "probability"], ["predictproba", "probability"], ["yproba", "probability"],
  ["predictedlabel", "label"], ["predictionlabel", "label"],
]);

/** Whether the name is that of a label or of a part of the model's answer. */
export function isLabel(name) {
  return LABELS.has(bare(name)) || OUTPUTS.has(bare(name));
}

/** The output that a column of this name is: prediction, probability or label; undefined for others. */
export function outputOf(name) {
  return OUTPUTS.get(bare(name));
}

function bare(name) {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}
