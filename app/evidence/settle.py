"""Keeps the figures of an era in step with its counts."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from ..base.clock import HOUR, monotonic_seconds
from ..base.values import frozen
from ..domain.check import DataSet, FigureKey, Span
from ..domain.monitor import POOLED_GROUP
from ..statistics.e_values.betting import UNSTEADINESS_HOURS
from ..statistics.e_values.follow import ComparisonFamily
from .figure_state import (
    Course,
    FigureState,
    Series,
    advance,
    extend_together,
    find_hour_start,
    number_hour,
    read_series,
)
from .queries.figure_states import (
    KnownFigure,
    add_figures,
    change_figures,
    read_closures,
    read_ended_figures,
    read_figure_states,
    read_summaries_of,
    remove_figure,
)
from .queries.hour_counts import (
    CountedHour,
    CountedPlace,
    read_first_hour,
    read_first_hours,
    read_hours_between,
    read_hours_of_places,
)
from .summarise import Budget, count_lag_hours, read_episode, select_closed
from .tell_state import CountedHours, choose_counted_end, choose_start, select_chapters, store_figures
from .watched_figures import FollowedEra, WatchedMetric


def settle_figures(
    session: Session,
    followed: FollowedEra,
    stored: Sequence[KnownFigure],
    data: DataSet,
    span: Span,
    counted: Sequence[CountedHour],
) -> bool:
    """Adds figures that appear, and marks those `stored` stale whose state was computed from other counts;
    returns whether it changed any.

    Another number of comparisons in an hour that states contain makes these stale, too: all share one budget.
    """
    lag = count_lag_hours(data, followed.monitor)
    seen_hours: dict[CountedPlace, dict[str, set[datetime]]] = defaultdict(lambda: defaultdict(set))
    for hour in counted:
        for label, role, *_ in hour.cells:
            if role == "monitored":
                seen_hours[hour.place][label].add(hour.hour)
    new = {
        FigureKey(metric=metric.definition.metric, data=data, attribute=place.attribute, group=group): first
        for metric in followed.metrics
        if (place := metric.place) in seen_hours
        for group, hours in seen_hours[place].items()
        if (first := _find_first(hours, followed.starts_at)) is not None
    }
    of_data = [figure for figure in stored if figure.place.data is data]
    for figure in of_data:
        new.pop(figure.key, None)
    firsts: dict[FigureKey, datetime | None] = {}
    for figure in of_data:
        hours = seen_hours[figure.place][figure.group]
        first = _find_first(hours, figure.starts_at)
        if first is None or first >= figure.first_hour:
            first = figure.first_hour
            # A record stops counting if an earlier one of the same person is imported.
            if span.start <= first < span.end and first not in hours:
                first = read_first_hour(
                    session, followed.era.no, figure.place, figure.group, since=figure.starts_at
                )
        firsts[figure.key] = first
    _add_pooled_firsts(firsts, new, followed)
    if new:
        add_figures(session, followed.era.no, new, followed.definitions, starts_at=followed.starts_at)
    births = [number_hour(first) + lag for first in new.values()]
    for figure in of_data:
        first = firsts[figure.key]
        if first == figure.first_hour:
            continue
        births.append(number_hour(min(figure.first_hour, first or figure.first_hour)) + lag)
        if first is None:
            remove_figure(session, figure)
        else:
            change_figures(session, [figure.no], first_hour=first, is_stale=True)
    # A state that ends after the start of the span contains hours whose counts have changed.
    stale = {figure.no for figure in of_data if figure.until > span.start}
    if births:
        stale |= {
            figure.no
            for figure in stored
            if number_hour(figure.until) + count_lag_hours(figure.place.data, followed.monitor) > min(births)
        }
    change_figures(session, stale, is_stale=True)
    return bool(births or stale)


def _add_pooled_firsts(
    firsts: dict[FigureKey, datetime | None], new: dict[FigureKey, datetime], followed: FollowedEra
) -> None:
    """First hour of all monitored groups together: that of the second one that appears.

    Counts of pairs name this group themselves.
    """
    firsts_of: dict[tuple[DataSet, str | None, str], list[datetime]] = defaultdict(list)
    for key, first in [*firsts.items(), *new.items()]:
        if first is not None and key.group != POOLED_GROUP:
            firsts_of[key.data, key.attribute, key.metric].append(first)
    for metric in followed.metrics:
        if metric.definition.is_paired:
            continue
        pooled = FigureKey(
            metric=metric.definition.metric,
            data=metric.place.data,
            attribute=metric.place.attribute,
            group=POOLED_GROUP,
        )
        of_metric = sorted(firsts_of[pooled.data, pooled.attribute, pooled.metric])
        second = of_metric[1] if len(of_metric) > 1 else None
        if pooled in firsts:
            firsts[pooled] = second
        elif second is not None:
            new[pooled] = second


def _find_first(hours: Collection[datetime], since: datetime | None) -> datetime | None:
    return min((hour for hour in hours if since is None or hour >= since), default=None)


QUIET_SECONDS = 5.0
"""Seconds without a statement to the database, after which a computation sends one."""


def compute_figures_forward(session: Session, followed: FollowedEra, figures: Sequence[KnownFigure]) -> int:
    """Computes all figures up to the last counted hour; returns how many were late.

    Figures share one budget, so all are computed again from the start where the counts of one have changed.
    """
    due = list(_find_due(session, followed, figures))
    is_again = any(pending.figure.is_stale for pending in due) or _breaks_order(session, followed, due)
    late = sum(pending.figure.is_stale or pending.figure.until < pending.end for pending in due)
    if not late:
        return 0
    budget = Budget.of(figures, read_ended_figures(session, followed.era.no), followed)
    for figure in figures:
        if figure.definition is None:
            change_figures(session, [figure.no], definition=followed.definitions[figure.metric_key])
    reader = _CourseReader(session, followed, due, is_again=is_again)
    courses = [reader.build_course(pending) for pending in due]
    announced = list(followed.era.alarms)
    family = ComparisonFamily(
        math.log(budget.hours), [] if is_again else announced, announced if is_again else []
    )

    sent_at = monotonic_seconds()

    def keep_alive() -> None:
        # Postgres ends a transaction that sends nothing for a minute.
        nonlocal sent_at
        if monotonic_seconds() - sent_at > QUIET_SECONDS:
            session.execute(select(1))
            sent_at = monotonic_seconds()

    advance(courses, family, budget.total, keep_alive)
    extensions = [
        # None where the hours of the interval have changed.
        course.extend_interval(None if pending.figure.is_stale else number_hour(pending.figure.until))
        for course, pending in zip(courses, due, strict=True)
    ]
    extend_together([extension for extension in extensions if extension is not None], keep_alive)
    followed.note(alarms=family.alarms)
    followed.changes["alerts_due"] = True
    figures_now = [
        (replace(pending.figure, until=pending.end, is_stale=False), course.state)
        for course, pending in zip(courses, due, strict=True)
    ]
    store_figures(session, followed, figures_now, reader.counts)
    return late


def _breaks_order(session: Session, followed: FollowedEra, due: Sequence["_Due"]) -> bool:
    """Whether pairs have come for hours that figures have passed, by the clock of the era."""

    def find_clock(figure: KnownFigure, hour: datetime) -> int:
        return number_hour(hour) + count_lag_hours(figure.place.data, followed.monitor)

    figures = [figure_due.figure for figure_due in due]
    passed = (
        max(
            (find_clock(figure, figure.until) for figure in figures if figure.until > figure.first_hour),
            default=0,
        )
        - 1
    )
    for figure_due in due:
        figure = figure_due.figure
        if (
            figure_due.metric.definition.is_paired
            and figure.until < figure_due.end
            and find_clock(figure, figure.until) < passed
        ):
            era_no = followed.era.no
            first = read_first_hour(session, era_no, figure.place, figure.group, since=figure.until)
            if first is not None and first < figure_due.end and find_clock(figure, first) < passed:
                return True
    return False


@frozen
class _Due:
    """Computed up to the hour `end`."""

    metric: WatchedMetric
    figure: KnownFigure
    end: datetime


def _find_due(session: Session, followed: FollowedEra, figures: Sequence[KnownFigure]) -> Iterator[_Due]:
    by_metric: dict[tuple[CountedPlace, str], list[KnownFigure]] = defaultdict(list)
    paired: dict[CountedPlace, datetime] = {}
    for figure in figures:
        by_metric[figure.metric_key].append(figure)
        if figure.place.data is DataSet.COUNTERFACTUAL:
            paired[figure.place] = figure.until
    newest = read_hours_of_places(session, followed.era.no, paired) if paired else {}
    last = {place: counted.last for place, counted in newest.items()}
    for watched in followed.metrics:
        end = choose_counted_end(followed.era, watched.place.data, last.get(watched.place))
        for figure in by_metric[watched.key]:
            start = figure.first_hour if figure.is_stale else figure.until
            yield _Due(watched, figure, max(start, end or start))


def load_series(session: Session, era_no: int, watched: WatchedMetric, span: Span, group: str) -> Series:
    counted = read_hours_between(session, era_no, watched.place, span)
    return read_series(watched.definition, counted, span, [group])[0]


class _CourseReader:
    """Reads states and counts, from which the courses of due figures begin."""

    def __init__(
        self, session: Session, followed: FollowedEra, due: Sequence[_Due], *, is_again: bool
    ) -> None:
        self._session = session
        self._followed = followed
        self._is_again = is_again
        era_no = followed.era.no
        first_hours = read_first_hours(session, era_no) if is_again else {}
        nos = [figure_due.figure.no for figure_due in due]
        encoded = read_figure_states(session, era_no)
        self._states = {
            figure_due.figure.no: FigureState.decode(state, figure_due.metric)
            if (state := encoded.get(figure_due.figure.no))
            else FigureState.starting(figure_due.metric, number_hour(self._start(figure_due.figure)))
            for figure_due in due
        }
        starts = []
        self._ends: dict[CountedPlace, datetime] = {}
        for figure_due in due:
            place = figure_due.figure.place
            start = self._start(figure_due.figure)
            before = start - UNSTEADINESS_HOURS * HOUR
            earliest = min(before, first_hours.get(place, before))
            chapters = select_chapters(followed, [(figure_due.figure, self._states[figure_due.figure.no])])
            starts.append((figure_due.figure, choose_start(chapters, earliest, figure_due.end)))
            self._ends[place] = max(figure_due.end, self._ends.get(place, figure_due.end))
        self.counts = CountedHours.read(session, era_no, starts)
        self._summaries = read_summaries_of(session, nos) if is_again else {}
        self._closures = read_closures(session, era_no)

    def _start(self, figure: KnownFigure) -> datetime:
        return figure.first_hour if self._is_again else figure.until

    def build_course(self, due: _Due) -> Course:
        watched = due.metric
        figure = due.figure
        place = figure.place

        def look_up(start: int, end: int) -> Series:
            span = Span(start=find_hour_start(start), end=find_hour_start(end))
            return load_series(self._session, self._followed.era.no, watched, span, figure.group)

        start = number_hour(self._start(figure))
        state = self._states[figure.no]
        if self._is_again:
            restarted = FigureState.starting(watched, start)
            if not figure.is_stale:
                restarted.interval = state.interval
                restarted.chapter = state.chapter
            state = restarted
            summaries = self._summaries.get(figure.no, ())
            for follower, summary in zip(state.followers, summaries, strict=False):
                follower.past = list(map(read_episode, summary.alarms))
                follower.known_until = number_hour(figure.until)
        span = Span(start=self._start(figure), end=self._ends[place])
        series = self.counts.load(watched, span)[figure.group]
        # Of hours that the series has, too, nothing counts twice.
        state.older = [hour for hour in state.older if hour[0] < series.first]
        return Course(
            watched,
            state,
            series,
            look_up,
            self._followed.era.divisors_at,
            start,
            number_hour(due.end),
            select_closed(self._closures, watched, figure.key),
            count_lag_hours(watched.definition.data, self._followed.monitor),
            (place.data.value, place.attribute, figure.group, figure.metric),
        )
