"""Counts new or changed hours of deployments, then updates every figure.

Each transaction stores how far it got: a process may die at any point. Processes may run in parallel; a lock
makes them take turns per deployment.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import count
from typing import Any

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from ..base.clock import HOUR, floor_to_hour
from ..base.errors import InvalidInput, Unavailable
from ..checks.window.window import NO_TABLES, TablePlaces
from ..database.engine import Database, arrow_reader, current_time
from ..database.tables import MonitorRow
from ..deployments.monitor.queries import read_monitor, read_time_of_change
from ..deployments.queries import hold_deployment
from ..domain.check import DataSet, Span
from ..domain.monitor import list_comparisons
from ..sources.stored.window_queries import match_pending_feedback, note_changed_hours
from ..statistics.e_values.follow import SomeGroupAlarm
from ..statistics.tables.record_kinds import CounterfactualCells
from .count_files import HoursInFiles
from .count_hours import count_labels, count_payload
from .count_pairs import count_first_pairs, count_pairs
from .figure_state import number_hour
from .first_records import FirstRecords
from .queries.eras import (
    Era,
    begin_era,
    find_checked_hours,
    find_current_hour_bound,
    find_deployments_to_follow,
    find_era,
    forget_changes,
    forget_unfollowed_changes,
    note_progress,
    read_changed_hours,
    read_counterfactual_tables,
    read_followed_deployment,
    try_lock_evidence,
)
from .queries.figure_states import KnownFigure, change_figures, read_present_figures
from .queries.hour_counts import (
    CountedHour,
    CountedPlace,
    add_late_labels,
    count_late_labels,
    count_logged,
    find_counted_hours,
    find_next_record_hour,
    replace_hours,
    replace_late_labels,
)
from .random_order import in_random_order
from .settle import compute_figures_forward, settle_figures
from .watched_figures import FollowedEra

MAX_HOURS = 24
"""Hours that a transaction counts at most."""

MAX_RECORDS = 200_000
"""Records of a span; with more, a transaction counts fewer of its hours, but one at least."""

BEGINNING = datetime.fromisoformat("1970-01-01T00:00:00+00:00")

log = structlog.get_logger(__name__)


def update_evidence(database: Database, *, grace: timedelta, places: TablePlaces | None = None) -> int:
    """Updates the evidence of all deployments; returns the number of steps. `grace` is the longest that a
    write may take.

    With `places` these are the deployments whose records lie in files there; without, those with logged ones.

    Raises:
        Unavailable: the database went away; the next call does the rest.
    """
    with database.transaction() as session:
        latest = find_current_hour_bound(session, grace.total_seconds())
        forget_unfollowed_changes(session)
        waiting = find_deployments_to_follow(session, latest=latest, in_files=places is not None)
    steps = 0
    for deployment_no in in_random_order(waiting):
        try:
            steps += update_deployment(database, deployment_no, latest, places=places or NO_TABLES)
        except InvalidInput as error:
            _note_problem(database, deployment_no, str(error))
        except (Unavailable, SQLAlchemyError):
            raise
        except Exception:  # a bug met by one deployment must not stop the others
            log.exception("evidence_broke", deployment_no=deployment_no)
    return steps


def update_deployment(
    database: Database, deployment_no: int, latest: datetime, *, places: TablePlaces = NO_TABLES
) -> int:
    """Counts the hours before `latest` and updates every figure; returns the number of steps.

    Raises InvalidInput (the monitor cannot be applied to what was logged), Unavailable (the database went
    away).
    """
    # Committed first: counting reads with a connection of its own.
    with database.transaction() as session:
        match_pending_feedback(session, deployment_no)  # labels that were sent before their records
    steps = 0
    while True:
        with database.transaction() as session:
            if not try_lock_evidence(session, deployment_no) or not hold_deployment(session, deployment_no):
                return steps
            followed = _follow(session, deployment_no)
            if followed is None:
                return steps
            _rewind(session, followed, latest)
            payload = followed.deployment.payload
            files = None if payload is None else HoursInFiles(session, followed, payload, places)
            step = _Step(session, database, followed, latest, files)
            steps += step.run()
            if followed.era.figures_due is step.is_complete:
                followed.note(figures_due=not step.is_complete)
            if followed.changes:
                note_progress(session, followed.era.no, **followed.changes)
        if step.is_complete:
            return steps


def _follow(session: Session, deployment_no: int) -> FollowedEra | None:
    row = session.get(MonitorRow, deployment_no)
    if row is None:
        return None
    monitor = read_monitor(row)
    deployment = read_followed_deployment(session, deployment_no)
    revision = deployment.model_revision
    changed = read_time_of_change(session, deployment_no)
    starts_at = None if changed is None else floor_to_hour(changed - timedelta(microseconds=1)) + HOUR
    era = find_era(session, deployment_no, revision)
    settings = monitor.evidence
    terms = (settings.divisor, settings.person)
    if era is not None and (era.divisors[-1][1], era.persons[-1][1]) != terms:
        # What was said later holds from the next block on; first records of people may be older.
        since = max(starts_at or BEGINNING, era.counted_until or BEGINNING)
        if settings.person is not None:
            counted = find_counted_hours(session, deployment_no, [Span(start=BEGINNING, end=since)])
            note_changed_hours(session, deployment_no, sorted(counted))
        hour = number_hour(since)
        changed_terms: dict[str, Any] = {
            "divisors": [*era.divisors, (hour, settings.divisor)],
            "persons": [*era.persons, (hour, settings.person)],
        }
        era = replace(era, **changed_terms)
        note_progress(session, era.no, **changed_terms)
    if era is not None and (changed is None or era.monitor_version == monitor.version):
        return FollowedEra(deployment, monitor, era, starts_at)
    if (
        era is not None
        and starts_at is not None
        and (alarms := _keep_figures(session, FollowedEra(deployment, monitor, era), starts_at)) is not None
    ):
        changes: dict[str, Any] = {"monitor_version": monitor.version, "problem": None, "alarms": alarms}
        note_progress(session, era.no, alerts_due=True, **changes)
        return FollowedEra(deployment, monitor, replace(era, **changes), starts_at)
    era = begin_era(session, deployment_no, monitor.version, revision, starts_at=starts_at, said=terms)
    note_changed_hours(session, deployment_no, find_checked_hours(session, deployment_no, era))
    return FollowedEra(deployment, monitor, era, starts_at)


def _rewind(session: Session, followed: FollowedEra, latest: datetime) -> None:
    """Forgets hours that were counted while the database's clock was ahead."""
    era = followed.era
    no = followed.deployment.no
    horizon = followed.horizon
    reached = era.counted_until
    if reached is None or reached <= latest or reached <= current_time(session):
        return
    labels_until = era.labels_until and min(era.labels_until, floor_to_hour(latest - horizon))
    late = count_late_labels(session, no, era, Span(start=latest, end=reached), horizon, arrived=True)
    followed.note(counted_until=latest, labels_until=labels_until)
    if late:
        hours = Span(start=min(late), end=max(late) + HOUR)
        replace_late_labels(session, no, followed.era, hours, horizon)
    starts = dict.fromkeys((comparison.label for comparison in list_comparisons(followed.monitor)), BEGINNING)
    for data in (DataSet.AS_LOGGED, DataSet.COUNTERFACTUAL, DataSet.LABELLED):
        span = Span(start=labels_until or latest if data is DataSet.LABELLED else latest, end=reached)
        replace_hours(session, era.no, data, span, (), starts)
        figures = read_present_figures(session, era.no)
        settle_figures(session, followed, figures, data, span, ())


