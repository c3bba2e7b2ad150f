"""Ends of the number axis of a metric."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..metrics.catalogue import CATALOGUE

ROOM = 1.12
"""Factor by which the axis reaches beyond the values that are drawn."""


@dataclass(frozen=True, slots=True)
class NumberAxis:
    """The ends of an axis."""

    low: float
    high: float


def number_axis(metric: str, values: Iterable[float], limits: Iterable[float | None]) -> NumberAxis:
    """Returns the axis for a metric's values, with its limits and its ideal. Intervals may reach beyond it and are cut there.

    It is linear. Shares have all of 0 to 1. Ratios begin at 0, so that a bar or a height half as large is half the ratio: that is how
    people read one. A logarithmic axis would show 0.5 as far from 1 as 2 is, but has no place for 0, where a group is never favoured.
    Differences have 0 in the middle, so that both directions look alike.
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
        # If all values are alike there is no distance to take a share of, so the value itself gives it.
        room = (most - least) * (ROOM - 1) or abs(most) * (ROOM - 1) or 1.0
        low, high = least - room, most + room
    return NumberAxis(low, high)
