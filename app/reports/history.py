"""Series in a report, with the alerts on them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from sqlalchemy.orm import Session

from ..charts.periods import heading, series_chart, volume_chart
from ..checks.rollups import Period
from ..domain.alerts import Alert
from ..domain.checks import DataSet, Scope, Span
from ..domain.comparisons import comparisons_of
from ..domain.group_words import GroupWords
from ..domain.monitors import Monitor
from ..metrics.sides import Disadvantaged
from ..metrics.verdicts import GRAVEST
from ..views.headlines import DATA_NAMES, VERDICT_WORDS
from ..views.renaming import rename_series
from ..views.series import Series, SeriesWanted, count_period, disadvantaged_at, series_of, volume_of
from .days import summarise_days
from .document import Block, Paragraph, ReportChart, ReportTable, Section
from .numbers import interval, moment, number

MOST_ROWS = 120
"""Max rows of the table next to a chart."""

_LEAST = timedelta(microseconds=1)
_DAY = timedelta(days=1)
_DAYS_OF_HOURS = timedelta(days=8)
_DAYS_OF_DAYS = timedelta(days=100)
_DAYS_OF_WEEKS = timedelta(days=731)
_SHOWN = (Scope.GROUP, Scope.REFERENCE, Scope.ATTRIBUTE, Scope.OVERALL)
_DISADVANTAGED: Mapping[Disadvantaged | None, str] = {
    Disadvantaged.MONITORED: ", the monitored group at a disadvantage",
    Disadvantaged.REFERENCE: ", the reference at a disadvantage",
}
_DATA = {**DATA_NAMES, DataSet.FEEDBACK: "on labelled records"}


OF_NOW = (
    "They are judged by the monitor's present limits, whatever held at the time; hours that were checked with other groups or outcomes are"
    " left out, and so are checks of other times than a whole hour"
)


def rollup_for(span: Span) -> Period | None:
    length = span.end - span.start
    if length <= _DAYS_OF_HOURS:
        return None
    if length <= _DAYS_OF_DAYS:
        return Period.DAY
    return Period.WEEK if length <= _DAYS_OF_WEEKS else Period.MONTH


def ends_in(span: Span) -> Span:
    """Moments, half-open, at which checks of the span end: after its start, up to its very end."""
    return Span(start=span.start + _LEAST, end=span.end + _LEAST)


def history_sections(
    session: Session, deployment_no: int, monitor: Monitor | None, span: Span, alerts: Sequence[Alert]
) -> Iterator[Section]:
    rollup, words = rollup_for(span), GroupWords.of(monitor)
    each = (
        "one point a check, at the end of its span"
        if rollup is None
        else f"checked hours summed up by {rollup.value}, at its start. {OF_NOW}"
    )
    yield Section("Over time", (Paragraph(f"From {moment(span.start)} to {moment(span.end)}, {each}."),))
    opened = [alert for alert in alerts if span.start <= alert.opened_at <= span.end]
    for attribute in [] if monitor is None else [comparison.label for comparison in comparisons_of(monitor)]:
        blocks: list[Block] = []
        for data in DATA_NAMES:
            impact = rename_series(words, _read_series(session, deployment_no, "disparate_impact", data, attribute, span))
            blocks += _series_blocks(impact, span, opened)
        yield Section(f"{attribute}: disparate impact", tuple(blocks), level=3)

    accuracy = _read_series(session, deployment_no, "accuracy", DataSet.FEEDBACK, None, span)
    yield Section("Accuracy", tuple(_series_blocks(accuracy, span, ())), level=3)

    ends = ends_in(span)
    volumes = volume_of(session, deployment_no, ends.start, ends.end, rollup)
    if volumes:
        counted = [] if monitor is None else count_period(session, deployment_no, monitor, span).lines
        records: tuple[Block, ...] = (
            *(Paragraph(line) for line in counted),
            ReportChart("Records logged", lambda look: volume_chart(volumes, look, span=_axis(span), rollup=rollup)),
        )
    else:
        records = (Paragraph("No check of this time was of a single hour, so the records logged in it were not counted."),)
    yield Section("Records", records, level=3)


def _read_series(session: Session, deployment_no: int, metric: str, data: DataSet, attribute: str | None, span: Span) -> Series:
    """Reads the checks themselves where there is no whole hour to sum up."""
    wanted = SeriesWanted(metric=metric, data=data, attribute=attribute, since=span.start, until=span.end, scopes=_SHOWN)
    rollup, ends = rollup_for(span), ends_in(span)
    if rollup is not None:
        summed_up = series_of(session, deployment_no, replace(wanted, rollup=rollup))
        if any(group.points for group in summed_up.groups):
            return summed_up
    return series_of(session, deployment_no, replace(wanted, since=ends.start, until=ends.end))


def _series_blocks(series: Series, span: Span, alerts: Sequence[Alert]) -> Iterator[Block]:
    name = f"{heading(series)}, {_DATA[series.data]}"
    if not any(group.points for group in series.groups):
        yield Paragraph(f"{name}: no check of this time measured it.")
        return
    if series.rollup is None and rollup_for(span) is not None:
        yield Paragraph(f"{name}: no whole hour was checked in this time that could be summed up, so each point is a check.")
    yield ReportChart(name, lambda look: series_chart(series, look, alerts=alerts, span=_axis(span)))
    rows = list(_rows_by_day(series)) if series.rollup is None else list(_rows_by_period(series))
    rows = sorted(rows, key=lambda row: row[:2])
    note = f"The newest {MOST_ROWS} of {len(rows):,} rows; the CSV has all." if len(rows) > MOST_ROWS else None
    columns = ("Time", "Group", "Value", "95 %", "Records", "Verdict")
    if series.rollup is None:
        columns = ("Day", "Group", "Checks", "Lowest", "Highest", "Verdicts, in checks")
    yield ReportTable(f"Figures of the chart: {name}", columns, tuple(rows[-MOST_ROWS:]), note)


def _rows_by_period(series: Series) -> Iterator[tuple[str, ...]]:
    for group in series.groups:
        for point in group.points:
            figures = (number(point.value), interval(point.lower, point.upper, value=point.value))
            if point.value is None:
                figures = (f"none: {point.reason}", "–")
            side = _DISADVANTAGED.get(disadvantaged_at(series, point), "")
            verdict = f"{VERDICT_WORDS[point.verdict]}{side}"
            yield moment(point.at), group.group or group.scope.value, *figures, f"{point.n:,}", verdict


def _rows_by_day(series: Series) -> Iterator[tuple[str, ...]]:
    """A figure that is carried forward is no second one."""
    for group in series.groups:
        fresh = [point for point in group.points if not point.carried_forward]
        for day in summarise_days(fresh, _DAY):
            said = ", ".join(f"{VERDICT_WORDS[verdict]} {day.verdicts[verdict]:,}" for verdict in GRAVEST if verdict in day.verdicts)
            ends = (number(day.lowest), number(day.highest))
            yield f"{day.start:%Y-%m-%d}", group.group or group.scope.value, f"{day.checks:,}", *ends, said


def _axis(span: Span) -> Span | None:
    """Of roll-ups all there is: the first period may begin before the range."""
    return span if rollup_for(span) is None else None
