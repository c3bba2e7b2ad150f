"""Generalised entropy: inequality of the benefit of decisions among people.

The benefit is predicted - actual + 1, from 0 to 2. Source: Speicher et al. 2018; AIF360.
"""

import numpy as np

from ..group_labels import FloatArray, divide
from ..intervals.rate_estimates import PARTS

_ROUNDING = 8 * np.finfo(np.float64).eps

_BENEFITS = (0.0, 1.0, 2.0)
"""Benefit of a false negative, a right prediction and a false positive."""


def generalized_entropy(cells: FloatArray, alpha: float) -> FloatArray:
    """Inequality [...] of the benefit among the records of cells [..., 2, 2], from 0 up.

    Infinite for alpha 0 where a benefit is 0, NaN without records or where every benefit is 0.
    """
    false_negatives, false_positives, records = (
        PARTS[name].sum_cells(cells) for name in ("false_negative", "false_positive", "records")
    )
    sizes = np.stack([false_negatives, records - false_negatives - false_positives, false_positives], -1)
    return _compute_index(np.broadcast_to(np.array(_BENEFITS), sizes.shape), sizes, alpha)


def between_groups(cells: FloatArray, alpha: float) -> FloatArray:
    """Inequality [...] among groups, of cells [..., G, 2, 2]: each record has its group's mean benefit."""
    sizes = PARTS["records"].sum_cells(cells).astype(float)
    return _compute_index(np.where(sizes > 0, mean_benefit(cells), 1.0), sizes, alpha)


def mean_benefit(cells: FloatArray) -> FloatArray:
    """Mean benefit [...] of cells [..., 2, 2], within [0, 2]; NaN without records."""
    return 1 + divide(
        PARTS["false_positive"].sum_cells(cells) - PARTS["false_negative"].sum_cells(cells),
        PARTS["records"].sum_cells(cells),
    )


def _compute_index(benefits: FloatArray, sizes: FloatArray, alpha: float) -> FloatArray:
    """Mean of (r^alpha - 1) / (alpha (alpha - 1)), or its limit, r the benefit over the mean benefit."""
    total = sizes.sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = benefits / ((sizes * benefits).sum(-1) / total)[..., None]
        if alpha == 1:
            entropies = np.where(ratio == 0, 0.0, ratio * np.log(ratio))
        elif alpha == 0:
            entropies = -np.log(ratio)
        else:
            entropies = (ratio**alpha - 1) / (alpha * (alpha - 1))
        index: FloatArray = np.where(sizes > 0, sizes * entropies, 0.0).sum(-1) / total
    # A sum of terms near one is no more exact than this, and the index is never negative.
    return np.where(index < _ROUNDING, 0.0, index)
