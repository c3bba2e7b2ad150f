"""The report on one check. Reads what is stored; decides nothing anew."""

from collections.abc import Iterator
from datetime import timedelta

from sqlalchemy.orm import Session

from app.domain.checks import CheckRun, Span
from app.domain.deployments import Deployment
from app.reports.closing import alerts_section, limits_section, tracing_section
from app.reports.configuration import deployment_section, monitor_section, window_section
from app.reports.document import Document, Made, Section
from app.reports.headlines import Views, headline_section
from app.reports.history import ends_in, history_sections
from app.reports.numbers import moment
from app.reports.view_sections import ORDER, view_sections
from app.store.alerts import alerts_between
from app.store.ended_checks import checks_waiting_for_alerts
from app.store.monitors import monitor_of
from app.store.results import measurements_of
from app.views.viewing import check_view

BEFORE = timedelta(days=7)
"""How far back the charts over time reach from the end of the check."""


def check_report(session: Session, deployment: Deployment, check: CheckRun, made: Made) -> Document:
    """The report. The same check gives the same one, but for `made` and for what became of alerts and training data meanwhile."""
    span = Span(start=min(check.span.start, check.span.end - BEFORE), end=check.span.end)
    monitor, ends = monitor_of(session, deployment.no), ends_in(span)
    told_by = Span(start=span.start, end=max(ends.end, check.finished_at or ends.end))
    alerts = alerts_between(session, deployment.no, told_by, checks=ends)
    views, measurements = views_of(session, deployment, check), measurements_of(session, check.no)
    return Document(
        title=f"Fairness report: {deployment.name}",
        subtitle=f"Check {check.id} of {moment(check.span.start)} to {moment(check.span.end)}",
        made=made,
        sections=(
            headline_section(views, measurements, of="of this check", window=check.window),
            deployment_section(deployment, check.model_revision),
            monitor_section(monitor, check),
            *sections_of_views(check, views),
            *history_sections(session, deployment.no, monitor, span, alerts),
            alerts_section(alerts, waiting=checks_waiting_for_alerts(session, deployment.no, ends)),
            limits_section(),
            tracing_section(check, measurements),
        ),
    )


def views_of(session: Session, deployment: Deployment, check: CheckRun) -> Views:
    """The four views of a check."""
    return {kind: check_view(session, deployment, check, kind) for kind in ORDER}


def sections_of_views(check: CheckRun, views: Views) -> Iterator[Section]:
    """The window of a check and its views."""
    yield window_section(check)
    for kind in ORDER:
        yield from view_sections(views[kind])
