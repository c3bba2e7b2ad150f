"""Small pictures in a row of the fleet."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..charts.axes import LogAxis
from ..metrics.catalogue import CATALOGUE
from ..metrics.sides import both_sides, is_ratio
from ..store.overviews.figures import TrendPoint
from ..views.judging import WorstGroup
from .wording import verdict

AXIS = LogAxis()
"""Scale of all ratios on the page."""

WIDTH = 120.0
CHECKS = 24
"""Checks in a strip."""

_CELL = 5
_HEIGHTS = {"unfair": 16, "suspected": 11, "unwatched": 11, "fair": 6}
"""Heights in a strip of 16, so that colour does not carry the meaning alone; other verdicts are a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyph:
    """Places from 0 to 120. `fair` is inside the limits; an end beyond the axis becomes an arrow."""

    fair: tuple[float, float]
    interval: tuple[float, float] | None
    value: float
    equal: float
    beyond_low: bool
    beyond_high: bool

    @property
    def fair_width(self) -> float:
        return round(self.fair[1] - self.fair[0], 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    paths: tuple[tuple[str, str], ...]
    words: str


def glyph(worst: WorstGroup) -> Glyph | None:
    """Draws a ratio; None for other figures, and without a value."""
    if worst.value is None or not is_ratio(CATALOGUE[worst.metric]):
        return None
    own = worst.for_choice
    lower, upper = (worst.lower, worst.upper) if own is None else (own.lower, own.upper)
    interval = None
    # An end that is not bounded reaches to the end of the axis.
    if lower is not None or upper is not None:
        interval = (_place(0.0 if lower is None else lower), _place(AXIS.high if upper is None else upper))
    low, high = both_sides(CATALOGUE[worst.metric], (worst.lower_limit, worst.upper_limit))
    return Glyph(
        fair=(_place(AXIS.low if low is None else low), _place(AXIS.high if high is None else high)),
        interval=interval,
        value=_place(worst.value),
        equal=_place(1.0),
        beyond_low=worst.value < AXIS.low,
        beyond_high=worst.value > AXIS.high,
    )


def strip(trend: Sequence[TrendPoint], *, about: str) -> Strip | None:
    """Points are oldest first, at the right end of the strip; None without any."""
    if not trend:
        return None
    bars: dict[str, list[str]] = {}
    for place, point in enumerate(trend, CHECKS - len(trend)):
        kind = point.verdict if point.verdict in _HEIGHTS else "none"
        height = _HEIGHTS.get(kind, 2)
        bars.setdefault(kind, []).append(f"M{place * _CELL} {16 - height}h{_CELL - 1}v{height}h{1 - _CELL}z")
    counted = Counter(verdict(point.verdict) if point.verdict else "no verdict" for point in trend)
    each = ", ".join(f"{many} {word}" for word, many in counted.items())
    many = "The last check" if len(trend) == 1 else f"The last {len(trend)} checks"
    return Strip(paths=tuple((kind, "".join(parts)) for kind, parts in bars.items()), words=f"{many} that measured {about}: {each}.")


def _place(ratio: float) -> float:
    return round(WIDTH * AXIS.place(max(0.0, ratio)), 1)