def _keep_figures(
    session: Session, followed: FollowedEra, starts_at: datetime
) -> Sequence[SomeGroupAlarm] | None:
    """Ends the figures that the monitor's new version, from `starts_at` on, changes; None if none is left.

    Else the alarms of some group, of which an open one ends with a figure.
    """
    figures = read_present_figures(session, followed.era.no)
    changed = [figure.no for figure in figures if not followed.compares(figure)]
    change_figures(session, changed, ended_at=starts_at)
    if len(changed) == len(figures):
        return None
    alarms = list(followed.era.alarms)
    if changed and followed.era.open_alarm is not None:
        alarms[-1] = replace(alarms[-1], ended=number_hour(starts_at), end="superseded")
    return alarms


def _note_problem(database: Database, deployment_no: int, problem: str) -> None:
    """Files and changed hours are tried again."""
    with database.transaction() as session:
        followed = _follow(session, deployment_no)
        if followed is not None:
            note_progress(session, followed.era.no, problem=problem)
    log.warning("evidence_not_counted", deployment_no=deployment_no, problem=problem)


@dataclass
class _Step:
    session: Session
    database: Database
    followed: FollowedEra
    latest: datetime
    files: HoursInFiles | None
    is_complete: bool = False
    are_hours_left: bool = False
    has_displaced: bool = False

    @property
    def _era(self) -> Era:
        return self.followed.era

    @cached_property
    def _figures(self) -> list[KnownFigure]:
        return read_present_figures(self.session, self._era.no)

    @cached_property
    def _starts(self) -> Mapping[CountedPlace, datetime]:
        starts: dict[CountedPlace, datetime] = {}
        for figure in self._figures:
            start = figure.starts_at or BEGINNING
            starts[figure.place] = min(starts.get(figure.place, start), start)
        return starts

    def run(self) -> bool:
        """Does the first thing that is due; returns whether anything was.

        Changed hours are counted again, else up to a day of new hours, and of labels whose horizon has
        passed. If no hour is left then, figures are updated in the same transaction.
        """
        if self.files is not None and self._era.problem is not None:
            self.followed.note(problem=None)  # not stored if it is met again
        if self._recount():
            return True
        any_due = [self._count_new(), self._count_new_labels()]
        if self.are_hours_left:
            return True
        late = compute_figures_forward(self.session, self.followed, self._figures)
        # Counting may have found an earlier first record of a person: the former one's hour must be counted
        # again.
        self.is_complete = not self.has_displaced
        return any(any_due) or late > 0

    def _recount(self) -> bool:
        """False without any."""
        no = self.followed.deployment.no
        # Read before the records, so that a note written meanwhile is left to a later step.
        notes = read_changed_hours(self.session, no, self._era)
        if not notes:
            return False
        hours = {hour for _, hour in notes}
        first = notes[0][1]
        hours_in_a_row = next(number for number in count() if first + number * HOUR not in hours)
        span = self._bound(Span(start=first, end=first + hours_in_a_row * HOUR))
        counted_until = self._era.counted_until or BEGINNING
        labels_until = self._era.labels_until or BEGINNING
        self._count(DataSet.AS_LOGGED, Span(start=span.start, end=min(span.end, counted_until)))
        self._count(DataSet.LABELLED, Span(start=span.start, end=min(span.end, labels_until)))
        self._count_counterfactual(span)
        if self.files is None:
            replace_late_labels(self.session, no, self._era, span, self.followed.horizon)
        forget_changes(self.session, [note_no for note_no, hour in notes if hour < span.end], self._era)
        return True

    def _count_new(self) -> bool:
        era = self._era
        no = self.followed.deployment.no
        latest = self.latest if self.files is None else self.files.end(self.latest, DataSet.AS_LOGGED)
        # A person's first record may be from before the first hour that counts.
        earliest = (
            BEGINNING if self.followed.monitor.evidence.person is not None else era.starts_at or BEGINNING
        )
        start = max(era.counted_until or earliest, earliest)
        if latest is None or start >= latest:
            return False
        until = self._count_next(DataSet.AS_LOGGED, start, latest)
        if self.files is None:
            late = count_late_labels(
                self.session, no, era, Span(start=start, end=until), self.followed.horizon, arrived=True
            )
            add_late_labels(self.session, era.no, late)
        self.followed.note(counted_until=until, problem=None)
        if era.persons[-1][1] is not None:
            self._count_counterfactual(Span(start=start, end=until))
        return True

    def _count_new_labels(self) -> bool:
        era = self._era
        earliest = era.starts_at or BEGINNING
        end = (
            self.latest
            if self.files is None
            else self.files.end(self.latest, DataSet.LABELLED) or self.latest
        )
        start = max(era.labels_until or earliest, earliest)
        latest = floor_to_hour(end - self.followed.horizon)
        if start >= latest:
            return False
        self.followed.note(labels_until=self._count_next(DataSet.LABELLED, start, latest))
        return True

    def _count_next(self, data: DataSet, start: datetime, latest: datetime) -> datetime:
        remaining = Span(start=start, end=latest)
        first: datetime | None = start
        if self.files is not None:
            first = self.files.next_hour(remaining)
        elif latest - start > HOUR:
            first = find_next_record_hour(self.session, self.followed.deployment.no, remaining)
        if first is None:
            return latest
        span = self._bound(Span(start=first, end=min(first + MAX_HOURS * HOUR, latest)))
        self._count(data, span)
        self.are_hours_left |= span.end < latest
        return span.end

    def _bound(self, span: Span) -> Span:
        hours = min((span.end - span.start) // HOUR, MAX_HOURS)
        bounded = Span(start=span.start, end=span.start + hours * HOUR)
        if hours == 1:
            return bounded
        no = self.followed.deployment.no
        records = (
            count_logged(self.session, no, bounded)
            if self.files is None
            else self.files.count_records(bounded)
        )
        if records <= MAX_RECORDS:
            return bounded
        return Span(start=span.start, end=span.start + max(1, hours * MAX_RECORDS // records) * HOUR)

    def _count(self, data: DataSet, span: Span) -> None:
        if span.start >= span.end:
            return
        if self.files is not None:
            self._store(data, span, self.files.count(data, span))
            return
        newest = len(self._era.persons) - 1
        for hours, number in self._era.split_by_person(span):
            counted = self._count_records(data, hours, number)
            if number != newest and data is DataSet.AS_LOGGED and self._era.persons[newest][1] is not None:
                # Not counted so, but later hours need the first records of people.
                self._count_records(data, hours, newest)
            self._store(data, hours, counted)

    def _count_records(self, data: DataSet, span: Span, number: int) -> list[CountedHour]:
        is_payload = data is DataSet.AS_LOGGED
        person = self._era.persons[number][1]
        people = (
            None
            if person is None
            else FirstRecords(self.session, self._era.no, remembers=is_payload, number=number)
        )
        followed = self.followed.with_person(person)
        with arrow_reader(self.database) as reader:
            counted = (count_payload if is_payload else count_labels)(reader, followed, span, people)
        if people is not None and people.displaced:
            # Counted with a record that is not its person's first after all.
            self.has_displaced = True
            note_changed_hours(self.session, self.followed.deployment.no, sorted(people.displaced))
        return counted

    def _count_counterfactual(self, span: Span) -> None:
        era = self._era
        for part, number in era.split_by_person(span):
            hours, person = part, era.persons[number][1]
            if person is not None:
                # Whose first record is where is known once the hour's records are counted.
                hours = replace(part, end=max(part.start, min(part.end, era.counted_until or BEGINNING)))
            tables = read_counterfactual_tables(self.session, self.followed.deployment.no, era, hours)
            if person is None:
                pairs = [count_pairs(CounterfactualCells.from_json(table.cells)) for table in tables]
            else:
                followed = self.followed.with_person(person)
                people = FirstRecords(self.session, era.no, remembers=False, number=number)
                with arrow_reader(self.database) as reader:
                    pairs = [
                        count_first_pairs(self.session, reader, followed, table, people) for table in tables
                    ]
            counted = [
                CountedHour(
                    place=CountedPlace(DataSet.COUNTERFACTUAL, table.attribute),
                    hour=table.hour,
                    cells=cells,
                    check_no=table.check_no,
                )
                for table, cells in zip(tables, pairs, strict=True)
                if cells
            ]
            self._store(DataSet.COUNTERFACTUAL, hours, counted)

    def _store(self, data: DataSet, span: Span, counted: list[CountedHour]) -> None:
        starts_at = self.followed.starts_at or BEGINNING
        starts = {
            comparison.label: self._starts.get(CountedPlace(data, comparison.label), starts_at)
            for comparison in list_comparisons(self.followed.monitor)
        }
        due = [
            hour
            for hour in counted
            if hour.place.attribute in starts and hour.hour >= starts[hour.place.attribute]
        ]
        if replace_hours(self.session, self._era.no, data, span, due, starts) and settle_figures(
            self.session, self.followed, self._figures, data, span, due
        ):
            del self._figures
