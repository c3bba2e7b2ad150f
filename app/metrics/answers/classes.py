"""Averages over the classes, each against all others: plain, or weighted by number of labels.

The interval is that of a share of as many whole records as have the figure's variance (delta method over the cells of the table).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..formulas.means import likened_limits
from ..groups import FloatArray, divide_or
from ..values import Value
from .answer_data import ClassAnswers

METHOD = "wilson_delta"

UNSEEN = 0.5
"""Unseen records of each label and of each prediction, spread evenly over the classes, for the interval."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassShares:
    """Shares of all records [classes]: with the label, with the prediction, and with both."""

    labels: FloatArray
    predictions: FloatArray
    right: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Sloped:
    """Figure of each class [classes], and its change with the shares of labels, predictions, and right predictions."""

    values: FloatArray
    by_labels: FloatArray
    by_predictions: FloatArray
    by_right: FloatArray


def _recall(shares: ClassShares) -> Sloped:
    slope = divide_or(np.ones_like(shares.labels), shares.labels, 0.0)
    value = shares.right * slope
    return Sloped(value, -value * slope, np.zeros_like(value), slope)


def _precision(shares: ClassShares) -> Sloped:
    slope = divide_or(np.ones_like(shares.predictions), shares.predictions, 0.0)
    value = shares.right * slope
    return Sloped(value, np.zeros_like(value), -value * slope, slope)


def _f1(shares: ClassShares) -> Sloped:
    both = shares.labels + shares.predictions
    value = 2 * shares.right / both
    return Sloped(value, -value / both, -value / both, 2 / both)


def _false_positive_rate(shares: ClassShares) -> Sloped:
    others = 1 - shares.labels
    value = (shares.predictions - shares.right) / others
    return Sloped(value, value / others, 1 / others, -1 / others)


_OF_CLASS: Mapping[str, Callable[[ClassShares], Sloped]] = {
    "precision": _precision,
    "recall": _recall,
    "f1": _f1,
    "false_positive_rate": _false_positive_rate,
}

AVERAGES = tuple(f"{average}_{name}" for average in ("macro", "weighted") for name in _OF_CLASS)
"""Keys of the figures computed here."""

ONE_LABEL = "all records have the same label, so nothing can be taken for it by mistake"


def lacking(key: str, answers: ClassAnswers) -> str:
    """Reason for a missing number, or ""."""
    labels = answers.table.sum(axis=1)
    if not labels.sum():
        return "no record has a label and a prediction"
    return ONE_LABEL if key.endswith("false_positive_rate") and (labels > 0).sum() == 1 else ""


def average(key: str, answers: ClassAnswers) -> Value:
    """Average of that key, in [0, 1]; `lacking` must be empty."""
    table = answers.table.astype(np.float64)
    value, variance = _average(key, table)
    _, allowing = _average(key, table + UNSEEN / len(table))
    variance, n = max(variance, allowing), float(table.sum())
    whole = value * (1 - value)
    size = n * whole / variance if variance > whole > 0 else n
    freedom = max(smallest_class(key, answers) - 1, 1)
    found = likened_limits(*(np.array(number) for number in (value, min(variance, whole), size, freedom)))
    return Value(value, float(found.lower), float(found.upper), METHOD, int(n))


def _average(key: str, table: FloatArray) -> tuple[float, float]:
    cells = table / table.sum()
    shares = ClassShares(cells.sum(axis=1), cells.sum(axis=0), np.diagonal(cells).copy())
    of, _, name = key.partition("_")
    each = _OF_CLASS[name](shares)
    weights = shares.labels if of == "weighted" else np.full(len(cells), 1 / len(cells))
    by_label = weights * each.by_labels + (each.values if of == "weighted" else 0)
    slope = by_label[:, None] + (weights * each.by_predictions)[None, :] + np.diag(weights * each.by_right)
    variance = float((cells * slope**2).sum() - (cells * slope).sum() ** 2)
    return float(np.clip(weights @ each.values, 0, 1)), max(variance, 0.0)


def smallest_class(key: str, answers: ClassAnswers) -> int:
    """Records of the figure's weakest part: the rarest class's, or all of a weighted average."""
    labels, predictions = answers.table.sum(axis=1), answers.table.sum(axis=0)
    if key.startswith("weighted"):
        return int(labels.sum())
    known = predictions if key == "macro_precision" else labels.sum() - labels if key == "macro_false_positive_rate" else labels
    return int(known[known > 0].min(initial=int(labels.sum())))
