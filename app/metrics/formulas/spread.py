"""Spread of the rates of records with equal labels over all groups, as in fairlearn's equalized odds.

Cells are [..., G, actual 2, predicted 2]. Groups without a label take no part in its rate; NaN where fewer than two have it.
"""

import math

import numpy as np

from ..groups import FloatArray, divide
from .differential import BEYOND, limits_of_spans


def odds_difference(cells: FloatArray) -> FloatArray:
    """Largest difference [...] of true or false positive rates between any two groups, within [0, 1]."""
    low, high = _ends(cells)
    found: FloatArray = (high - low).max(axis=-1)
    return found


def odds_ratio(cells: FloatArray) -> FloatArray:
    """Smallest ratio [...] of true or false positive rates of any two groups, within [0, 1]; NaN where all are 0."""
    low, high = _ends(cells)
    found: FloatArray = divide(low, high).min(axis=-1)
    return found


def difference_limits(shapes: FloatArray) -> tuple[float, float]:
    """95 % limits of the difference, of cells [G, 2, 2] with half a record added to each; see `differential.limits`."""
    lower, upper = _limits(shapes, np.positive)
    return max(0.0, lower), min(1.0, upper)


def ratio_limits(shapes: FloatArray) -> tuple[float, float]:
    lower, upper = _limits(shapes, np.log)
    return math.exp(-upper), min(1.0, math.exp(-lower))


def _ends(cells: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest rate [..., actual 2]."""
    rates = divide(cells[..., 1], cells.sum(axis=-1))
    is_alone = np.isfinite(rates).sum(axis=-2) < 2  # noqa: PLR2004 - a difference needs two
    low, high = (np.where(is_alone, np.nan, reduce(rates, axis=-2)) for reduce in (np.fmin.reduce, np.fmax.reduce))
    return low, high


def _limits(shapes: FloatArray, scale: np.ufunc) -> tuple[float, float]:
    ends = [(0.0, math.inf)]
    for label in (0, 1):
        # Without records a group has the added halves alone.
        known = shapes[shapes[:, label].sum(axis=-1) > 1, label]
        if len(known) > 1:
            ends.append(limits_of_spans(known[:, 1], known[:, 0], scale, BEYOND / (len(known) * (len(known) - 1))))
    return max(lower for lower, _ in ends), max((upper for _, upper in ends[1:]), default=math.inf)
