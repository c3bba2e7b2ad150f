"""What mitigation changes in a figure: after - before, of the same records. Cells end in [before 2, after 2], favourable or right last.

Where a denominator is empty the result is NaN or infinite; who calls asks beforehand. Source: Evenhand, mitigation.
"""

from app.metrics.groups import FloatArray


def rate_change(cells: FloatArray) -> FloatArray:
    """The share [...] of the favourable, or right, after - before, of cells [..., 2, 2]; within [-1, 1]."""
    change: FloatArray = (cells[..., 0, 1] - cells[..., 1, 0]) / cells.sum(axis=(-2, -1))
    return change


def balanced_accuracy_change(cells: FloatArray) -> FloatArray:
    """½ (TPR + TNR) after - before, of cells [..., actual 2, 2, 2]; within [-1, 1]."""
    # What is lifted is right where the label is favourable, and wrong where it is not.
    change: FloatArray = (rate_change(cells[..., 1, :, :]) - rate_change(cells[..., 0, :, :])) / 2
    return change


def disparate_impact_change(monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """The ratio of the favourable rates after - before, of cells [..., 2, 2]; unbounded."""
    before, after = (_favourable(monitored, axis) / _favourable(reference, axis) for axis in (-1, -2))
    change: FloatArray = after - before
    return change


def _favourable(cells: FloatArray, axis: int) -> FloatArray:
    """The favourable rate [...] of cells [..., 2, 2] without one of their sides, which is summed over: -1 after, -2 before."""
    rate: FloatArray = cells.sum(axis=axis)[..., 1] / cells.sum(axis=(-2, -1))
    return rate
