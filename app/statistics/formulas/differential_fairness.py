"""Differential fairness: the largest log ratio of outcome rates between any two groups or intersections."""

import math

import numpy as np
from scipy.special import betaincinv

from ..group_labels import FloatArray
from ..intervals.intervals import TAIL

CONCENTRATION = 1.0
"""Pseudo-records c of a group, AIF360's default; they keep rates away from 0 and 1."""

SMALLEST_RATE = np.finfo(np.float64).tiny


def smoothed_empirical_differential_fairness(
    outcomes: FloatArray, concentration: float = CONCENTRATION
) -> FloatArray:
    """ε [...] of outcomes [..., G, 2], from 0 up: e^ε bounds every ratio of rates of either outcome.

    Rates are (n + c/2) / (N + c). Source: Foulds et al. 2020; AIF360.
    """
    favourable = (outcomes[..., 1] + concentration / 2) / (outcomes.sum(-1) + concentration)
    return np.maximum(_measure_span(np.log(favourable)), _measure_span(np.log1p(-favourable)))


def bias_amplification(cells: FloatArray) -> FloatArray:
    """ε of the predictions - ε of the labels, of cells [..., G, actual 2, predicted 2]."""
    predictions, labels = (smoothed_empirical_differential_fairness(cells.sum(axis)) for axis in (-2, -1))
    return predictions - labels


def find_limits(shapes: FloatArray) -> tuple[float, float]:
    """95 % limits of ε, of outcomes [G, 2] with half a record added to each.

    Log rates have the limits of their beta posterior, each two a difference with limits (MOVER, Zou and
    Donner 2008). The largest difference is too large by chance, so the lower limit is the largest of those at
    95 % for all pairs together; the upper one is the largest of the single ones.
    """
    groups = len(shapes)
    limits = [
        find_limits_of_spans(
            shapes[:, outcome], shapes[:, 1 - outcome], np.log, min(TAIL, 2 * TAIL / (groups * (groups - 1)))
        )
        for outcome in (0, 1)
    ]
    return max(0.0, *(lower for lower, _ in limits)), max(upper for _, upper in limits)


def reach_of_amplification(shapes: FloatArray) -> tuple[float, float]:
    """Least interval of the amplification, of cells [G, actual 2, predicted 2] with half a record added to
    each.

    An ε that may be zero is too large by chance, in the draws, too. Where that of the labels may be zero, the
    upper limit is at least that of the predictions; where that of the predictions may be, the lower one is
    minus that of the labels.
    """
    (low, high), (labels_low, labels_high) = (find_limits(shapes.sum(axis) - 1 / 2) for axis in (-2, -1))
    return -labels_high if low == 0 else math.inf, high if labels_low == 0 else -math.inf


def find_limits_of_spans(
    counted: FloatArray, uncounted: FloatArray, scale: np.ufunc, near_tail: float
) -> tuple[float, float]:
    """Largest limits of any two rates' difference on a scale, the lower with `near_tail` beyond each end."""
    rates = scale(counted / (counted + uncounted))
    low, high = (
        [
            scale(np.maximum(betaincinv(counted, uncounted, end), SMALLEST_RATE))
            for end in (beyond, 1 - beyond)
        ]
        for beyond in (near_tail, TAIL)
    )
    difference = np.subtract.outer(rates, rates)
    lower = difference - np.hypot.outer(rates - low[0], low[1] - rates)
    upper = difference + np.hypot.outer(high[1] - rates, rates - high[0])
    is_pair = ~np.eye(len(rates), dtype=np.bool_)
    return float(lower[is_pair].max()), float(upper[is_pair].max())


def _measure_span(logs: FloatArray) -> FloatArray:
    widest: FloatArray = logs.max(-1) - logs.min(-1)
    return widest
