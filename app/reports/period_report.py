"""The report on a period: its series summed up, how its checks ended, and the views of its newest succeeded check."""

from collections import Counter
from collections.abc import Sequence

from sqlalchemy.orm import Session

from app.domain.checks import CheckRun, CheckState, DataSet, Scope, Span
from app.domain.deployments import Deployment
from app.domain.monitors import Monitor
from app.domain.texts import TOGETHER
from app.reports.check_report import sections_of_views, views_of
from app.reports.closing import alerts_section, limits_section, tracing_section
from app.reports.configuration import deployment_section, monitor_section
from app.reports.document import Block, Document, Made, Paragraph, Section, Table
from app.reports.headlines import Views, headline_section
from app.reports.history import history_sections, rollup_for
from app.reports.numbers import moment, number
from app.store.alerts import alerts_between
from app.store.checks import get
from app.store.monitors import monitor_of
from app.store.results import measurements_of
from app.store.series import EndedRun, ended_runs
from app.views.series import SeriesPoint, SeriesWanted, series_of

MOST_FAILURES = 50


def period_report(session: Session, deployment: Deployment, span: Span, made: Made) -> Document:
    """The report. Thousands of checks give roll-ups by day, week or month, and not a table each."""
    monitor = monitor_of(session, deployment.no)
    runs = ended_runs(session, deployment.no, span.start, span.end)
    alerts = alerts_between(session, deployment.no, span)
    newest = next((run for run in reversed(runs) if run.state == CheckState.SUCCEEDED), None)
    check = None if newest is None else get(session, deployment.no, newest.id)
    views = {} if check is None else views_of(session, deployment, check)
    return Document(
        title=f"Fairness report: {deployment.name}",
        subtitle=f"{moment(span.start)} to {moment(span.end)}, the end not included",
        made=made,
        sections=(
            _verdicts_section(session, deployment.no, monitor, span),
            _newest(check, views),
            deployment_section(deployment, None if check is None else check.model_revision),
            monitor_section(monitor, check),
            *history_sections(session, deployment.no, monitor, span, alerts),
            _checks_section(runs),
            alerts_section(alerts),
            *(() if check is None else sections_of_views(check, views)),
            limits_section(),
            tracing_section(check, () if check is None else measurements_of(session, check.no)),
        ),
    )


def _newest(check: CheckRun | None, views: Views) -> Section:
    if check is None:
        return Section("The newest check", (Paragraph("No check of this time succeeded.", is_caution=True),))
    found = headline_section(views, of=f"of the newest check, which ended its span on {moment(check.span.end)}")
    return Section("The newest check", found.blocks)


def _verdicts_section(session: Session, deployment_no: int, monitor: Monitor | None, span: Span) -> Section:
    """How often each attribute's worst group was inside its limits."""
    rollup = rollup_for(span)
    each = "checks" if rollup is None else f"{rollup.value}s"
    attributes = (
        [] if monitor is None else [one.feature for one in monitor.attributes] + [TOGETHER.join(one) for one in monitor.intersections]
    )
    rows: list[tuple[str, ...]] = []
    for attribute in attributes:
        for data, name in ((DataSet.PAYLOAD, "as logged"), (DataSet.BALANCED, "with copies")):
            wanted = SeriesWanted(
                metric="disparate_impact",
                data=data,
                attribute=attribute,
                since=span.start,
                until=span.end,
                rollup=rollup,
                scopes=(Scope.WORST,),
            )
            points = [point for group in series_of(session, deployment_no, wanted).groups for point in group.points]
            if points:
                rows.append((attribute, name, *_counted(points)))
    if not rows:
        return Section("In short", (Paragraph("No check of this time measured a disparate impact.", is_caution=True),))
    columns = ("Attribute", "Records", "Lowest", "When", "Unfair", "Suspected", "Fair", "Too few records", "Not computable")
    note = f"Counted in {each}: the verdict on the monitored group treated worst. Lowest: its lowest disparate impact."
    blocks: list[Block] = [Paragraph(_in_words(rows, each)), Table(f"Verdicts of the period, in {each}", columns, tuple(rows), note)]
    return Section("In short", tuple(blocks))


def _counted(points: Sequence[SeriesPoint]) -> tuple[str, ...]:
    verdicts = Counter(point.verdict for point in points)
    known = [point for point in points if point.value is not None]
    lowest = min(known, key=lambda point: point.value or 0.0, default=None)
    shown = ("none", "–") if lowest is None else (number(lowest.value), moment(lowest.at))
    return (*shown, *(f"{verdicts[name]:,}" for name in ("unfair", "suspected", "fair", "insufficient_data", "not_computable")))


def _in_words(rows: Sequence[tuple[str, ...]], each: str) -> str:
    unfair = [f"{row[0]} ({row[1]}) in {row[4]} {each}" for row in rows if row[4] != "0"]
    return f"Unfair: {'; '.join(unfair)}." if unfair else f"No attribute was unfair in any of the {each}."


def _checks_section(runs: Sequence[EndedRun]) -> Section:
    states = Counter(run.state for run in runs)
    told = ", ".join(f"{count:,} {state.replace('_', ' ')}" for state, count in sorted(states.items()))
    blocks: list[Block] = [Paragraph(f"Checks that ended: {told or 'none'}.")]
    failed = [run for run in runs if run.state != CheckState.SUCCEEDED]
    if failed:
        note = f"The newest {MOST_FAILURES} of {len(failed):,}." if len(failed) > MOST_FAILURES else None
        rows = tuple((moment(run.span_end), run.state.replace("_", " "), run.reason or "–", run.id) for run in failed[-MOST_FAILURES:])
        blocks.append(Table("Checks without measurements", ("End of the span", "State", "Reason", "Check"), rows, note))
    return Section("The checks", tuple(blocks))
