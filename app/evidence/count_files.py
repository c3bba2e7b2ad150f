"""Counts the hours of records in files: pieces of payload where the engine works, labels in this process."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import select
from sqlalchemy.orm import Session

from ..base.clock import HOUR, floor_to_day, floor_to_hour
from ..base.errors import InvalidInput, NotFound
from ..base.values import frozen, frozen_by_name
from ..checks.counting.count_files import SpanOfFiles
from ..checks.window.window import TablePlaces
from ..deployments.listed_file_queries import FEEDBACK, PAYLOAD, list_paths_within, read_newest_listed_row
from ..deployments.monitor.monitor_fit import NO_PERSON
from ..deployments.monitor.queries import find_monitor
from ..domain.check import DataSet, Span
from ..domain.deployment import PayloadTable, RecordSchema
from ..domain.monitor import Monitor
from ..sources.arrays.read_records import RecordColumns, RecordTable, read_table
from ..sources.stored.window_queries import WindowQuery, name_values
from ..sources.tables.record_files import FeedbackFiles, PayloadFiles
from ..sources.tables.stored_columns import merge_equal_rows
from ..sources.tables.table_files import FilePiece, FileSelection
from ..statistics.e_values.follow import ComparisonFamily, EvidenceSeries, WeighedHour, follow_family
from ..statistics.e_values.nulls import UnfairSide, average_logs
from .count_hours import ReadRecords, merge_hours, number_hours, tabulate_labels, tabulate_payload
from .figure_state import Course, FigureState, find_hour_start, number_hour, number_month, weigh_together
from .queries.eras import find_era, read_followed_deployment
from .queries.figure_states import (
    StoredFigure,
    get_figure,
    read_closures,
    read_ended_figures,
    read_present_figures,
    read_summaries_of,
)
from .queries.hour_counts import CountedHour, read_first_hours
from .settle import load_series
from .summarise import Budget, count_lag_hours, read_episode, select_closed
from .watched_figures import FollowedEra


@frozen_by_name
class LimitEvidence:
    """Logarithms after one hour, for one limit. `log_e` is of the hour alone, None where skipped.

    `is_closed`: a person closed the alarm before this hour, so evidence begins again.
    """

    direction: UnfairSide
    log_e: float | None
    log_evidence: float
    log_fairness: float
    log_threshold: float
    confirmed_fair: bool
    is_closed: bool


@frozen_by_name
class ReplayedHour:
    """All and favourable records of both sides, and the evidence after it for each limit.

    Of a paired metric both sides have the same records; `favourable` are sums of outcomes from 0 to 1.
    """

    number: int
    hour: datetime
    monitored_favourable: float
    monitored_records: float
    reference_favourable: float
    reference_records: float
    evidence: Sequence[LimitEvidence]


def replay_figure(session: Session, deployment_no: int, figure_id: str) -> list[ReplayedHour]:
    """Computes the counts of a figure's hours and the evidence after each again, oldest first.

    Raises:
        NotFound: the deployment's present era has no such figure.
    """
    followed, figure = _find_figure(session, deployment_no, figure_id)
    era = followed.era
    watched = next(metric for metric in followed.metrics if metric.key == figure.metric_key)
    budget = Budget.of(read_present_figures(session, era.no), read_ended_figures(session, era.no), followed)
    lag = count_lag_hours(watched.definition.data, followed.monitor)
    place_start = read_first_hours(session, era.no).get(watched.place, figure.first_hour)
    span = Span(start=min(place_start, figure.first_hour), end=figure.until)
    series = load_series(session, era.no, watched, span, figure.group)
    start = number_hour(figure.first_hour)
    end = number_hour(figure.until)
    course = Course(
        watched,
        FigureState.starting(watched, start),
        series,
        lambda *_: series,
        era.divisors_at,
        start,
        end,
        select_closed(read_closures(session, era.no), watched, figure.key),
    )
    ((_, weighed),) = weigh_together([course], start, end)
    summaries = read_summaries_of(session, [figure.no])[figure.no]
    by_limit: list[list[LimitEvidence]] = []
    months = [number_month(hour) for hour in range(start, end)]
    for limit, comparison, blocks, summary in zip(
        watched.limits, course.comparisons(), weighed, summaries, strict=True
    ):
        # Its alarms are given: others decided about them, too.
        comparison.follower.past = list(map(read_episode, summary.alarms))
        (life,) = follow_family(
            ComparisonFamily(math.log(budget.hours)),
            [(comparison, blocks)],
            months,
            total=lambda hour: budget.total(hour + lag),
            start=start,
        )
        by_limit.append(
            _replay_limit(
                watched.get_direction(limit), blocks, life, budget, hours=range(start, end), lag=lag
            )
        )
    hours = series.between(start, end)
    return [
        ReplayedHour(
            number=start + position,
            hour=find_hour_start(start + position),
            monitored_favourable=float(hours.monitored.favourable[position]),
            monitored_records=float(hours.monitored.records[position]),
            reference_favourable=float(hours.reference.favourable[position]),
            reference_records=float(hours.reference.records[position]),
            evidence=[life[position] for life in by_limit],
        )
        for position in range(end - start)
    ]


def _find_figure(session: Session, deployment_no: int, figure_id: str) -> tuple[FollowedEra, StoredFigure]:
    era_no, figure = get_figure(session, deployment_no, figure_id)
    monitor = find_monitor(session, deployment_no)
    deployment = read_followed_deployment(session, deployment_no)
    era = find_era(session, deployment_no, deployment.model_revision)
    if monitor is None or era is None or era.no != era_no:
        raise NotFound("comparison", figure_id)
    followed = FollowedEra(deployment, monitor, era)
    # The limits of a figure that is no longer compared are not stored.
    if not followed.compares(figure):
        raise NotFound("comparison", figure_id)
    return followed, figure


def _replay_limit(
    direction: UnfairSide,
    blocks: Sequence[WeighedHour],
    life: EvidenceSeries,
    budget: Budget,
    *,
    hours: range,
    lag: int,
) -> list[LimitEvidence]:
    by_hour = {block.hour: block for block in blocks}
    replayed = []
    for position, hour in enumerate(hours):
        block = by_hour.get(hour)
        replayed.append(
            LimitEvidence(
                direction=direction,
                log_e=None if block is None or math.isnan(block.unfair[0]) else average_logs(block.unfair),
                log_evidence=float(life.log_evidence[position]),
                log_fairness=float(life.log_fairness[position]),
                log_threshold=budget.log_threshold(hour + lag),
                confirmed_fair=life.shown_fair[position],
                is_closed=block is not None and block.closed is not None,
            )
        )
    return replayed


LABEL_WAIT = timedelta(days=1)
"""Wait for the labels of an hour after their horizon, while no file has later ones."""

RESOLUTION = timedelta(microseconds=1)

MAX_JOINED_RECORDS = 1_000_000
"""Records from which on they are joined with labels, so that memory is bounded."""


@frozen
class HoursInFiles:
    """Hours of a deployment as its files are listed and can be read now.

    The session's transaction is kept alive while files are read.
    """

    session: Session
    followed: FollowedEra
    payload: PayloadTable
    places: TablePlaces

    def end(self, latest: datetime, data: DataSet) -> datetime | None:
        """End of the hours whose rows are there, at most `latest`; None where nothing is listed.

        Hours that no file has reached may still come; labels, which stop coming in many lakes, are waited for
        a day.
        """
        newest = read_newest_listed_row(
            self.session, self.followed.deployment.no, PAYLOAD if data is DataSet.AS_LOGGED else FEEDBACK
        )
        if self.followed.era.is_daily:
            latest = floor_to_day(latest)
        reached = None if newest is None else min(latest, floor_to_hour(newest) + HOUR)
        if data is DataSet.AS_LOGGED:
            return reached
        waited = latest - LABEL_WAIT
        return max(waited, reached or waited)

    def next_hour(self, span: Span) -> datetime | None:
        earliest = self._open(span).find_earliest(span)
        return None if earliest is None else floor_to_hour(earliest)

    def count_records(self, span: Span) -> int:
        """Raises InvalidInput: the files cannot be read."""
        return self._open(span).count(span)

    def count(self, data: DataSet, span: Span) -> list[CountedHour]:
        """Counts the hours of a span, with groups in a fixed order.

        Raises:
            InvalidInput: the files cannot be read, or the monitor cannot be applied to them.
        """
        if self.followed.monitor.evidence.person is not None:
            raise InvalidInput("evidence.person", NO_PERSON)
        counted = self._count_payload(span) if data is DataSet.AS_LOGGED else self._count_labels(span)
        # Pieces come in any order, and another order would look like changed counts.
        return [
            replace(hour, cells=sorted(hour.cells, key=lambda cell: (cell[1], cell[0] or "")))
            for hour in counted
        ]

    def _open(self, span: Span) -> PayloadFiles:
        paths = list_paths_within(self.session, self.followed.deployment.no, PAYLOAD, span)
        return PayloadFiles(
            self.followed.deployment, self.payload, self.places.roots, FileSelection(only=paths)
        )

    def _query(self) -> WindowQuery:
        deployment = self.followed.deployment
        attributes = self.followed.monitor.restrict_to(deployment.schema).attributes
        names = dict.fromkeys(name for attribute in attributes for name in attribute.columns)
        return WindowQuery(deployment.no, deployment.schema, tuple(names))

    def _count_payload(self, span: Span) -> list[CountedHour]:
        files = self._open(span)
        followed = self.followed
        records = SpanOfFiles(files.form, files.reader(), self._query(), span)
        task = HoursTask(records, followed.deployment.schema, followed.monitor, followed.era.model_revision)
        answers = self.places.engine.run(
            task, [piece.to_bytes() for piece in files.pieces(span)], self._keep_alive
        )
        return merge_hours(msgspec.json.decode(answer, type=list[CountedHour]) for answer in answers)

    def _count_labels(self, span: Span) -> list[CountedHour]:
        feedback = self.followed.deployment.feedback
        followed = self.followed
        if feedback is None:
            return []
        observed = Span(start=span.start, end=span.end + followed.horizon + RESOLUTION)
        paths = list_paths_within(self.session, followed.deployment.no, FEEDBACK, observed)
        labels = FeedbackFiles(feedback, self.places.roots, FileSelection(only=paths))
        batches = []
        for records in self._join_batches(span):
            self._keep_alive(0)
            rows = labels.first_labels(records, followed.horizon)
            if rows.num_rows:
                read = _read_rows(rows, followed.deployment.schema, followed.monitor, self._query().columns)
                batches.append(
                    list(
                        tabulate_labels(
                            ReadRecords(rows, read, number_hours(rows["logged_at"], span)), followed, span
                        )
                    )
                )
        return merge_hours(batches)

    def _join_batches(self, span: Span) -> Iterator[pa.Table]:
        tables: list[pa.Table] = []
        for rows in self._open(span).batches(self._query(), span):
            self._keep_alive(0)
            tables.append(rows.filter(pc.equal(rows["model_revision"], self.followed.era.model_revision)))
            if sum(table.num_rows for table in tables) >= MAX_JOINED_RECORDS:
                yield pa.concat_tables(tables)
                tables = []
        if tables:
            yield pa.concat_tables(tables)

    def _keep_alive(self, done: int) -> None:  # noqa: ARG002 - of `Done`
        # Postgres ends a transaction that sends nothing for a minute.
        self.session.execute(select(1))


@frozen
class HoursTask:
    records: SpanOfFiles
    schema: RecordSchema
    monitor: Monitor
    revision: str

    def __call__(self, piece: bytes) -> bytes:
        """Returns a JSON list of `CountedHour`."""
        batches = self.records.read_batches(FilePiece.from_bytes(piece), with_times=True)
        of_revision = (
            rows.filter(pc.equal(rows["model_revision"], self.revision)).drop_columns(["model_revision"])
            for rows in batches
        )
        return msgspec.json.encode(merge_hours(self._count(rows) for rows in of_revision if rows.num_rows))

    def _count(self, rows: pa.Table) -> Iterator[CountedHour]:
        span = self.records.span
        codes = rows.drop_columns(["logged_at"])
        hours = pa.array(number_hours(rows["logged_at"], span)).dictionary_encode()
        kinds, repeats = merge_equal_rows(codes.append_column("hour", hours))
        read = _read_rows(kinds, self.schema, self.monitor, self.records.query.columns)
        return tabulate_payload(
            ReadRecords(kinds, read, kinds["hour"].to_numpy(), repeats=repeats), self.monitor, span
        )


def _read_rows(rows: pa.Table, schema: RecordSchema, monitor: Monitor, names: tuple[str, ...]) -> RecordTable:
    return read_table(
        RecordColumns(name_values(rows, names), rows["outcome"]), schema, monitor.restrict_to(schema)
    )
