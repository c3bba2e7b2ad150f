"""Spread of the rates of records with equal labels over all groups, as in fairlearn's equalized odds.

Cells are [..., G, actual 2, predicted 2]. Groups without a label take no part in its rate; NaN where fewer
than two have it.
"""

import numpy as np

from ..group_labels import FloatArray, divide
from ..intervals.intervals import TAIL
from .differential_fairness import find_limits_of_spans


def odds_difference(cells: FloatArray) -> FloatArray:
    """Largest difference [...] of true or false positive rates between any two groups, within [0, 1]."""
    return _measure_span(cells, np.positive)


def odds_ratio(cells: FloatArray) -> FloatArray:
    """Smallest ratio [...] of true or false positive rates of two groups, 0 to 1; NaN where all are 0."""
    return np.exp(-_measure_span(cells, np.log))


def find_difference_limits(shapes: FloatArray) -> tuple[float, float]:
    """95 % limits of the difference, of cells [G, 2, 2] with half a record added to each."""
    lower, upper = _find_limits(shapes, np.positive)
    return lower, min(1.0, upper)


def find_ratio_limits(shapes: FloatArray) -> tuple[float, float]:
    """95 % limits of the ratio, as `find_difference_limits`."""
    low, high = np.exp(-np.array(_find_limits(shapes, np.log))[::-1])
    return float(low), float(high)


def _measure_span(cells: FloatArray, scale: np.ufunc) -> FloatArray:
    """Largest span [...] of a rate on a scale, of both labels."""
    rates = scale(divide(cells[..., 1], cells.sum(-1)))
    spans = np.fmax.reduce(rates, axis=-2) - np.fmin.reduce(rates, axis=-2)
    widest: FloatArray = np.where((~np.isnan(rates)).sum(-2) > 1, spans, np.nan).max(-1)
    return widest


def _find_limits(shapes: FloatArray, scale: np.ufunc) -> tuple[float, float]:
    # Without records a group has the added halves alone.
    labelled = [shapes[shapes[:, label].sum(-1) > 1, label] for label in (0, 1)]
    ends = [
        find_limits_of_spans(cells[:, 1], cells[:, 0], scale, TAIL / (len(cells) * (len(cells) - 1)))
        for cells in labelled
        if len(cells) > 1
    ]
    lowers, uppers = zip((0.0, 0.0), *ends, strict=True)
    return max(lowers), max(uppers)
