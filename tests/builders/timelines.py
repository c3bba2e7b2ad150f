"""Panels over time made up for pictures."""

from datetime import datetime, timedelta

from app.charts.series import SeriesPoint
from app.charts.timeline import TimePanel, join_points
from app.domain.check import Scope, Span
from tests.builders.chart_data import HOUR, START, point


def panel_of(*values: float | None, step: timedelta = HOUR, start: datetime = START) -> TimePanel:
    """A group whose hourly checks had these values, from hour 1 on."""
    return panel_of_points([point(hour, value) for hour, value in enumerate(values, 1)], step=step, start=start)


def panel_of_points(points: list[SeriesPoint], *, step: timedelta = HOUR, start: datetime = START) -> TimePanel:
    """A group with these points, whose time ends with the last."""
    span = Span(start=start, end=max(one.at for one in points))
    return TimePanel(attribute="sex", group="female", scope=Scope.GROUP, name="women", steps=join_points(points, span, step))
