"""Series in a report: disparate impact by attribute, accuracy, volume, with the alerts on them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from sqlalchemy.orm import Session

from app.charts.series import AlertMark, heading, series_chart
from app.charts.volume import volume_chart
from app.checks.rollups import Period
from app.domain.alerts import Alert
from app.domain.checks import DataSet, Scope, Span
from app.domain.monitors import Monitor
from app.domain.texts import TOGETHER
from app.metrics.sides import Disadvantaged
from app.reports.document import Block, Figure, Paragraph, Section, Table
from app.reports.numbers import count, interval, moment, number
from app.views.headlines import VERDICT_WORDS
from app.views.series import Series, SeriesPoint, SeriesWanted, Volume, disadvantaged_at, series_of, volume_of

MOST_ROWS = 120
"""Rows of the table beside a chart. The CSV has all."""

_LEAST = timedelta(microseconds=1)
_DAYS_OF_HOURS = timedelta(days=8)
_DAYS_OF_DAYS = timedelta(days=100)
_DAYS_OF_WEEKS = timedelta(days=731)
_SHOWN = (Scope.GROUP, Scope.REFERENCE, Scope.ATTRIBUTE, Scope.OVERALL)
_DISADVANTAGED: Mapping[Disadvantaged | None, str] = {
    Disadvantaged.MONITORED: ", the monitored group at a disadvantage",
    Disadvantaged.REFERENCE: ", the reference at a disadvantage",
}
_DATA = {DataSet.PAYLOAD: "as logged", DataSet.BALANCED: "with copies", DataSet.FEEDBACK: "on labelled records"}


OF_NOW = (
    "They are judged by the monitor's present limits, whatever held at the time; hours that were checked with other groups or outcomes are"
    " left out, and so are checks of other times than a whole hour"
)


def rollup_for(span: Span) -> Period | None:
    """Over what the checks of a range are summed up, so that a chart and a table stay readable."""
    length = span.end - span.start
    if length <= _DAYS_OF_HOURS:
        return None
    if length <= _DAYS_OF_DAYS:
        return Period.DAY
    return Period.WEEK if length <= _DAYS_OF_WEEKS else Period.MONTH


def ends_in(span: Span) -> Span:
    """Returns the moments, half-open, at which checks of records of the span end: after its start, and up to its very end."""
    return Span(start=span.start + _LEAST, end=span.end + _LEAST)


def history_sections(
    session: Session, deployment_no: int, monitor: Monitor | None, span: Span, alerts: Sequence[Alert]
) -> Iterator[Section]:
    """A section on the time, and one beneath it for each attribute; then accuracy and the number of records."""
    rollup = rollup_for(span)
    each = (
        "one point a check, at the end of its span"
        if rollup is None
        else f"checked hours summed up by {rollup.value}, at its start. {OF_NOW}"
    )
    yield Section("Over time", (Paragraph(f"From {moment(span.start)} to {moment(span.end)}, {each}."),))
    attributes = (
        [] if monitor is None else [one.feature for one in monitor.attributes] + [TOGETHER.join(one) for one in monitor.intersections]
    )
    for attribute in attributes:
        yield Section(f"{attribute}: disparate impact", tuple(_attribute(session, deployment_no, attribute, span, alerts)), level=3)
    accuracy = _series(session, deployment_no, "accuracy", DataSet.FEEDBACK, None, span)
    yield Section("Accuracy", tuple(_drawn(accuracy, span, ())), level=3)
    ends = ends_in(span)
    yield Section("Records", tuple(_volume(volume_of(session, deployment_no, ends.start, ends.end, rollup), span)), level=3)


def _attribute(session: Session, deployment_no: int, attribute: str, span: Span, alerts: Sequence[Alert]) -> Iterator[Block]:
    for data in (DataSet.PAYLOAD, DataSet.BALANCED):
        marks = [
            AlertMark(alert.opened_at, str(alert.facts.get("sentence", alert.rule_name)))
            for alert in alerts
            if alert.subject.attribute == attribute and alert.subject.data == data and span.start <= alert.opened_at <= span.end
        ]
        yield from _drawn(_series(session, deployment_no, "disparate_impact", data, attribute, span), span, marks)


def _series(session: Session, deployment_no: int, metric: str, data: DataSet, attribute: str | None, span: Span) -> Series:
    """The series, summed up where the time is long; the checks themselves where there is no whole hour to sum up."""
    wanted = SeriesWanted(metric=metric, data=data, attribute=attribute, since=span.start, until=span.end, scopes=_SHOWN)
    rollup, ends = rollup_for(span), ends_in(span)
    if rollup is not None:
        summed_up = series_of(session, deployment_no, replace(wanted, rollup=rollup))
        if any(group.points for group in summed_up.groups):
            return summed_up
    return series_of(session, deployment_no, replace(wanted, since=ends.start, until=ends.end))


def _drawn(series: Series, span: Span, marks: Sequence[AlertMark]) -> Iterator[Block]:
    name = f"{heading(series)}, {_DATA[series.data]}"
    if not any(group.points for group in series.groups):
        yield Paragraph(f"{name}: no check of this time measured it.")
        return
    if series.rollup is None and rollup_for(span) is not None:
        yield Paragraph(f"{name}: no whole hour was checked in this time that could be summed up, so each point is a check.")
    yield Figure(name, lambda theme: series_chart(series, theme=theme, alerts=marks, span=_axis(span)))
    rows = [
        (
            *(moment(point.at), group.group or group.scope.value),
            *((f"none: {point.reason}", "–") if point.value is None else (number(point.value), interval(point.lower, point.upper))),
            *(
                f"{point.n:,}",
                _judged(series, point),
            ),
        )
        for group in series.groups
        for point in group.points
    ]
    rows = sorted(rows, key=lambda row: row[:2])
    note = f"The newest {MOST_ROWS} of {len(rows):,} rows; the CSV has all." if len(rows) > MOST_ROWS else None
    yield Table(f"Figures of the chart: {name}", ("Time", "Group", "Value", "95 %", "Records", "Verdict"), tuple(rows[-MOST_ROWS:]), note)


def _judged(series: Series, point: SeriesPoint) -> str:
    """The verdict, who is at a disadvantage by it, and whether it was carried forward."""
    side = _DISADVANTAGED.get(disadvantaged_at(series, point), "")
    return f"{VERDICT_WORDS[point.verdict]}{side}{', carried forward' if point.carried_forward else ''}"


def _volume(volumes: Sequence[Volume], span: Span) -> Iterator[Block]:
    if not volumes:
        yield Paragraph("No check of this time was of a single hour, so the records logged in it were not counted.")
        return
    total = sum(one.records for one in volumes)
    yield Paragraph(f"{count(total)} records were logged in the checked hours.")
    yield Figure("Records logged", lambda theme: volume_chart(volumes, theme=theme, span=_axis(span)))


def _axis(span: Span) -> Span | None:
    """What the axis shows: of roll-ups all there is, as the first period may begin before the range."""
    return span if rollup_for(span) is None else None
