"""How the numbers of a metric are drawn: the axis they stand on, and their format."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.metrics.catalogue import CATALOGUE
from app.metrics.catalogue.metric import CountOf, Metric, RateOf

ROOM = 1.12
"""How far the axis reaches beyond what is drawn."""


@dataclass(frozen=True, slots=True)
class NumberAxis:
    """The ends of an axis, and the d3 format of its numbers. `ideal` is drawn as a line; `equal` says what it means."""

    low: float
    high: float
    format: str
    ideal: float | None
    equal: str


def number_axis(metric: str, values: Iterable[float], limits: Iterable[float | None]) -> NumberAxis:
    """The axis on which a metric's values stand, with its limits and its ideal. Intervals may reach beyond it and are cut there.

    It is linear. Shares have all of 0 to 1. Ratios begin at 0, so that a bar or a height half as large is half the ratio: that is how
    people read one. A logarithmic axis would show 0.5 as far from 1 as 2 is, but has no place for 0, where a group is never favoured.
    Differences have 0 in the middle, so that both directions look alike.
    """
    row = CATALOGUE[metric]
    shown = [*values, *(limit for limit in limits if limit is not None), *([] if row.ideal is None else [row.ideal])]
    low, high = _ends(row, shown)
    return NumberAxis(low, high, _format(row), row.ideal, "equal" if row.order != "none" else "ideal")


def _ends(row: Metric, shown: list[float]) -> tuple[float, float]:
    least, most = min(shown, default=0.0), max(shown, default=1.0)
    if row.lowest == 0 and row.highest == 1:
        return 0.0, 1.0
    if row.lowest is not None and row.lowest == 0:
        return 0.0, (most or 1.0) * ROOM
    if row.ideal == 0:
        reach = max(abs(least), abs(most)) * ROOM or 0.1
        return -reach, reach
    room = (most - least) * (ROOM - 1) or abs(most) * (ROOM - 1) or 1.0
    return least - room, most + room


def _format(row: Metric) -> str:
    match row.measure:
        case RateOf():
            return ".0%"
        case CountOf():
            return ",.0f"
        case _:
            return "+.3~g" if row.ideal == 0 and row.lowest != 0 else ".3~g"
