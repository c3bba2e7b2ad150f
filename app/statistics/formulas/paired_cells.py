"""Comparisons of two groups' cells [..., actual 2, predicted 2] that are more than one rate, or no rate at
all; and changes by mitigation, after - before, of cells [..., before 2, after 2] of the same records.

NaN or infinite where a denominator is empty. Sources: AIF360 ClassificationMetric, SageMaker Clarify,
fairlearn; for mitigation Evenhand.
"""

from collections.abc import Callable

import numpy as np

from ..group_labels import FloatArray, divide
from ..intervals.rate_estimates import PARTS, divide_parts, rate


def rate_difference(name: str, monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Difference monitored rate - reference rate, within [-1, 1]."""
    return rate(name, monitored) - rate(name, reference)


def average_odds_difference(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """½ [(FPRm - FPRr) + (TPRm - TPRr)], within [-1, 1]. Source: AIF360."""
    return (
        rate_difference("false_positive", monitored, reference)
        + rate_difference("true_positive", monitored, reference)
    ) / 2


def average_abs_odds_difference(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """½ [|FPRm - FPRr| + |TPRm - TPRr|], within [0, 1]. Source: AIF360."""
    false, true = (
        np.abs(rate_difference(name, monitored, reference)) for name in ("false_positive", "true_positive")
    )
    return (false + true) / 2


def average_predictive_value_difference(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """½ [(PPVm - PPVr) + (FORm - FORr)], within [-1, 1]. Source: AIF360 0.6.1."""
    return (
        rate_difference("positive_predictive", monitored, reference)
        + rate_difference("false_omission", monitored, reference)
    ) / 2


def rate_distance(name: str, monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Absolute difference of the rates, within [0, 1]."""
    return np.abs(rate_difference(name, monitored, reference))


def rate_evenness(name: str, monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Smaller rate over the larger one, within [0, 1]."""
    monitored_rate = rate(name, monitored)
    reference_rate = rate(name, reference)
    return divide(np.minimum(monitored_rate, reference_rate), np.maximum(monitored_rate, reference_rate))


def equalized_odds_difference(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """max(|FPRm - FPRr|, |TPRm - TPRr|), within [0, 1]. Source: AIF360 0.6.1, fairlearn."""
    return np.maximum(
        *(rate_distance(name, monitored, reference) for name in ("false_positive", "true_positive"))
    )


def equalized_odds_ratio(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Lower of the smaller over the larger FPR and the smaller over the larger TPR, within [0, 1]. Source:
    fairlearn.
    """
    return np.minimum(
        *(rate_evenness(name, monitored, reference) for name in ("false_positive", "true_positive"))
    )


def conditional_acceptance(cells: FloatArray) -> FloatArray:
    """Favourable labels over favourable predictions, n(1) / n'(1), from 0 up. Source: Clarify."""
    return divide_parts(cells, "actual_favourable", "predicted_favourable")


def conditional_rejection(cells: FloatArray) -> FloatArray:
    """Unfavourable labels over unfavourable predictions, n(0) / n'(0), from 0 up. Source: Clarify."""
    return divide_parts(cells, "actual_unfavourable", "predicted_unfavourable")


def treatment_ratio(cells: FloatArray) -> FloatArray:
    """FN / FP, from 0 up. Source: Clarify."""
    return divide_parts(cells, "false_negative", "false_positive")


def f1(cells: FloatArray) -> FloatArray:
    """2 TP / (2 TP + FP + FN), within [0, 1]."""
    true = PARTS["true_positive"].of(cells)
    wrong = PARTS["wrong"].of(cells)
    return divide(2 * true, 2 * true + wrong)


def balanced_accuracy(cells: FloatArray) -> FloatArray:
    """½ (TPR + TNR), within [0, 1]."""
    return (rate("true_positive", cells) + rate("true_negative", cells)) / 2


def difference_in_conditional_acceptance(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Difference reference - monitored n(1) / n'(1), unbounded. Source: Clarify DCA."""
    return conditional_acceptance(reference) - conditional_acceptance(monitored)


def difference(
    of: Callable[[FloatArray], FloatArray], monitored: FloatArray, reference: FloatArray
) -> FloatArray:
    """Difference monitored - reference of a figure of one group's cells. Sources: Clarify DCR and TE."""
    return of(monitored) - of(reference)


def rate_change(cells: FloatArray) -> FloatArray:
    """Share [...] of the favourable, or right, after - before, of cells [..., 2, 2]; within [-1, 1]."""
    change: FloatArray = (cells[..., 0, 1] - cells[..., 1, 0]) / cells.sum((-2, -1))
    return change


def balanced_accuracy_change(cells: FloatArray) -> FloatArray:
    """½ (TPR + TNR) after - before, of cells [..., actual 2, 2, 2]; within [-1, 1]."""
    return (rate_change(cells[..., 1, :, :]) - rate_change(cells[..., 0, :, :])) / 2


def disparate_impact_change(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Ratio of the favourable rates after - before, of cells [..., 2, 2]; unbounded."""
    before, after = (_favourable(monitored, axis) / _favourable(reference, axis) for axis in (-1, -2))
    return after - before


def _favourable(cells: FloatArray, axis: int) -> FloatArray:
    """One side summed: -1 after, -2 before."""
    share: FloatArray = cells.sum(axis)[..., 1] / cells.sum((-2, -1))
    return share
