"""Data that a report on a check or a period is made from, read in one transaction."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from ..alerts.lifecycle import count_checks_waiting_for_alerts
from ..alerts.queries import read_alerts_between
from ..base.clock import floor_to_day
from ..base.values import frozen, frozen_by_name
from ..charts.forest import Forest, build_past_forest
from ..charts.series import SeriesPoint, SeriesQuery, build_series
from ..checks.days.corrected_hours import HourRecount
from ..checks.days.measurement_queries import EndedRun, read_ended_runs
from ..checks.days.period import PeriodSums, cut_to_hours, read_period
from ..checks.queries import get_check
from ..checks.result_queries import read_measurements
from ..checks.views.build_views import build_check_view
from ..checks.views.headlines import DATA_NAMES, IMPACT
from ..checks.views.view_shapes import ViewKind
from ..checks.views.view_source import list_notes_of_check, read_counted_check
from ..database.engine import ArrowReader
from ..domain.alert import Alert
from ..domain.check import CheckRun, CheckState, DataSet, Measurement, Scope, Span
from ..domain.deployment import Deployment
from ..domain.monitor import Monitor, list_comparisons
from ..evidence.attribution.attribution import AttributionRun
from ..evidence.attribution.queries import find_newest_attributions
from ..evidence.past_states import PastState, read_past_states
from ..evidence.present_state import DeploymentEvidence, read_deployment_evidence
from ..evidence.queries.hour_counts import count_logged

TIME_BEFORE_CHECK = timedelta(days=7)
"""Time before the end of a check that its report shows."""

UTC_ZONE = ZoneInfo("UTC")

NO_IMPACT_MEASURED = (
    "No check of this time measured the disparate impact of an attribute that the monitor watches now."
)


@frozen
class History:
    """Figures furthest out of one attribute, on one data set: `points`, oldest first, without figures carried
    forward.
    """

    attribute: str
    data: DataSet
    points: Sequence[SeriesPoint]


@frozen_by_name
class ReportSource:
    """Data of a report on `span`; `check` has the groups' figures, None where no check has any.

    Of a period, `hours` are those that have ended, `period` their counts, `states` the evidence on each group
    at their end.

    `alerts` are the present ones of the span; `waiting` checks have none yet. `absent` says why the check
    has no figures. `missing` are notes on records in no figure. `attribution` is the newest of a window
    that begins before the end of `span`.
    """

    deployment: Deployment
    monitor: Monitor | None
    span: Span
    zone: ZoneInfo
    is_of_check: bool
    check: CheckRun | None
    measurements: Sequence[Measurement]
    forest: Forest
    runs: Sequence[EndedRun]
    histories: Sequence[History]
    evidence: DeploymentEvidence | None
    alerts: Sequence[Alert]
    waiting: int
    absent: str | None
    missing: Sequence[str]
    attribution: AttributionRun | None
    hours: Span
    period: PeriodSums | None
    states: Mapping[tuple[str, str], PastState]


def read_source(
    session: Session,
    reader: ArrowReader,
    deployment: Deployment,
    subject: CheckRun | Span,
    *,
    now: datetime,
    zone: ZoneInfo = UTC_ZONE,
    labels_until: datetime | None = None,
) -> ReportSource:
    """Reads the data on a check or a period, whose days are those of the zone.

    Without `labels_until`, labels and corrections of a period count until the newest midnight (UTC).

    Raises:
        InvalidInput: the period has too many hours.
    """
    no = deployment.no
    evidence = read_deployment_evidence(session, no)
    monitor = None if evidence is None else evidence.monitor
    span = (
        Span(start=min(subject.span.start, subject.span.end - TIME_BEFORE_CHECK), end=subject.span.end)
        if isinstance(subject, CheckRun)
        else subject
    )
    # A check ends with its span: after the start, up to the very end.
    ends = Span(start=span.start + timedelta.resolution, end=span.end + timedelta.resolution)
    runs = read_ended_runs(session, no, ends.start, ends.end)
    alerts_span = hours = span
    period = None
    if isinstance(subject, CheckRun):
        check: CheckRun | None = subject
        alerts_span = Span(start=span.start, end=max(ends.end, subject.finished_at or span.end))
    else:
        newest = next((run for run in reversed(runs) if run.state == CheckState.SUCCEEDED), None)
        check = None if newest is None else get_check(session, no, newest.id)
        hours = cut_to_hours(span, now)
        if monitor is not None:
            # Records in your own tables are not counted apart from checks.
            logged = None if deployment.payload else count_logged(session, no, hours)
            period = read_period(
                session,
                HourRecount(reader=reader, deployment=deployment, monitor=monitor),
                hours,
                zone=zone,
                labels_until=labels_until or floor_to_day(now),
                logged=logged,
            )
    measurements = () if check is None else tuple(read_measurements(session, check.no))
    view = None if check is None else build_check_view(session, deployment, check, ViewKind.AS_LOGGED)
    # Judged from the end of the time: the same data give the same report.
    forest = build_past_forest(session, evidence, check, measurements, end=span.end)
    return ReportSource(
        deployment=deployment,
        monitor=monitor,
        span=span,
        zone=zone,
        is_of_check=isinstance(subject, CheckRun),
        check=check,
        measurements=measurements,
        forest=forest,
        runs=runs,
        histories=[] if monitor is None else _read_histories(session, no, monitor, runs, ends),
        evidence=evidence,
        alerts=read_alerts_between(session, no, alerts_span, checks=ends),
        waiting=count_checks_waiting_for_alerts(session, no, ends),
        absent=None if view is None else view.reason,
        missing=()
        if check is None
        else list_notes_of_check(session, read_counted_check(session, check), forest.attribute),
        attribution=find_newest_attributions(session, no, before=span.end).done,
        hours=hours,
        period=period if period is not None and period.parts else None,
        states=read_past_states(session, no, hours) if period is not None else {},
    )


def _read_histories(
    session: Session, deployment_no: int, monitor: Monitor, runs: Sequence[EndedRun], ends: Span
) -> list[History]:
    histories = []
    for comparison in list_comparisons(monitor):
        for data in DATA_NAMES:
            query = SeriesQuery(
                metric=IMPACT,
                data=data,
                attribute=comparison.label,
                since=ends.start,
                until=ends.end,
                scopes=(Scope.WORST,),
            )
            series = build_series(session, deployment_no, query, runs=runs)
            points = [point for group in series.groups for point in group.points if not point.carried_forward]
            histories.append(History(comparison.label, data, points))
    return histories


def choose_step(span: Span) -> timedelta:
    length = span.end - span.start
    if length <= timedelta(days=8):
        return timedelta(hours=1)
    return timedelta(days=1) if length <= timedelta(days=731) else timedelta(days=7)
