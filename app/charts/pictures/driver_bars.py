"""Drivers of a gap as bars with intervals, on one scale."""

from ...base.values import frozen_by_name
from ...evidence.attribution.attribution import AttributedGap, PartOfGap
from ...evidence.attribution.words import list_drivers


@frozen_by_name
class DriverBar:
    """Ends of a bar and of its 95 % interval, in per cent of the width."""

    name: str
    part: PartOfGap
    ends: tuple[float, float]
    interval: tuple[float, float] | None


@frozen_by_name
class DriverBars:
    zero: float
    bars: tuple[DriverBar, ...]


def draw_drivers(gap: AttributedGap) -> DriverBars:
    """Bars; what makes the gap larger goes to the right of zero, for either sign of it."""
    drivers = list_drivers(gap)
    sign = -1.0 if gap.gap < 0 else 1.0
    values = [
        sign * end for _, part in drivers for end in (part.value, part.low, part.high) if end is not None
    ]
    first, last = min([0.0, *values]), max([0.0, *values])

    def place(value: float) -> float:
        return round(100 * (sign * value - first) / ((last - first) or 1.0), 2)

    def order(start: float, end: float) -> tuple[float, float]:
        return min(place(start), place(end)), max(place(start), place(end))

    return DriverBars(
        zero=place(0),
        bars=tuple(
            DriverBar(
                name=name,
                part=part,
                ends=order(0, part.value),
                interval=None if part.low is None or part.high is None else order(part.low, part.high),
            )
            for name, part in drivers
        ),
    )
