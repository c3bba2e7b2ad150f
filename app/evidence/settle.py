"""Keeps the figures of an era in step with its counts."""

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from itertools import accumulate

from sqlalchemy.orm import Session

from ..base.clock import HOUR
from ..base.frozen import frozen, frozen_by_name
from ..domain.check import DataSet, FigureKey, Span
from ..domain.monitor import Monitor
from ..statistics.e_values.unsteadiness import UNSTEADINESS_HOURS
from .close_alarm import select_closed
from .count_hours import FollowedEra
from .figure_state import (
    MOST_TOGETHER,
    Course,
    FigureState,
    Series,
    advance,
    find_hour_start,
    number_hour,
    read_series,
)
from .queries.eras import Era, note_progress
from .queries.figure_states import (
    EndedFigure,
    KnownFigure,
    ReachedState,
    add_figures,
    change_figures,
    ended_figures,
    known_figures,
    read_closures,
    read_figure_states,
    remove_figure,
    store_states,
)
from .queries.hour_counts import (
    CountedHour,
    CountedPlace,
    hours_between,
    hours_of_places,
    last_hour,
    read_first_hour,
)
from .summarise import summarise
from .watched_figures import WatchedMetric

MOST_FIGURE_HOURS = 20_000
"""Max hours, summed over figures, that one transaction adds, unless a single figure has more."""

MOST_FIGURES = 100
"""Max figures whose hours are added in one call; more would need gigabytes."""


def settle_figures(
    session: Session, followed: FollowedEra, data: DataSet, span: Span, counted: Sequence[CountedHour]
) -> list[KnownFigure] | None:
    """Adds figures that appear in these counts, and marks those stale whose state was computed from others.

    Another number of comparisons in an hour that states contain makes these stale, too: all share one
    budget. None if any figure was changed here, else the stored ones.
    """
    stored = known_figures(session, followed.era.no)
    lag = count_lag_hours(data, followed.monitor)
    seen_hours: dict[tuple[CountedPlace, str], set[datetime]] = defaultdict(set)
    for hour in counted:
        for label, role, *_ in hour.cells:
            if role == "monitored":
                seen_hours[hour.place, label].add(hour.hour)
    new = {
        FigureKey(metric=metric.definition.metric, data=data, attribute=place.attribute, group=group): first
        for metric in followed.metrics
        if metric.definition.data is data
        for (place, group), hours in seen_hours.items()
        if place == metric.place and (first := _find_first(hours, followed.starts_at)) is not None
    }
    for figure in stored:
        new.pop(figure.key, None)
    add_figures(session, followed.era.no, new, followed.definitions, starts_at=followed.starts_at)
    births = [number_hour(first) + lag for first in new.values()]
    for figure in stored:
        if figure.place.data is not data:
            continue
        hours = seen_hours[figure.place, figure.group]
        first = _find_first(hours, figure.starts_at)
        if first is None or first >= figure.first_hour:
            first = figure.first_hour
            # A record stops counting if an earlier one of the same person is imported.
            if span.start <= first < span.end and first not in hours:
                first = read_first_hour(
                    session, followed.era.no, figure.place, figure.group, since=figure.starts_at
                )
        if first == figure.first_hour:
            continue
        births.append(number_hour(min(figure.first_hour, first or figure.first_hour)) + lag)
        if first is None:
            remove_figure(session, figure)
        else:
            change_figures(session, [figure.no], first_hour=first, is_stale=True)
    # A state that ends after the start of the span contains hours whose counts have changed.
    stale = {figure.no for figure in stored if figure.place.data is data and figure.until > span.start}
    if births:
        stale |= {
            figure.no
            for figure in stored
            if number_hour(figure.until) + count_lag_hours(figure.place.data, followed.monitor) > min(births)
        }
    change_figures(session, stale, is_stale=True)
    return None if births or stale else stored


def _find_first(hours: Collection[datetime], since: datetime | None) -> datetime | None:
    return min((hour for hour in hours if since is None or hour >= since), default=None)


