"""Small picture of a figure in its last checks."""

from collections.abc import Sequence
from datetime import datetime

from ...base.values import frozen_by_name
from ...charts.forest import StripPoint, is_on_ratios
from ...charts.pictures.axes import LogAxis
from ...statistics.sentences.rounding import write_minus

TREND_WIDTH = 720
TREND_HEIGHT = 140
_MARGIN = 8
_TEXT_HEIGHT = 13
"""Px between two levels whose numbers do not cover each other."""


@frozen_by_name
class TrendDot:
    x: float
    y: float
    point: StripPoint


@frozen_by_name
class TrendLevel:
    y: float
    text: str
    is_limit: bool


@frozen_by_name
class Trend:
    """Line in a box of `TREND_WIDTH` by `TREND_HEIGHT`; broken where a check has no figure.

    `begun` is the place of a moment to mark.
    """

    dots: tuple[TrendDot, ...]
    stretches: tuple[str, ...]
    levels: tuple[TrendLevel, ...]
    start: datetime
    end: datetime
    begun: float | None


def draw_trend(
    points: Sequence[StripPoint], *, metric: str, limits: Sequence[float | None], begun: int | None = None
) -> Trend | None:
    """Checks are oldest first; None without a value in any. `begun` is the check to mark."""
    bounds = [limit for limit in limits if limit is not None]
    values = [point.value for point in points if point.value is not None]
    if not values:
        return None
    low = min(*values, *bounds, values[0])
    high = max(*values, *bounds, values[0])
    # A ratio of 0 has no logarithm; it lies at the lower end.
    axis = (
        LogAxis(min(LogAxis().low, max(low, 0.01)), max(LogAxis().high, high))
        if is_on_ratios(metric)
        else None
    )

    def height(value: float) -> float:
        share = (
            axis.place(value) if axis is not None else 0.5 if high == low else (value - low) / (high - low)
        )
        return round(TREND_HEIGHT - _MARGIN - share * (TREND_HEIGHT - 2 * _MARGIN), 1)

    step = (TREND_WIDTH - 2 * _MARGIN) / max(1, len(points) - 1)
    dots: list[TrendDot] = []
    stretches: list[list[str]] = [[]]
    for no, point in enumerate(points):
        if point.value is None:
            stretches.append([])
            continue
        dot = TrendDot(x=round(_MARGIN + no * step, 1), y=height(point.value), point=point)
        dots.append(dot)
        stretches[-1].append(f"{dot.x:g},{dot.y:g}")
    lines = tuple(" ".join(stretch) for stretch in stretches if len(stretch) > 1)
    marked = None if begun is None else round(_MARGIN + begun * step, 1)
    levels = [
        TrendLevel(y=height(limit), text=write_minus(f"{limit:g}"), is_limit=True)
        for limit in dict.fromkeys(bounds)
    ]
    equal = 1.0 if axis is not None else 0.0
    if (axis is not None or low < equal < high) and all(
        abs(height(equal) - level.y) >= _TEXT_HEIGHT for level in levels
    ):
        levels.append(TrendLevel(y=height(equal), text=write_minus(f"{equal:g}"), is_limit=False))
    return Trend(
        dots=tuple(dots),
        stretches=lines,
        levels=tuple(levels),
        start=points[0].at,
        end=points[-1].at,
        begun=marked,
    )
