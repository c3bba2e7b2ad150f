"""The report on a period: its series summed up, how its checks ended, and the views of its newest succeeded check."""

from collections import Counter
from collections.abc import Sequence

from sqlalchemy.orm import Session

from app.domain.checks import CheckRun, CheckState, DataSet, Scope, Span
from app.domain.deployments import Deployment
from app.domain.monitors import Monitor
from app.domain.texts import TOGETHER
from app.metrics.catalogue import CATALOGUE
from app.metrics.worst import beyond_limits
from app.reports.check_report import sections_of_views, views_of
from app.reports.closing import alerts_section, limits_section, tracing_section
from app.reports.configuration import deployment_section, monitor_section
from app.reports.document import Block, Document, Made, Paragraph, Section, Table
from app.reports.headlines import Views, headline_section
from app.reports.history import OF_NOW, history_sections, rollup_for
from app.reports.numbers import moment, number
from app.store.alerts import alerts_between
from app.store.checks import get
from app.store.monitors import monitor_of
from app.store.results import measurements_of
from app.store.series import EndedRun, ended_runs
from app.views.series import SeriesPoint, SeriesWanted, series_of

MOST_FAILURES = 50

_SHARED = " Where an hour had few records, its check added those of earlier hours, so that neighbouring checks share records."


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
            anew = [point for point in points if not point.carried_forward]
            if anew:
                rows.append((attribute, name, *_counted(anew)))
    if not rows:
        return Section("In short", (Paragraph("No check of this time measured a disparate impact.", is_caution=True),))
    columns = ("Attribute", "Records", "Worst", "When", "Unfair", "Suspected", "Fair", "Too few records", "Not computable", "No limit")
    note = (
        f"Counted in {each}: the verdict on the monitored group treated worst. Worst: its disparate impact that lies furthest beyond the"
        " limits, or nearest to them. Checks that carried the figures of an earlier one forward are not counted."
    )
    note += _SHARED if rollup is None else f" {OF_NOW}."
    blocks: list[Block] = [Paragraph(_in_words(rows, each)), Table(f"Verdicts of the period, in {each}", columns, tuple(rows), note)]
    return Section("In short", tuple(blocks))


def _counted(points: Sequence[SeriesPoint]) -> tuple[str, ...]:
    verdicts = Counter(point.verdict for point in points)
    known = [(_beyond(point.value, point), point) for point in points if point.value is not None]
    worst = max(known, key=lambda one: one[0], default=(0.0, None))[1]
    shown = ("none", "–") if worst is None else (number(worst.value), moment(worst.at))
    return (*shown, *(f"{verdicts[name]:,}" for name in _COUNTED))


_COUNTED = ("unfair", "suspected", "fair", "insufficient_data", "not_computable", None)
_UNFAIR, _SUSPECTED, _FAIR = 4, 5, 6
"""Where a row of the table has the counts of these verdicts."""


def _beyond(value: float, point: SeriesPoint) -> float:
    return beyond_limits(value, CATALOGUE["disparate_impact"], (point.lower_limit, point.upper_limit))


def _in_words(rows: Sequence[tuple[str, ...]], each: str) -> str:
    def found(place: int) -> list[str]:
        return [f"{row[0]} ({row[1]}) in {row[place]} {each}" for row in rows if row[place] != "0"]

    told = [f"{word}: {'; '.join(found(place))}." for word, place in (("Unfair", _UNFAIR), ("Suspected", _SUSPECTED)) if found(place)]
    unjudged = [f"{row[0]} ({row[1]})" for row in rows if all(row[place] == "0" for place in (_UNFAIR, _SUSPECTED, _FAIR))]
    if unjudged:
        told.append(f"Never judged: {'; '.join(unjudged)}.")
    if not told:
        return f"No attribute was unfair or suspected in any of the {each}."
    return " ".join(told)


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