def count_lag_hours(data: DataSet, monitor: Monitor) -> int:
    """Hours after its payload that an hour is counted: counterfactual after its check, labels after their
    horizon.
    """
    return {DataSet.AS_LOGGED: 0, DataSet.COUNTERFACTUAL: 1}.get(
        data, monitor.evidence.label_horizon_hours + 1
    )


@frozen
class Budget:
    """Threshold of the alarm in each hour of the clock: the budget times the comparisons by then.

    `changes` are the hours in which their number became each of `totals`, ascending.
    """

    hours: int
    changes: Sequence[int]
    totals: Sequence[int]

    @classmethod
    def of(
        cls, figures: Sequence[KnownFigure], ended: Sequence[EndedFigure], followed: FollowedEra
    ) -> "Budget":
        monitor = followed.monitor
        directions = {metric.key: len(metric.limits) for metric in followed.metrics}
        changes = [
            (
                number_hour(figure.first_hour) + count_lag_hours(figure.place.data, monitor),
                directions.get(figure.metric_key, 0),
            )
            for figure in figures
        ]
        for figure in ended:
            lag = count_lag_hours(figure.data, monitor)
            changes += [
                (number_hour(figure.first_hour) + lag, figure.limits),
                (number_hour(figure.ended_at) + lag, -figure.limits),
            ]
        changes.sort()
        return cls(
            monitor.evidence.false_alarm_hours,
            [hour for hour, _ in changes],
            list(accumulate(count for _, count in changes)),
        )

    def log_threshold(self, hour: int) -> float:
        """Ln A in that hour of the clock, of at least one comparison."""
        position = bisect_right(self.changes, hour)
        return math.log(self.hours * (max(self.totals[position - 1], 1) if position else 1))


@frozen
class Forward:
    figures: int
    is_complete: bool


