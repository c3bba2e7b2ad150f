"""Data that a report is made from, read in one transaction."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from sqlalchemy.orm import Session

from ..domain.alerts import Alert
from ..domain.attributions import AttributionRun, AttributionState
from ..domain.checks import CheckRun, CheckState, DataSet, Measurement, Scope, Span
from ..domain.comparisons import comparisons_of
from ..domain.deployments import Deployment
from ..domain.monitors import Monitor
from ..frozen import frozen
from ..store.alerts.alerts import alerts_between
from ..store.attributions.attributions import newest_of_gaps
from ..store.checks.checks import get
from ..store.checks.ended_checks import checks_waiting_for_alerts
from ..store.checks.recent import RecentFigure, recent_figures
from ..store.checks.results import measurements_of
from ..store.checks.series import EndedRun, ended_runs
from ..store.deployments.monitors import monitor_of
from ..tracking.looking import DeploymentEvidence, look_at_evidence
from ..views.check_views import ViewKind
from ..views.forest import Forest, ForestSource, build_forest, choose_metric
from ..views.forest_source import checks_up_to, evidence_before
from ..views.headlines import DATA_NAMES, IMPACT
from ..views.missing_records import notes_of_check
from ..views.series import Series, SeriesPoint, SeriesWanted, series_of
from ..views.viewing import CARRIED, check_view
from .days import Day, step_of, summarise_days
from .history import ends_in

BEFORE = timedelta(days=7)
"""Time before the end of a check that its report shows."""


@frozen(kw_only=True)
class History:
    """Headlines of one attribute on one data set over the time.

    `fresh` are its points, oldest first, without carried figures; `days` sums these up.
    """

    attribute: str
    data: DataSet
    series: Series
    fresh: Sequence[SeriesPoint]
    days: Sequence[Day]


@frozen(kw_only=True)
class ReportSource:
    """`span` is the shown time; `check` has the groups' figures, None where no check has any.

    `recent` are figures of the checks before, `alerts` the present ones of the span; `waiting` checks have none yet. `absent` says why the
    check has no figures, `carried` names the check whose figures it has. `missing` are notes on records in no figure. `attribution`
    is the newest of a window that begins before the end of `span`.
    """

    deployment: Deployment
    monitor: Monitor | None
    span: Span
    is_of_check: bool
    check: CheckRun | None
    measurements: Sequence[Measurement]
    recent: Sequence[RecentFigure]
    forest: Forest
    runs: Sequence[EndedRun]
    histories: Sequence[History]
    evidence: DeploymentEvidence | None
    alerts: Sequence[Alert]
    waiting: int
    absent: str | None
    carried: str | None
    missing: tuple[str, ...]
    attribution: AttributionRun | None


def read_check(session: Session, deployment: Deployment, check: CheckRun) -> ReportSource:
    span = Span(start=min(check.span.start, check.span.end - BEFORE), end=check.span.end)
    runs = ended_runs(session, deployment.no, ends_in(span).start, ends_in(span).end)
    source = _read(session, deployment, span, runs, check)
    alerts_span = Span(start=span.start, end=max(ends_in(span).end, check.finished_at or span.end))
    return replace(source, is_of_check=True, alerts=alerts_between(session, deployment.no, alerts_span, checks=ends_in(span)))


def read_period(session: Session, deployment: Deployment, span: Span) -> ReportSource:
    """Reads the data on a time; the groups are of its newest succeeded check."""
    runs = ended_runs(session, deployment.no, ends_in(span).start, ends_in(span).end)
    newest = next((run for run in reversed(runs) if run.state == CheckState.SUCCEEDED), None)
    return _read(session, deployment, span, runs, None if newest is None else get(session, deployment.no, newest.id))


def _read(session: Session, deployment: Deployment, span: Span, runs: Sequence[EndedRun], check: CheckRun | None) -> ReportSource:
    monitor, ends, no = monitor_of(session, deployment.no), ends_in(span), deployment.no
    evidence = look_at_evidence(session, no)
    past = evidence_before(evidence, span.end)
    measurements = () if check is None else tuple(measurements_of(session, check.no))
    view = None if check is None else check_view(session, deployment, check, ViewKind.PAYLOAD)
    checks = [] if check is None or check.state != CheckState.SUCCEEDED else checks_up_to(session, check)
    metric = choose_metric(measurements)
    recent = recent_figures(session, no, metric, checks)
    shown = ForestSource(monitor=monitor, evidence=past, checks=checks, measured=measurements, recent=recent)
    # Judged from the end of the time: the same data give the same report.
    forest = build_forest(shown, metric=metric, now=span.end)
    histories = []
    for attribute in [] if monitor is None else [comparison.label for comparison in comparisons_of(monitor)]:
        for data in DATA_NAMES:
            wanted = SeriesWanted(metric=IMPACT, data=data, attribute=attribute, since=ends.start, until=ends.end, scopes=(Scope.WORST,))
            series = series_of(session, no, wanted, runs=runs)
            fresh = [point for group in series.groups for point in group.points if not point.carried_forward]
            days = summarise_days(fresh, step_of(span))
            histories.append(History(attribute=attribute, data=data, series=series, fresh=fresh, days=days))
    return ReportSource(
        deployment=deployment,
        monitor=monitor,
        span=span,
        is_of_check=False,
        check=check,
        measurements=measurements,
        recent=recent,
        forest=forest,
        runs=runs,
        histories=histories,
        evidence=evidence,
        alerts=alerts_between(session, no, span, checks=ends),
        waiting=checks_waiting_for_alerts(session, no, ends),
        absent=None if view is None else view.reason,
        carried=None if check is None or check.carried_from is None else CARRIED.format(check_id=check.carried_from),
        missing=() if check is None else notes_of_check(session, check, forest.attribute),
        attribution=newest_of_gaps(session, no, state=AttributionState.DONE, before=span.end),
    )
