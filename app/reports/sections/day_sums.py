"""Headlines of many checks summed up by hour, day or week."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from ...base.frozen import frozen_by_name
from ...charts.series import SeriesPoint
from ...charts.timeline import group_by_step
from ...domain.check import Span


@frozen_by_name
class Day:
    """Checks whose span ends in the step from `start`. Without a value both ends are None."""

    start: datetime
    checks: int
    verdicts: Mapping[str | None, int]
    lowest: float | None
    highest: float | None


def choose_step(span: Span) -> timedelta:
    length = span.end - span.start
    if length <= timedelta(days=8):
        return timedelta(hours=1)
    return timedelta(days=1) if length <= timedelta(days=731) else timedelta(days=7)


def summarise_days(points: Iterable[SeriesPoint], step: timedelta) -> list[Day]:
    """Oldest first; steps begin at midnight, UTC, weeks on Mondays."""
    days = []
    for start, members in group_by_step(points, step):
        values = [point.value for point in members if point.value is not None]
        days.append(
            Day(
                start=start,
                checks=len(members),
                verdicts=Counter(point.verdict for point in members),
                lowest=min(values, default=None),
                highest=max(values, default=None),
            )
        )
    return days
