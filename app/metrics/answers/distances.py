"""Errors of predicted numbers, and explained shares of the labels' variance."""

from collections.abc import Callable, Mapping

import numpy as np

from ..formulas.means import loss_limits, skewed_student, student
from ..groups import FloatArray
from ..values import Value
from .answer_data import NumberAnswers

FEW = 3
"""Min records for a share of variance: two are on a line whatever they are."""

EQUAL_LABELS = "all labels are the same number, so there is no variance to explain"

LOSS, RATIO = "log_hall", "log_ratio_hall"


def _mean_loss(losses: FloatArray) -> Value:
    mean = float(losses.mean())
    if mean == 0:
        return Value(0.0, 0.0, None, LOSS, losses.size)
    size = np.array(float(losses.size))
    with np.errstate(over="ignore"):
        found = loss_limits(np.array(mean), np.array(float((losses * losses).mean())), size, np.array(_skewness(losses - mean)))
    upper = float(found.upper)
    return Value(mean, min(float(found.lower), mean), max(upper, mean) if np.isfinite(upper) else None, LOSS, losses.size)


def mean_absolute_error(answers: NumberAnswers) -> Value:
    return _mean_loss(np.abs(answers.predicted - answers.actual))


def mean_squared_error(answers: NumberAnswers) -> Value:
    return _mean_loss((answers.predicted - answers.actual) ** 2)


def root_mean_squared_error(answers: NumberAnswers) -> Value:
    found = mean_squared_error(answers)
    lower, upper = (None if end is None else float(np.sqrt(end)) for end in (found.lower, found.upper))
    return Value(float(np.sqrt(found.value)), lower, upper, found.method, found.n)


def r2(answers: NumberAnswers) -> Value:
    """1 - squared errors / squared distances of the labels from their mean."""
    return _explained(answers.actual - answers.predicted, answers.actual)


def explained_variance(answers: NumberAnswers) -> Value:
    """1 - variance of the errors / variance of the labels: R2 without a constant error."""
    errors = answers.actual - answers.predicted
    return _explained(errors - errors.mean(), answers.actual)


def _explained(errors: FloatArray, actual: FloatArray) -> Value:
    """Share, with limits from the logarithm of the ratio (delta method).

    The unexplained share may be larger than in the sample by more than smaller, where rare errors are far larger.
    """
    squares, spread = errors**2, (actual - actual.mean()) ** 2
    ratio = float(squares.mean() / spread.mean())
    if ratio == 0:
        return Value(1.0, None, 1.0, RATIO, actual.size)
    influence = squares / squares.mean() - spread / spread.mean()
    freedom = np.array(actual.size - 1.0)
    error = float(np.sqrt((influence**2).mean() / freedom))
    above = float(skewed_student(freedom, np.array(_skewness(influence)), np.array(float(actual.size))))
    with np.errstate(over="ignore"):
        lower, upper = 1 - ratio * np.exp(above * error), 1 - ratio * np.exp(-float(student(freedom)) * error)
    value = 1 - ratio
    return Value(value, min(float(lower), value) if np.isfinite(lower) else None, max(float(upper), value), RATIO, actual.size)


def _skewness(deviations: FloatArray) -> float:
    scale = float(np.sqrt((deviations**2).mean()))
    return float(((deviations / scale) ** 3).mean()) if scale > 0 and np.isfinite(scale) else 0.0


DISTANCES: Mapping[str, Callable[[NumberAnswers], Value]] = {
    "mean_absolute_error": mean_absolute_error,
    "mean_squared_error": mean_squared_error,
    "root_mean_squared_error": root_mean_squared_error,
    "r2": r2,
    "explained_variance": explained_variance,
}
"""Figures by metric."""

OF_VARIANCE = frozenset({"r2", "explained_variance"})


def lacking(key: str, answers: NumberAnswers) -> str:
    """Reason for a missing number, or ""."""
    n = answers.actual.size
    if not n:
        return "no record has a label and a prediction that are numbers"
    if key not in OF_VARIANCE:
        return ""
    if n < FEW:
        return f"only {n} {'record has' if n == 1 else 'records have'} a label and a prediction; {FEW} are needed"
    return EQUAL_LABELS if np.ptp(answers.actual) == 0 else ""
