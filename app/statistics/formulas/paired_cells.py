"""Figures of cells [..., actual 2, predicted 2], comparisons of two groups', and changes by mitigation, after
- before, of cells [..., before 2, after 2].

NaN or infinite where a denominator is empty. Sources: AIF360 ClassificationMetric, SageMaker Clarify,
fairlearn; for mitigation Evenhand.
"""

from collections.abc import Callable

import numpy as np

from ..group_labels import FloatArray, divide
from ..intervals.rate_estimates import PARTS, compute_rate, divide_parts


def rate_difference(name: str, monitored: FloatArray, reference: FloatArray) -> FloatArray:
    return compute_rate(name, monitored) - compute_rate(name, reference)


def average_odds_difference(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    return (
        rate_difference("false_positive", monitored, reference)
        + rate_difference("true_positive", monitored, reference)
    ) / 2


def average_abs_odds_difference(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    false, true = (
        np.abs(rate_difference(name, monitored, reference)) for name in ("false_positive", "true_positive")
    )
    return (false + true) / 2


def average_predictive_value_difference(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    return (
        rate_difference("positive_predictive", monitored, reference)
        + rate_difference("false_omission", monitored, reference)
    ) / 2


def rate_distance(name: str, monitored: FloatArray, reference: FloatArray) -> FloatArray:
    return np.abs(rate_difference(name, monitored, reference))


def rate_evenness(name: str, monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Smaller of the two rates over the larger, within [0, 1]."""
    monitored_rate = compute_rate(name, monitored)
    reference_rate = compute_rate(name, reference)
    return divide(np.minimum(monitored_rate, reference_rate), np.maximum(monitored_rate, reference_rate))


def equalized_odds_difference(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    return np.maximum(
        *(rate_distance(name, monitored, reference) for name in ("false_positive", "true_positive"))
    )


def equalized_odds_ratio(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    return np.minimum(
        *(rate_evenness(name, monitored, reference) for name in ("false_positive", "true_positive"))
    )


def conditional_acceptance(cells: FloatArray) -> FloatArray:
    """Favourable labels over favourable predictions, from 0 up."""
    return divide_parts(cells, "actual_favourable", "predicted_favourable")


def conditional_rejection(cells: FloatArray) -> FloatArray:
    """Unfavourable labels over unfavourable predictions, from 0 up."""
    return divide_parts(cells, "actual_unfavourable", "predicted_unfavourable")


def treatment_ratio(cells: FloatArray) -> FloatArray:
    """False negatives over false positives, from 0 up."""
    return divide_parts(cells, "false_negative", "false_positive")


def f1(cells: FloatArray) -> FloatArray:
    true = PARTS["true_positive"].sum_cells(cells)
    return divide(2 * true, 2 * true + PARTS["wrong"].sum_cells(cells))


def balanced_accuracy(cells: FloatArray) -> FloatArray:
    return (compute_rate("true_positive", cells) + compute_rate("true_negative", cells)) / 2


def difference_in_conditional_acceptance(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Conditional acceptance of the reference - monitored, unlike the other differences (Clarify DCA)."""
    return conditional_acceptance(reference) - conditional_acceptance(monitored)


def difference(
    figure: Callable[[FloatArray], FloatArray], monitored: FloatArray, reference: FloatArray
) -> FloatArray:
    """Difference of a figure of both groups, monitored - reference."""
    return figure(monitored) - figure(reference)


def rate_change(cells: FloatArray) -> FloatArray:
    """Share of favourable, or right, records after - before, within [-1, 1]."""
    change: FloatArray = (cells[..., 0, 1] - cells[..., 1, 0]) / cells.sum((-2, -1))
    return change


def balanced_accuracy_change(cells: FloatArray) -> FloatArray:
    """Change of the balanced accuracy, of cells [..., actual 2, before 2, after 2]."""
    return (rate_change(cells[..., 1, :, :]) - rate_change(cells[..., 0, :, :])) / 2


def disparate_impact_change(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    before, after = (
        _compute_favourable_rate(monitored, axis) / _compute_favourable_rate(reference, axis)
        for axis in (-1, -2)
    )
    return after - before


def _compute_favourable_rate(cells: FloatArray, axis: int) -> FloatArray:
    share: FloatArray = cells.sum(axis)[..., 1] / cells.sum((-2, -1))
    return share
