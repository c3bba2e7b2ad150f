"""Changes by mitigation: after - before, of the same records. Cells end in [before 2, after 2], favourable or
right last.

NaN or infinite where a denominator is empty. Source: Evenhand, mitigation.
"""

from ..group_labels import FloatArray


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
    rate: FloatArray = cells.sum(axis)[..., 1] / cells.sum((-2, -1))
    return rate
