"""Drivers of a gap as bars with intervals, on one scale."""

from ...base.values import frozen_by_name
from ...evidence.attribution.attribution import AttributedGap, PartOfGap
from ...evidence.attribution.words import list_drivers


@frozen_by_name
class DriverBars:
    """Drivers by name. What makes the gap larger goes to the right, for either sign of it."""

    drivers: list[tuple[str, PartOfGap]]
    left: float
    width: float

    def place(self, *values: float | None) -> list[float]:
        """Places of the values that are known, from the left, in per cent of the width."""
        # -0.0 would be written with its sign.
        return sorted(
            round(100 * (value - self.left) / self.width, 2) + 0.0 for value in values if value is not None
        )


def draw_drivers(gap: AttributedGap) -> DriverBars:
    drivers = list_drivers(gap)
    ends = [end for _, part in drivers for end in (part.value, part.low, part.high) if end is not None]
    left, right = min([0.0, *ends]), max([0.0, *ends])
    if gap.gap < 0:
        left, right = right, left
    return DriverBars(drivers=drivers, left=left, width=right - left or 1.0)
