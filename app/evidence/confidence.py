"""Interval of a ratio or a difference that holds at all hours at once, however often it is looked at."""

import math

import numpy as np

from .betting import compare_with_line
from .hours import FloatArray, Hours
from .nulls import Null, Scale

ALPHA = 0.05
RATIOS = np.geomspace(0.2, 5.0, 801)
DIFFERENCES = np.linspace(-1.0, 1.0, 201)[1:-1]
MIN_REFERENCE_RECORDS = 50
MIN_MONITORED_RECORDS = 20
"""Fewer before an hour, on either side: the hour says nothing yet."""


def follow_interval(hours: Hours, scale: Scale) -> tuple[FloatArray, FloatArray]:
    """Returns both ends [H] of the interval after each hour of a chapter; NaN for an open end.

    With 95 % probability it contains the figure after every hour at once, if the figure does not change. If it changes, the lower end is
    at most the highest and the upper end at least the lowest hourly figure, and a lower end above the upper one says that it changed.
    """
    below, above = _sum_evidence(hours, scale)
    limit = math.log(2 / ALPHA)
    grid = RATIOS if scale is Scale.RATIO else DIFFERENCES
    # The outermost value that is not refuted, and one step of the grid further out.
    last = len(grid) - 1 - np.argmax((below < limit)[:, ::-1], axis=1)
    first = np.argmax(above < limit, axis=1)
    lower = np.where(first > 0, grid[np.maximum(first - 1, 0)], np.nan)
    upper = np.where(last < len(grid) - 1, grid[np.minimum(last + 1, len(grid) - 1)], np.nan)
    return lower, upper


def _sum_evidence(hours: Hours, scale: Scale) -> tuple[FloatArray, FloatArray]:
    """Returns the evidence [H, R] that the figure is below, and above, each value of the grid, summed over the hours."""
    counts = [np.cumsum(part) - part for side in (hours.monitored, hours.reference) for part in (side.favourable, side.records)]
    monitored, reference = (counts[0] + 0.5) / (counts[1] + 1), (counts[2] + 0.5) / (counts[3] + 1)
    early = (counts[1] < MIN_MONITORED_RECORDS) | (counts[3] < MIN_REFERENCE_RECORDS)
    monitored = np.where(early, np.nan, monitored)
    grid = RATIOS if scale is Scale.RATIO else DIFFERENCES
    below, above = np.empty((len(hours), len(grid))), np.empty((len(hours), len(grid)))
    for number, value in enumerate(grid):
        line = Null(monitored_first=True, slope=float(value)) if scale is Scale.RATIO else Null(True, 1.0, -float(value))
        logs = compare_with_line(hours, line, monitored[:, None], reference[:, None])[:, 0]
        # Chosen before the hour, so that each hour speaks against one side of the value only.
        is_below = monitored < line.slope * reference - line.slack
        for sums, is_side in ((below, is_below), (above, ~is_below)):
            sums[:, number] = np.cumsum(np.where(is_side & ~np.isnan(logs), logs, 0.0))
    return below, above
