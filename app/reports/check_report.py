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
from app.reports.history import history_sections
from app.reports.numbers import moment
from app.reports.view_sections import ORDER, view_sections
from app.store.alerts import alerts_between
from app.store.monitors import monitor_of
from app.store.results import measurements_of
from app.views.viewing import check_view

BEFORE = timedelta(days=7)
"""How far back the charts over time reach from the end of the check."""


def check_report(session: Session, deployment: Deployment, check: CheckRun, made: Made) -> Document:
    """The report. The same check gives the same one, but for `made` and for what became of alerts and training data meanwhile."""
    span = Span(start=min(check.span.start, check.span.end - BEFORE), end=check.span.end + timedelta(microseconds=1))
    monitor = monitor_of(session, deployment.no)
    alerts = alerts_between(session, deployment.no, Span(start=span.start, end=max(span.end, check.finished_at or span.end)))
    views = views_of(session, deployment, check)
    return Document(
        title=f"Fairness report: {deployment.name}",
        subtitle=f"Check {check.id} of {moment(check.span.start)} to {moment(check.span.end)}",
        made=made,
        sections=(
            headline_section(views, of="of this check"),
            deployment_section(deployment, check.model_revision),
            monitor_section(monitor, check),
            *sections_of_views(check, views),
            *history_sections(session, deployment.no, monitor, span, alerts),
            alerts_section(alerts),
            limits_section(),
            tracing_section(check, measurements_of(session, check.no)),
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
