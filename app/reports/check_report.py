"""Report on one check. Reads what is stored; computes no figure of its own."""

from collections.abc import Iterator
from datetime import timedelta

from sqlalchemy.orm import Session

from ..domain.checks import CheckRun, Span
from ..domain.deployments import Deployment
from ..store.alerts.alerts import alerts_between
from ..store.checks.ended_checks import checks_waiting_for_alerts
from ..store.checks.results import measurements_of
from ..store.deployments.monitors import monitor_of
from ..views.viewing import check_view
from .closing import alerts_section, limits_section, tracing_section
from .configuration import deployment_section, monitor_section, window_section
from .document import Document, Made, Section
from .evidence import evidence_section
from .headlines import Views, headline_section
from .history import ends_in, history_sections
from .numbers import moment
from .view_sections import ORDER, view_sections

BEFORE = timedelta(days=7)
"""Days that the charts over time reach back from the end of the check."""


def check_report(session: Session, deployment: Deployment, check: CheckRun, made: Made) -> Document:
    """Returns the report. The same check gives the same one, except for `made` and for later changes to evidence, alerts, training data."""
    span = Span(start=min(check.span.start, check.span.end - BEFORE), end=check.span.end)
    monitor, ends = monitor_of(session, deployment.no), ends_in(span)
    alerts_span = Span(start=span.start, end=max(ends.end, check.finished_at or ends.end))
    alerts = alerts_between(session, deployment.no, alerts_span, checks=ends)
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
            evidence_section(session, deployment.no),
            alerts_section(alerts, waiting=checks_waiting_for_alerts(session, deployment.no, ends)),
            limits_section(),
            tracing_section(check, measurements),
        ),
    )


def views_of(session: Session, deployment: Deployment, check: CheckRun) -> Views:
    """Returns the four views of a check."""
    return {kind: check_view(session, deployment, check, kind) for kind in ORDER}


def sections_of_views(check: CheckRun, views: Views) -> Iterator[Section]:
    """Returns the window of a check and its views."""
    yield window_section(check)
    for kind in ORDER:
        yield from view_sections(views[kind])
