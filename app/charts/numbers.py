"""Ends of the number axis of a metric."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..metrics.catalogue import CATALOGUE

ROOM = 1.12
"""Factor by which the axis reaches beyond the drawn values."""


@dataclass(frozen=True, slots=True)
class NumberAxis:
    """Ends of an axis."""

    low: float
    high: float


def number_axis(metric: str, values: Iterable[float], limits: Iterable[float | None]) -> NumberAxis:
    """Includes the limits and the ideal; intervals may be cut.

    It is linear: shares have 0 to 1, ratios begin at 0, differences have 0 in the middle. A logarithmic axis has no place for 0, where a
    group is never favoured.
    """
    row = CATALOGUE[metric]
    shown = [*values, *(limit for limit in limits if limit is not None), *([] if row.ideal is None else [row.ideal])]
    least, most = min(shown, default=0.0), max(shown, default=1.0)
    if row.lowest == 0 and row.highest == 1:
        low, high = 0.0, 1.0
    elif row.lowest == 0:
        low, high = 0.0, (most or 1.0) * ROOM
    elif row.ideal == 0:
        high = max(abs(least), abs(most)) * ROOM or 0.1
        low = -high
    else:
        # If all values are alike, the value itself gives the distance.
        room = (most - least) * (ROOM - 1) or abs(most) * (ROOM - 1) or 1.0
        low, high = least - room, most + room
    return NumberAxis(low, high)
