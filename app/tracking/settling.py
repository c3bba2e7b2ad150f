"""Keeps the figures of an era in step with its counts: which there are, which are stale, and how far each has come."""

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate

from sqlalchemy.orm import Session

from ..clock import HOUR
from ..domain.checks import DataSet, Span
from ..domain.monitors import Monitor
from ..evidence.unsteadiness import PAST_HOURS
from ..store.evidence.eras import note_progress
from ..store.evidence.figures import (
    FigureKey,
    StoredFigure,
    add_figures,
    figures_of,
    mark_stale,
    move_first_hour,
    remove_figure,
    store_state,
)
from ..store.evidence.hours import CountedHour, CountedPlace, first_hour_of, hours_between, last_hour
from .closing import find_closed
from .counting import Followed
from .figures import WatchedMetric, count_directions, watched_metrics
from .series import Series, number_hour, read_series, start_of
from .states import Clock, Course, FigureState, advance


def settle_figures(session: Session, followed: Followed, data: DataSet, span: Span, counted: Sequence[CountedHour]) -> None:
    """Adds figures that appear in these counts for the first time, and marks figures stale whose state was computed from other counts.

    If this changes the number of comparisons in an hour that is already in other states, those figures become stale as well.
    """
    stored, lag = figures_of(session, followed.era.no), lag_of(data, followed.monitor)
    seen = _Seen.of(counted)
    known = {one.key for one in stored}
    metrics = [one for one in watched_metrics(followed.monitor) if one.definition.data is data]
    added = {
        FigureKey(place=place, group=group, metric=metric.definition.metric): hour
        for metric in metrics
        for (place, group), hour in seen.first.items()
        if place == metric.place
    }
    new = {key: hour for key, hour in added.items() if key not in known}
    add_figures(session, followed.era.no, list(new), list(new.values()))
    births = [number_hour(hour) + lag for hour in new.values()]
    for figure in stored:
        if figure.key.place.data is not data:
            continue
        first = _find_first_hour(session, followed, figure, span, seen)
        if first == figure.first_hour:
            continue
        births.append(number_hour(min(figure.first_hour, first or figure.first_hour)) + lag)
        if first is None:
            remove_figure(session, figure)
        else:
            move_first_hour(session, figure, first)
    # A state that ends after the start of the span contains hours whose counts have changed.
    stale = {one.no for one in stored if one.key.place.data is data and one.until > span.start}
    # All figures share the budget, so another number of comparisons in a past hour changes every figure's threshold there.
    if births:
        stale |= {one.no for one in stored if number_hour(one.until) + lag_of(one.key.place.data, followed.monitor) > min(births)}
    mark_stale(session, stale)


@dataclass(frozen=True, slots=True)
class _Seen:
    """Monitored groups with records in some hours: the first hour of each, and all hours."""

    first: dict[tuple[CountedPlace, str], datetime]
    every: set[tuple[CountedPlace, str, datetime]]

    @classmethod
    def of(cls, counted: Sequence[CountedHour]) -> "_Seen":
        every = {(one.place, label, one.hour) for one in counted for label, role, *_ in one.cells if role == "monitored"}
        first: dict[tuple[CountedPlace, str], datetime] = {}
        for place, label, hour in every:
            first[place, label] = min(first.get((place, label), hour), hour)
        return cls(first, every)


def _find_first_hour(session: Session, followed: Followed, figure: StoredFigure, span: Span, seen: _Seen) -> datetime | None:
    """Returns the figure's first hour with records after the span was counted; None if it has none left."""
    key = figure.key
    found = seen.first.get((key.place, key.group))
    if found is not None and found < figure.first_hour:
        return found
    # A record can stop counting, if an earlier one of the same person is imported.
    was_counted = span.start <= figure.first_hour < span.end
    if was_counted and (key.place, key.group, figure.first_hour) not in seen.every:
        return first_hour_of(session, followed.era.no, key.place, key.group)
    return figure.first_hour


def lag_of(data: DataSet, monitor: Monitor) -> int:
    """Returns how many hours later than payload's an hour's counts are there: balanced ones after its check, labels after their horizon."""
    return {DataSet.PAYLOAD: 0, DataSet.BALANCED: 1}.get(data, monitor.evidence.label_horizon_hours + 1)


