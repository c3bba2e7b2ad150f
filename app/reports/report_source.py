"""Data that a report is made from, read in one transaction: its series with their alerts, and counts of
verdicts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from ..alerts.lifecycle import checks_waiting_for_alerts
from ..alerts.queries import alerts_between
from ..base.values import frozen, frozen_by_name
from ..charts.forest import Forest, build_past_forest
from ..charts.pictures.period_charts import heading, series_chart, volume_chart
from ..charts.series import (
    Series,
    SeriesPoint,
    SeriesWanted,
    build_series,
    count_period,
    count_volume,
    disadvantaged_at,
    rename_series,
)
from ..charts.timeline import group_by_step
from ..checks.days.measurement_queries import EndedRun, ended_runs
from ..checks.days.roll_up import Period
from ..checks.queries import get
from ..checks.result_queries import read_measurements
from ..checks.views.build_views import check_view
from ..checks.views.headlines import DATA_NAMES, IMPACT, VERDICT_WORDS
from ..checks.views.view_shapes import ViewKind
from ..checks.views.view_source import counted_check, notes_of_check
from ..domain.alert import Alert
from ..domain.check import CheckRun, CheckState, DataSet, Measurement, Scope, Span
from ..domain.deployment import Deployment
from ..domain.groups import GroupWords
from ..domain.monitor import Monitor, list_comparisons
from ..evidence.attribution.attribution import AttributionRun
from ..evidence.attribution.queries import newest_of_gaps
from ..evidence.present_state import DeploymentEvidence, look_at_evidence
from ..statistics.catalogue import CATALOGUE
from ..statistics.intervals.verdicts import GRAVEST, ON_FAIRNESS
from ..statistics.measures.worst_group import Disadvantaged, rank
from .document import Block, Paragraph, ReportChart, ReportTable, Section, interval, moment, number

BEFORE = timedelta(days=7)
"""Time before the end of a check that its report shows."""

MOST_ROWS = 120
"""Max rows of the table next to a chart."""

_LEAST = timedelta(microseconds=1)
_SIDES: Mapping[Disadvantaged | None, str] = {
    Disadvantaged.MONITORED: "the monitored group at a disadvantage",
    Disadvantaged.REFERENCE: "the reference at a disadvantage",
}
_DATA = {**DATA_NAMES, DataSet.LABELLED: "on labelled records"}


OF_NOW = (
    "They are judged by the monitor's present limits, whatever held at the time; hours that were checked "
    "with other groups or outcomes are left out, and so are checks of other times than a whole hour"
)

NONE_MEASURED = (
    "No check of this time measured the disparate impact of an attribute that the monitor watches now."
)

_NOT_FAIR = ON_FAIRNESS[:-1]


@frozen_by_name
class Day:
    """Checks whose span ends in the step from `start`. Without a value both ends are None."""

    start: datetime
    checks: int
    verdicts: Mapping[str | None, int]
    lowest: float | None
    highest: float | None


@frozen
class History:
    """Headlines of one attribute on one data set over the time.

    `fresh` are its points, oldest first, without carried figures; `days` sums these up.
    """

    attribute: str
    data: DataSet
    series: Series
    fresh: Sequence[SeriesPoint]
    days: Sequence[Day]

    @property
    def name(self) -> str:
        return f"{self.attribute} ({DATA_NAMES[self.data]})"

    @property
    def verdicts(self) -> Counter[str | None]:
        return Counter(point.verdict for point in self.fresh)


@frozen_by_name
class ReportSource:
    """`span` is the shown time; `check` has the groups' figures, None where no check has any.

    `alerts` are the present ones of the span; `waiting` checks have none yet. `absent` says why the check
    has no figures. `missing` are notes on records in no figure. `attribution` is the newest of a window
    that begins before the end of `span`.
    """

    deployment: Deployment
    monitor: Monitor | None
    span: Span
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

    @property
    def measured(self) -> list[History]:
        return [history for history in self.histories if history.fresh]


def read_source(session: Session, deployment: Deployment, of: CheckRun | Span) -> ReportSource:
    """Reads the data on a check or a time, of which the groups are of its newest succeeded check."""
    no = deployment.no
    span = (
        of if isinstance(of, Span) else Span(start=min(of.span.start, of.span.end - BEFORE), end=of.span.end)
    )
    ends = ends_in(span)
    alerted = span
    runs = ended_runs(session, no, ends.start, ends.end)
    if isinstance(of, Span):
        newest = next((run for run in reversed(runs) if run.state == CheckState.SUCCEEDED), None)
        check = newest and get(session, no, newest.id)
    else:
        check = of
        alerted = Span(start=span.start, end=max(ends.end, of.finished_at or span.end))
    evidence = look_at_evidence(session, no)
    monitor = None if evidence is None else evidence.monitor
    measurements = () if check is None else tuple(read_measurements(session, check.no))
    view = None if check is None else check_view(session, deployment, check, ViewKind.AS_LOGGED)
    # Judged from the end of the time: the same data give the same report.
    forest = build_past_forest(session, evidence, check, measurements, end=span.end)
    histories = []
    for attribute in _list_attributes(monitor):
        for data in DATA_NAMES:
            query = SeriesWanted(
                metric=IMPACT,
                data=data,
                attribute=attribute,
                since=ends.start,
                until=ends.end,
                scopes=(Scope.WORST,),
            )
            series = build_series(session, no, query, runs=runs)
            fresh = [point for group in series.groups for point in group.points if not point.carried_forward]
            days = summarise_days(fresh, choose_step(span))
            histories.append(History(attribute, data, series, fresh, days))
    return ReportSource(
        deployment=deployment,
        monitor=monitor,
        span=span,
        is_of_check=isinstance(of, CheckRun),
        check=check,
        measurements=measurements,
        forest=forest,
        runs=runs,
        histories=histories,
        evidence=evidence,
        alerts=alerts_between(session, no, alerted, checks=ends),
        waiting=checks_waiting_for_alerts(session, no, ends),
        absent=None if view is None else view.reason,
        missing=()
        if check is None
        else notes_of_check(session, counted_check(session, check), forest.attribute),
        attribution=newest_of_gaps(session, no, before=span.end).done,
    )


def _list_attributes(monitor: Monitor | None) -> list[str]:
    return [] if monitor is None else [comparison.label for comparison in list_comparisons(monitor)]


def choose_step(span: Span) -> timedelta:
    length = span.end - span.start
    if length <= timedelta(days=8):
        return timedelta(hours=1)
    return timedelta(days=1) if length <= timedelta(days=731) else timedelta(days=7)


def summarise_days(points: Iterable[SeriesPoint], step: timedelta) -> list[Day]:
    """Oldest first; steps begin at midnight, UTC, weeks on Mondays."""
    days = []
    for start, members in group_by_step(points, step):
        values = [point.value for point in members if point.value is not None]
        days.append(
            Day(
                start=start,
                checks=len(members),
                verdicts=Counter(point.verdict for point in members),
                lowest=min(values, default=None),
                highest=max(values, default=None),
            )
        )
    return days


def rollup_for(span: Span) -> Period | None:
    length = span.end - span.start
    if length <= timedelta(days=8):
        return None
    if length <= timedelta(days=100):
        return Period.DAY
    return Period.WEEK if length <= timedelta(days=731) else Period.MONTH


def ends_in(span: Span) -> Span:
    """Moments, half-open, at which checks of the span end: after its start, up to its very end."""
    return Span(start=span.start + _LEAST, end=span.end + _LEAST)


def history_sections(session: Session, source: ReportSource) -> Iterator[Section]:
    deployment_no = source.deployment.no
    monitor = source.monitor
    span = source.span
    rollup = rollup_for(span)
    names = GroupWords.of(monitor)
    rhythm = (
        "one point a check, at the end of its span"
        if rollup is None
        else f"checked hours summed up by {rollup.value}, at its start. {OF_NOW}"
    )
    yield Section("Over time", (Paragraph(f"From {moment(span.start)} to {moment(span.end)}, {rhythm}."),))
    opened = [alert for alert in source.alerts if span.start <= alert.opened_at <= span.end]
    for attribute in _list_attributes(monitor):
        blocks: list[Block] = []
        for data in DATA_NAMES:
            impact = rename_series(
                names, _read_series(session, deployment_no, "disparate_impact", data, attribute, span)
            )
            blocks += _series_blocks(impact, span, opened)
        yield Section(f"{attribute}: disparate impact", blocks, level=3)

    accuracy = _read_series(session, deployment_no, "accuracy", DataSet.LABELLED, None, span)
    yield Section("Accuracy", tuple(_series_blocks(accuracy, span, ())), level=3)

    ends = ends_in(span)
    volumes = count_volume(session, deployment_no, ends.start, ends.end, rollup)
    records: list[Block] = [
        Paragraph("No check of this time was of a single hour, so the records logged in it were not counted.")
    ]
    if volumes:
        counted = [] if monitor is None else count_period(session, deployment_no, monitor, span).lines
        chart = ReportChart(
            "Records logged", lambda look: volume_chart(volumes, look, span=_axis(span), rollup=rollup)
        )
        records = [*map(Paragraph, counted), chart]
    yield Section("Records", records, level=3)


def _read_series(
    session: Session, deployment_no: int, metric: str, data: DataSet, attribute: str | None, span: Span
) -> Series:
    """Reads the checks themselves where there is no whole hour to sum up."""
    ends = ends_in(span)
    query = SeriesWanted(metric=metric, data=data, attribute=attribute, since=ends.start, until=ends.end)
    rollup = rollup_for(span)
    if rollup is not None:
        rolled_up = replace(query, since=span.start, until=span.end, rollup=rollup)
        summed_up = build_series(session, deployment_no, rolled_up)
        if any(group.points for group in summed_up.groups):
            return summed_up
    return build_series(session, deployment_no, query)


def _series_blocks(series: Series, span: Span, alerts: Sequence[Alert]) -> Iterator[Block]:
    name = f"{heading(series)}, {_DATA[series.data]}"
    if not any(group.points for group in series.groups):
        yield Paragraph(f"{name}: no check of this time measured it.")
        return
    if series.rollup is None and rollup_for(span) is not None:
        yield Paragraph(
            f"{name}: no whole hour was checked in this time that could be summed up, so each point is a "
            "check."
        )
    yield ReportChart(name, lambda look: series_chart(series, look, alerts=alerts, span=_axis(span)))
    columns = ("Time", "Group", "Value", "95 %", "Records", "Verdict")
    rows = _rows_by_period(series)
    if series.rollup is None:
        columns = ("Day", "Group", "Checks", "Lowest", "Highest", "Verdicts, in checks")
        rows = _rows_by_day(series)
    ordered = sorted(rows, key=lambda row: row[:2])
    note = f"The newest {MOST_ROWS} of {len(ordered):,} rows; the CSV has all."
    yield ReportTable(
        f"Figures of the chart: {name}",
        columns,
        ordered[-MOST_ROWS:],
        note if len(ordered) > MOST_ROWS else None,
    )


def _rows_by_period(series: Series) -> Iterator[tuple[str, ...]]:
    for group in series.groups:
        for point in group.points:
            figures = (number(point.value), interval(point.lower, point.upper, value=point.value))
            if point.value is None:
                figures = (f"none: {point.reason}", "–")
            words = (VERDICT_WORDS[point.verdict], _SIDES.get(disadvantaged_at(series, point)))
            verdict = ", ".join(filter(None, words))
            yield moment(point.at), group.group or group.scope.value, *figures, f"{point.n:,}", verdict


def _rows_by_day(series: Series) -> Iterator[tuple[str, ...]]:
    """A figure that is carried forward is no second one."""
    for group in series.groups:
        fresh = [point for point in group.points if not point.carried_forward]
        for day in summarise_days(fresh, timedelta(days=1)):
            verdicts = ", ".join(
                f"{VERDICT_WORDS[verdict]} {day.verdicts[verdict]:,}"
                for verdict in GRAVEST
                if verdict in day.verdicts
            )
            yield (
                f"{day.start:%Y-%m-%d}",
                group.group or group.scope.value,
                f"{day.checks:,}",
                number(day.lowest),
                number(day.highest),
                verdicts,
            )


def _axis(span: Span) -> Span | None:
    """Of roll-ups all there is: the first period may begin before the range."""
    return span if rollup_for(span) is None else None


def find_furthest(history: History) -> SeriesPoint | None:
    """Point furthest beyond its limits, or nearest to them; of equals the first. None without a value."""
    ranked = [
        (rank(point.value, CATALOGUE[IMPACT], (point.lower_limit, point.upper_limit)), point.at, point)
        for point in history.fresh
        if point.value is not None
    ]
    # Points have no order, so the third member must not be compared.
    furthest = min(ranked, key=lambda item: item[:2], default=None)
    return furthest and furthest[2]


def describe_verdicts(measured: Sequence[History]) -> str:
    sentences = []
    for verdict in _NOT_FAIR:
        attributes = []
        for history in measured:
            points = [point for point in history.fresh if point.verdict == verdict]
            if points:
                counts = Counter(disadvantaged_at(history.series, point) for point in points)
                sides = [f"{words} in {counts[side]:,}" for side, words in _SIDES.items() if counts[side]]
                checked = f"{history.name} in {len(points):,} check{'' if len(points) == 1 else 's'}"
                attributes.append(f"{checked}, {' and '.join(sides)}" if sides else checked)
        if attributes:
            sentences.append(f"{VERDICT_WORDS[verdict].capitalize()}: {'; '.join(attributes)}.")
    unjudged = [history.name for history in measured if history.verdicts.keys().isdisjoint(ON_FAIRNESS)]
    if not sentences and len(unjudged) < len(measured):
        sentences.append("Everything that was judged was fair.")
    if unjudged:
        sentences.append(f"Never judged: {'; '.join(unjudged)}.")
    return " ".join(sentences)