def take_forward(
    session: Session, followed: FollowedEra, read_figures: Sequence[KnownFigure] | None = None
) -> Forward:
    """Brings figures up to their last counted hour. `read_figures` are the era's figures, if read in this
    transaction.

    One call takes all figures that lack a few hours, or else some figures of one metric that are computed
    again from the start.
    """
    figures = known_figures(session, followed.era.no) if read_figures is None else read_figures
    late = list(_find_late(session, followed, figures))
    if not late:
        return Forward(0, is_complete=True)
    together: dict[object, list[_Late]] = defaultdict(list)
    # Postgres ends a transaction that sends nothing for a minute, and many years take longer.
    few = max(1, MOST_FIGURE_HOURS // max(late[0].hours, 1))
    short = [due for due in late if due.hours <= MOST_TOGETHER]
    chosen = short or [due for due in late if due.metric is late[0].metric][:few]
    for due in chosen:
        together[due.metric.definition, due.metric.limits, due.start, due.end].append(due)
    stored = _Stored(session, followed.era.no, chosen)
    budget = Budget.of(figures, ended_figures(session, followed.era.no), followed)
    for figure in figures:
        if figure.definition is None:
            change_figures(session, [figure.no], definition=followed.definitions[figure.metric_key])
    reached: list[ReachedState] = []
    for several in together.values():
        for at in range(0, len(several), MOST_FIGURES):
            reached += _take_together(followed, several[at : at + MOST_FIGURES], stored, budget)
    store_states(session, reached)
    note_progress(session, followed.era.no, alerts_due=True)
    return Forward(len(reached), is_complete=len(reached) == len(late))


@frozen_by_name
class _Late:
    """One figure that needs the hours from `start` to `end` (exclusive). If stale, its state begins again
    at `start`.
    """

    metric: WatchedMetric
    figure: KnownFigure
    start: datetime
    end: datetime

    @property
    def hours(self) -> int:
        return (self.end - self.start) // HOUR

    @property
    def with_past(self) -> Span:
        """Needed hours: bets are chosen from those before `start`."""
        return Span(start=self.start - UNSTEADINESS_HOURS * HOUR, end=self.end)


def _find_late(session: Session, followed: FollowedEra, figures: Sequence[KnownFigure]) -> Iterator[_Late]:
    by_metric: dict[tuple[CountedPlace, str], list[KnownFigure]] = defaultdict(list)
    for figure in figures:
        by_metric[figure.metric_key].append(figure)
    for watched in followed.metrics:
        several = by_metric[watched.key]
        end = find_counted_end(session, followed, watched.place) if several else None
        for figure in several:
            if end is not None and (figure.is_stale or figure.until < end):
                start = figure.first_hour if figure.is_stale else figure.until
                yield _Late(metric=watched, figure=figure, start=start, end=max(start, end))


def find_counted_end(session: Session, followed: FollowedEra, place: CountedPlace) -> datetime | None:
    last = last_hour(session, followed.era.no, place) if place.data is DataSet.COUNTERFACTUAL else None
    return choose_counted_end(followed.era, place.data, last)


def choose_counted_end(era: Era, data: DataSet, last: datetime | None) -> datetime | None:
    """End of the counted hours; of counterfactual data that of the `last` one with counts."""
    if data is DataSet.AS_LOGGED:
        return era.counted_until
    if data is DataSet.LABELLED:
        return era.labels_until
    return None if last is None else last + HOUR


def load_series(
    session: Session, era_no: int, watched: WatchedMetric, span: Span, groups: Sequence[str]
) -> list[Series]:
    return read_series(watched.definition, hours_between(session, era_no, watched.place, span), span, groups)


class _Stored:
    def __init__(self, session: Session, era_no: int, late: Sequence[_Late]) -> None:
        self._session = session
        self._era_no = era_no
        self._groups: dict[Span, dict[CountedPlace, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
        for due in late:
            self._groups[due.with_past][due.figure.place][due.figure.group] = None
        self._counts = {
            span: hours_of_places(session, era_no, dict.fromkeys(places, span.start), end=span.end)
            for span, places in self._groups.items()
        }
        self._series: dict[tuple[Span, CountedPlace, int, int], dict[str, Series]] = {}
        self._states = read_figure_states(session, [due.figure.no for due in late if not due.figure.is_stale])
        self._closures = read_closures(session, era_no)

    def course(self, due: _Late) -> Course:
        watched = due.metric
        figure = due.figure

        def look_up(start: int, end: int) -> Series:
            span = Span(start=find_hour_start(start), end=find_hour_start(end))
            return load_series(self._session, self._era_no, watched, span, [figure.group])[0]

        state = self._states.get(figure.no, b"")
        return Course(
            FigureState.decode(state, watched)
            if state
            else FigureState.starting(watched, number_hour(due.start)),
            self._load(due),
            look_up,
            select_closed(self._closures, watched, figure.key),
        )

    def _load(self, due: _Late) -> Series:
        span = due.with_past
        place = due.figure.place
        definition = due.metric.definition
        key = (span, place, definition.part, definition.whole)
        if key not in self._series:
            groups = list(self._groups[span][place])
            self._series[key] = dict(
                zip(
                    groups,
                    read_series(definition, self._counts[span][place].hours, span, groups),
                    strict=True,
                )
            )
        return self._series[key][due.figure.group]


def _take_together(
    followed: FollowedEra, late: Sequence[_Late], stored: _Stored, budget: Budget
) -> list[ReachedState]:
    watched = late[0].metric
    end = late[0].end
    courses = [stored.course(due) for due in late]
    # An hour's counts are known `lag` hours after its own time.
    lag = count_lag_hours(watched.definition.data, followed.monitor)
    advance(
        courses,
        watched,
        number_hour(late[0].start),
        number_hour(end),
        lambda hour: budget.log_threshold(hour + lag),
    )
    return [
        ReachedState(
            no=due.figure.no, state=course.state.encode(), summary=summarise(watched, course.state), until=end
        )
        for due, course in zip(late, courses, strict=True)
    ]