@dataclass(frozen=True, slots=True)
class Budget:
    """Threshold of the alarm in each hour of the clock: the budget times the comparisons that there are by then.

    `births` are the hours in which comparisons were added, ascending; `totals` [births] is the number of comparisons from each of them on.
    """

    hours: int
    births: Sequence[int]
    totals: Sequence[int]

    @classmethod
    def of(cls, figures: Sequence[StoredFigure], monitor: Monitor) -> "Budget":
        """Returns the budget that these figures share."""
        directions = count_directions(list(watched_metrics(monitor)))
        born = sorted(
            (number_hour(one.first_hour) + lag_of(one.key.place.data, monitor), directions.get((one.key.place, one.key.metric), 0))
            for one in figures
        )
        return cls(monitor.evidence.false_alarm_hours, [hour for hour, _ in born], list(accumulate(count for _, count in born)))

    def comparisons(self, hour: int) -> int:
        """Returns how many comparisons there are in that hour of the clock, at least 1."""
        place = bisect_right(self.births, hour)
        return self.totals[place - 1] if place else 1

    def log_threshold(self, hour: int) -> float:
        """Returns ln A in that hour of the clock."""
        return math.log(self.hours * self.comparisons(hour))


def take_forward(session: Session, followed: Followed) -> bool:
    """Brings the figures of one metric up to its last counted hour; returns False if no metric has a figure that needs it."""
    figures = figures_of(session, followed.era.no)
    budget = Budget.of(figures, followed.monitor)
    for watched in watched_metrics(followed.monitor):
        end = end_of(session, followed, watched.place)
        own = [one for one in figures if (one.key.place, one.key.metric) == (watched.place, watched.definition.metric)]
        waiting = [one for one in own if end is not None and (one.is_stale or one.until < end)]
        if not waiting or end is None:
            continue
        together: dict[datetime, list[StoredFigure]] = defaultdict(list)
        for one in waiting:
            together[one.first_hour if one.is_stale or not one.state else one.until].append(one)
        # Figures that start at the same hour share their arrays. After a change some start again at their first hour, others go on.
        for start, several in together.items():
            _take_together(session, followed, watched, several, Span(start=start, end=max(start, end)), budget)
        note_progress(session, followed.era.no, alerts_due=True)
        return True
    return False


def end_of(session: Session, followed: Followed, place: CountedPlace) -> datetime | None:
    """Returns the end of the last hour that is counted at the place; None if none is."""
    if place.data is DataSet.PAYLOAD:
        return followed.era.counted_until
    if place.data is DataSet.FEEDBACK:
        return followed.era.labels_until
    last = last_hour(session, followed.era.no, place)
    return None if last is None else last + HOUR


def load_series(session: Session, era_no: int, watched: WatchedMetric, span: Span, groups: Sequence[str]) -> list[Series]:
    """Returns the stored counts of these groups over the span."""
    return read_series(watched.definition, hours_between(session, era_no, watched.place, span), span, groups)


def _take_together(
    session: Session, followed: Followed, watched: WatchedMetric, figures: Sequence[StoredFigure], span: Span, budget: Budget
) -> None:
    """Adds the hours of the span to figures of one metric, each from its state at the start of the span."""
    era_no, lag = followed.era.no, lag_of(watched.definition.data, followed.monitor)
    # Bets are chosen from the hours before the span.
    with_past = Span(start=span.start - PAST_HOURS * HOUR, end=span.end)
    loaded = load_series(session, era_no, watched, with_past, [one.key.group for one in figures])

    def look_up(group: str, start: int, end: int) -> Series:
        return load_series(session, era_no, watched, Span(start=start_of(start), end=start_of(end)), [group])[0]

    courses = []
    closed = find_closed(session, era_no, watched, figures)
    for figure, series, own in zip(figures, loaded, closed, strict=True):
        is_new = figure.is_stale or not figure.state
        state = FigureState.starting(watched, number_hour(span.start)) if is_new else FigureState.decode(figure.state, watched)
        courses.append(Course(state, series, lambda start, end, group=figure.key.group: look_up(group, start, end), own))  # type: ignore[misc]
    advance(courses, watched, number_hour(span.start), number_hour(span.end), Clock(lag, budget.log_threshold))
    for figure, course in zip(figures, courses, strict=True):
        store_state(session, figure, course.state.encode(), until=span.end)
