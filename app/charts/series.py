"""Series of all groups of an attribute, over hours or rolled up; figures that no check stores; and the names
that people gave to the groups of both.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from sqlalchemy.orm import Session

from ..base.errors import InvalidInput
from ..base.values import frozen, frozen_by_name
from ..checks.counting.tabulate import find_table_data
from ..checks.days.measurement_queries import (
    EndedRun,
    Point,
    SeriesFilter,
    SeriesKey,
    StoredPoint,
    page_points,
    read_ended_runs,
    read_span_counts,
    read_stored_points,
    read_summed_tables,
)
from ..checks.days.roll_up import Period, find_period_start, roll_up
from ..checks.queries import get_check
from ..checks.views.view_shapes import AttributeView, CheckView
from ..checks.views.view_source import read_check_source, read_counted_check
from ..database.binary_rows import read_row
from ..deployments.mitigation_queries import read_mitigation_settings
from ..deployments.monitor.queries import find_monitor
from ..domain.check import CheckRun, CheckState, DataSet, Measurement, Scope
from ..domain.groups import GroupWords
from ..domain.paging import Paging
from ..evidence.attribution.attribution import AttributedGap, SideCounts
from ..evidence.present_state import DeploymentEvidence, rename_state
from ..statistics.catalogue import CATALOGUE
from ..statistics.measures.worst_group import Disadvantaged, find_disadvantaged

SHOWN_SCOPES = (Scope.GROUP, Scope.REFERENCE, Scope.ATTRIBUTE, Scope.OVERALL)

MAX_TABLES = 20_000
"""Max hourly tables that one roll-up adds up: those of more than two years."""

_Subject = tuple[str, str | None]
"""Scope and group of a point."""

_NUMBERS_PER_CHECK = 100_000
"""Numbers that a cursor has for the points of one check; those of the next check follow."""


class SeriesPoint(NamedTuple):
    """Figure at one moment, with its 95 % interval: an end of None is unbounded.

    `value` is None exactly when `reason` says why. `at` is the end of its time; of a roll-up, the start of
    the period. The limits are those at the time. `definition` numbers the metric's definitions on the data.
    """

    at: datetime
    value: float | None
    lower: float | None
    upper: float | None
    n: int
    verdict: str | None
    reason: str | None
    carried_forward: bool
    check_id: str | None
    lower_limit: float | None = None
    upper_limit: float | None = None
    definition: int = 1


@frozen
class GroupSeries:
    group: str | None
    scope: Scope
    points: tuple[SeriesPoint, ...]


@frozen
class Gap:
    """Moment at which only checks without figures ended, and why."""

    at: datetime
    state: CheckState
    reason: str | None


@frozen_by_name
class Series:
    """Points of each group. `attribute` None: of all records. `rollup` None: one point a check."""

    metric: str
    data: DataSet
    attribute: str | None
    rollup: Period | None
    groups: tuple[GroupSeries, ...]
    gaps: tuple[Gap, ...] = ()


@frozen
class Volume:
    """Records of a checked hour or a period; `additional` ones are from before the hour."""

    at: datetime
    records: int
    additional: int


@frozen_by_name
class SeriesQuery(SeriesKey):
    scopes: tuple[Scope, ...] = SHOWN_SCOPES
    rollup: Period | None = None


def build_series(
    session: Session, deployment_no: int, query: SeriesQuery, *, runs: Sequence[EndedRun] | None = None
) -> Series:
    """Builds the series, oldest point first; two statements without a roll-up, three with one.

    Of several checks that end at one moment the one of an hour counts, of these the newest. A roll-up is
    computed from the count tables of whole hours, under the present limits; without a monitor, and for
    metrics that read records, it has no point. `runs` are the ended checks, if read.

    Raises:
        InvalidInput: the range leaves more hours than one roll-up adds up.
    """
    if query.rollup is not None:
        return _roll_up_series(session, deployment_no, query, query.rollup)

    if runs is None:
        runs = read_ended_runs(session, deployment_no, query.since, query.until)
    stored = read_stored_points(session, deployment_no, query)
    points_by_subject = _group_points(stored, {run.no: run for run in runs})

    # Of the checks of one moment, none of which succeeded, the newest is the gap.
    failures = {run.span_end: run for run in runs if run.state != CheckState.SUCCEEDED}
    success_ends = {run.span_end for run in runs if run.state == CheckState.SUCCEEDED}
    gaps = tuple(
        Gap(at, CheckState(run.state), run.reason) for at, run in failures.items() if at not in success_ends
    )
    return _build_series(query, points_by_subject, gaps)


def find_disadvantaged_at(series: Series, point: SeriesPoint) -> Disadvantaged | None:
    return find_disadvantaged(
        CATALOGUE[series.metric], point.value, (point.lower_limit, point.upper_limit), point.verdict
    )


def count_volume(
    session: Session,
    deployment_no: int,
    since: datetime | None,
    until: datetime | None,
    rollup: Period | None,
) -> tuple[Volume, ...]:
    """Counts records of each checked hour, at its end, or each period, at its start. One statement.

    The last check of an hour counts. Checks that are longer, or begin within an hour, are left out.
    """
    counts = read_span_counts(session, deployment_no, since, until)
    if rollup is None:
        return tuple(Volume(count.span_end, count.logged, count.additional) for count in counts)
    sums: dict[datetime, tuple[int, int]] = {}
    for count in counts:
        start = find_period_start(count.span_start.replace(minute=0, second=0, microsecond=0), rollup)
        records, additional = sums.get(start, (0, 0))
        sums[start] = (records + count.logged, additional + count.additional)
    return tuple(Volume(start, records, additional) for start, (records, additional) in sorted(sums.items()))


def _group_points(
    stored: Iterable[StoredPoint], runs: Mapping[int, EndedRun]
) -> dict[_Subject, list[SeriesPoint]]:
    """Groups the points by subject; of checks that end at one moment one counts, as in `build_series`."""
    points_by_subject: dict[_Subject, list[SeriesPoint]] = {}
    newest_runs: dict[_Subject, EndedRun] = {}
    for row in stored:
        run = runs.get(row[0])
        subject = row[1:3]
        if run is None:  # the check ended between the two statements, and is there the next time
            continue
        points = points_by_subject.setdefault(subject, [])
        if points and points[-1].at == run.span_end:
            if newest_runs[subject].is_hourly and not run.is_hourly:
                continue
            points.pop()
        newest_runs[subject] = run
        # By position: by name it takes three times as long, and a year has thousands.
        points.append(SeriesPoint._make((run.span_end, *row[3:10], run.id, *row[10:])))
    return points_by_subject


def _roll_up_series(session: Session, deployment_no: int, query: SeriesQuery, period: Period) -> Series:
    monitor = find_monitor(session, deployment_no)
    if monitor is None:
        return _build_series(query, {})
    table_filter = SeriesFilter(
        data=find_table_data(query.data),
        attribute=query.attribute or "",
        since=query.since,
        until=query.until,
    )
    tables = read_summed_tables(
        session, deployment_no, table_filter, outcomes=monitor.outcomes, limit=MAX_TABLES + 1
    )
    if sum(table.hours for table in tables) > MAX_TABLES:
        raise InvalidInput(
            "since", f"leaves more than {MAX_TABLES:,} checked hours to add up; choose a later one"
        )
    results = roll_up(
        tables,
        period,
        replace(monitor, metrics=(query.metric,)),
        read_mitigation_settings(session, deployment_no),
        scopes=frozenset(query.scopes),
    )
    measurements = [result.measurement for result in results if result.measurement.data is query.data]

    points: dict[_Subject, list[SeriesPoint]] = {}
    for figure in measurements:
        point = read_row(SeriesPoint, figure, carried_forward=False, check_id=None)
        subject = (Scope.WORST, None) if query.scopes == (Scope.WORST,) else (figure.scope, figure.group)
        points.setdefault(subject, []).append(point)
    return _build_series(query, points)


def _build_series(
    query: SeriesQuery,
    points_by_subject: Mapping[_Subject, Sequence[SeriesPoint]],
    gaps: tuple[Gap, ...] = (),
) -> Series:
    groups = [
        GroupSeries(group, Scope(scope), tuple(points))
        for (scope, group), points in points_by_subject.items()
    ]
    return read_row(Series, query, groups=tuple(groups), gaps=gaps)


def measure_requested(session: Session, check: CheckRun, metrics: Collection[str]) -> list[Measurement]:
    """Measures those metrics that checks do not store, under the present limits.

    A check that was carried forward has the figures of its origin.
    """
    requested = [CATALOGUE[key] for key in metrics if not CATALOGUE[key].is_stored]
    data = [data_set for data_set in DataSet if any(data_set.value in metric.data for metric in requested)]
    source = read_check_source(session, read_counted_check(session, check), data=data, metrics=())
    return [
        measurement
        for metric in requested
        for (table_data, comparison), stored in source.tables.items()
        if table_data in metric.data
        for measurement in source.measure(table_data, comparison, metric.key, stored.whole)
    ]


def read_points(session: Session, deployment_no: int, query: SeriesFilter, paging: Paging) -> list[Point]:
    """Reads a page of stored measurements; of a metric that checks do not store, measures it."""
    if all(CATALOGUE[metric].is_stored for metric in query.metrics):
        return page_points(session, deployment_no, query, paging)
    return list(islice(_measure_series(session, deployment_no, query, paging.after), paging.limit))


def _measure_series(
    session: Session, deployment_no: int, query: SeriesFilter, after_no: int
) -> Iterator[Point]:
    last_no, last_position = divmod(after_no, _NUMBERS_PER_CHECK)
    runs = read_ended_runs(session, deployment_no, query.since, query.until)
    first_run = next((index for index, run in enumerate(runs) if run.no == last_no), 0)
    for run in runs[first_run:]:
        if run.state != CheckState.SUCCEEDED or query.check_no not in (None, run.no):
            continue
        for position, measurement in enumerate(
            measure_requested(session, get_check(session, deployment_no, run.id), query.metrics), start=1
        ):
            if query.accepts(measurement) and (run.no != last_no or position > last_position):
                yield Point(run.no * _NUMBERS_PER_CHECK + position, run.id, measurement)


def rename_evidence(names: GroupWords, evidence: DeploymentEvidence | None) -> DeploymentEvidence | None:
    return evidence and replace(
        evidence, comparisons=[rename_state(names, state) for state in evidence.comparisons]
    )


def rename_gap(names: GroupWords, gap: AttributedGap) -> AttributedGap:
    """Renames both sides as a sentence says them: `people aged 18–25`."""

    def rename_side(side: SideCounts) -> SideCounts:
        if side.label is None or not names.is_named(gap.attribute, side.label):
            return side
        return replace(side, label=names.role(gap.attribute, side.label))

    return replace(gap, monitored=rename_side(gap.monitored), reference=rename_side(gap.reference))


def rename_series(names: GroupWords, series: Series) -> Series:
    if series.attribute is None:
        return series
    attribute = series.attribute
    groups = (
        group if group.group is None else replace(group, group=names.label(attribute, group.group))
        for group in series.groups
    )
    return replace(series, groups=tuple(groups))


def rename_shares(names: GroupWords, view: AttributeView) -> AttributeView:
    groups = (
        group if group.group is None else replace(group, group=names.label(view.attribute, group.group))
        for group in view.groups
    )
    accuracy = (
        change
        if change.before.group is None
        else replace(
            change, before=replace(change.before, group=names.label(view.attribute, change.before.group))
        )
        for change in view.accuracy
    )
    return replace(view, groups=tuple(groups), accuracy=tuple(accuracy))


def rename_view(names: GroupWords, view: CheckView) -> CheckView:
    return replace(
        view,
        attributes=tuple(rename_shares(names, attribute) for attribute in view.attributes),
        counterfactual=tuple(rename_shares(names, attribute) for attribute in view.counterfactual),
    )
