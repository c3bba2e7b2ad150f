"""Axes of numbers."""

import math
from collections.abc import Iterable
from typing import TypeAlias

from ...base.frozen import frozen
from ...statistics.catalogue import CATALOGUE

ROOM = 1.12
"""Factor by which the axis reaches beyond the drawn values."""


@frozen
class LogAxis:
    """Axis from `low` to `high`, both above 0."""

    low: float = 0.25
    high: float = 4.0

    def place(self, ratio: float) -> float:
        """Share from the low end of a ratio of at least 0; beyond an end, that end."""
        if ratio <= self.low:
            return 0.0
        if ratio >= self.high:
            return 1.0
        return math.log(ratio / self.low) / math.log(self.high / self.low)

    def holds(self, ratio: float) -> bool:
        return self.low <= ratio <= self.high


@frozen
class LinearAxis:
    low: float
    high: float

    def place(self, number: float, /) -> float:
        return min(1.0, max(0.0, (number - self.low) / (self.high - self.low)))

    def holds(self, number: float, /) -> bool:
        return self.low <= number <= self.high


Axis: TypeAlias = LogAxis | LinearAxis


def number_axis(metric: str, values: Iterable[float], limits: Iterable[float | None]) -> LinearAxis:
    """Includes the limits and the ideal; intervals may be cut.

    It is linear: shares have 0 to 1, ratios begin at 0, differences have 0 in the middle. A logarithmic
    axis has no place for 0, where a group is never favoured.
    """
    row = CATALOGUE[metric]
    shown = [
        *values,
        *(limit for limit in limits if limit is not None),
        *([] if row.ideal is None else [row.ideal]),
    ]
    least, largest = min(shown, default=0.0), max(shown, default=1.0)
    if row.lowest == 0 and row.highest == 1:
        low, high = 0.0, 1.0
    elif row.lowest == 0:
        low, high = 0.0, (largest or 1.0) * ROOM
    elif row.ideal == 0:
        high = max(abs(least), abs(largest)) * ROOM or 0.1
        low = -high
    else:
        # If all values are alike, the value itself gives the distance.
        room = (largest - least) * (ROOM - 1) or abs(largest) * (ROOM - 1) or 1.0
        low, high = least - room, largest + room
    return LinearAxis(low, high if high > low else low + 1)
