"""Alerts as lines of a list, one for a group as logged and counterfactual, and the figure of an alert over
time.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from ...alerts.queries import find_counterparts
from ...base.errors import Conflict, InvalidInput, NotFound
from ...base.values import frozen, frozen_by_name
from ...charts.forest import StripPoint, collect_strips
from ...checks.result_queries import RecentFigures, recent_figures
from ...checks.views.headlines import DATA_NAMES
from ...domain.alert import Alert, AlertState, AlertSubject, RuleKind
from ...domain.check import DataSet
from ...records.record_list import Records, RecordsWanted, count_matching_records, list_matching_records
from ...sources.stored.record_queries import RecordCount
from ...statistics.catalogue import CATALOGUE
from ...statistics.intervals.verdicts import GRAVEST, Verdict
from ...statistics.measures.worst_group import how_far_out
from ...statistics.sentences.rounding import choose_joint, digits_apart, write_minus

_GRAVEST = (AlertState.OPEN, AlertState.ACKNOWLEDGED, AlertState.RESOLVED)
_HUNDREDTHS = 2

AROUND = timedelta(hours=48)
"""Time before and after an alert that its trend shows."""
_MOST_CHECKS = 2 * 48 + 1
SHOWN_RECORDS = 5
MOST_COUNTED = 10_000
"""Max affected records that are counted."""


@frozen_by_name
class AlertFigure:
    """Value and interval as text; empty where there is none."""

    alert: Alert
    data: str
    text: str
    interval: str


@frozen_by_name
class AlertLine:
    """Alerts of one group, the one on records as logged first."""

    alerts: tuple[Alert, ...]

    @property
    def first(self) -> Alert:
        """Alert that the line opens: the gravest, of equals the one as logged."""
        return min(self.alerts, key=lambda alert: _GRAVEST.index(alert.state))

    @property
    def state(self) -> AlertState:
        return self.first.state

    @property
    def gravity(self) -> tuple[int, int, float]:
        """Sort key, the gravest first: state, verdict, distance beyond the limit."""
        return min(rank_alert(alert) for alert in self.alerts)

    @property
    def open_ids(self) -> tuple[str, ...]:
        return tuple(alert.id for alert in self.alerts if alert.state is AlertState.OPEN)

    @property
    def opened_at(self) -> datetime:
        return min(alert.opened_at for alert in self.alerts)

    @property
    def last_seen_at(self) -> datetime:
        return max(alert.last_seen_at for alert in self.alerts)

    @property
    def assignees(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(alert.assignee for alert in self.alerts if alert.assignee is not None))

    @property
    def figures(self) -> tuple[AlertFigure, ...]:
        return tuple(format_alert_figure(alert) for alert in self.alerts if alert.subject.data is not None)


@frozen_by_name
class AlertsOfDeployment:
    """Lines, the gravest first, of equals the newest."""

    deployment_id: str
    deployment_name: str
    lines: tuple[AlertLine, ...]

    @property
    def alerts(self) -> int:
        return sum(len(line.alerts) for line in self.lines)

    @property
    def open_alerts(self) -> int:
        return sum(len(line.open_ids) for line in self.lines)


@frozen
class _LineKey:
    deployment_no: int
    rule_no: int | None
    rule_id: str
    kind: RuleKind
    subject: AlertSubject
    # An alert that is over, or that is on other data, is a line of its own.
    alone: int | None


def list_lines(session: Session, page: Sequence[Alert], state: AlertState | None) -> list[AlertsOfDeployment]:
    """Lines of a page's alerts; a line is on the page of its newest alert.

    Lines and deployments are in the order of gravity, of equals newest first; pages go on by age.
    """
    numbers = {alert.no for alert in page}
    every = {alert.no: alert for alert in (*page, *find_counterparts(session, page, state))}
    by_key: dict[_LineKey, list[Alert]] = {}
    for no in sorted(every, reverse=True):
        by_key.setdefault(_make_line_key(every[no]), []).append(every[no])
    by_deployment: dict[int, list[AlertLine]] = {}
    for alerts in by_key.values():
        if alerts[0].no in numbers:
            line = AlertLine(
                alerts=tuple(sorted(alerts, key=lambda alert: alert.subject.data is not DataSet.AS_LOGGED))
            )
            by_deployment.setdefault(alerts[0].deployment_no, []).append(line)
    ordered = [sorted(lines, key=lambda line: line.gravity) for lines in by_deployment.values()]
    return [
        AlertsOfDeployment(
            deployment_id=lines[0].first.deployment_id,
            deployment_name=lines[0].first.deployment_name,
            lines=tuple(lines),
        )
        for lines in sorted(ordered, key=lambda lines: lines[0].gravity)
    ]


def rank_alert(alert: Alert) -> tuple[int, int, float]:
    """Sort key, the gravest first: state, verdict, distance beyond the limit.

    Of evidence the interval's end next to the limit counts. Alerts without a figure come last; one that is
    over has no gravity.
    """
    rank = _GRAVEST.index(alert.state)
    metric = CATALOGUE.get(alert.subject.metric or "")
    if alert.state is AlertState.RESOLVED or metric is None:
        return rank, len(GRAVEST), 0.0
    lower_limit, upper_limit = (_number(alert.facts.get(name)) for name in ("lower_limit", "upper_limit"))
    value = _number(alert.facts.get("value"))
    verdict = alert.facts.get("verdict")
    if alert.kind is RuleKind.EVIDENCE:
        verdict = Verdict.UNFAIR
        ends = alert.facts.get("interval")
        if isinstance(ends, list):
            value = _number(ends[0] if lower_limit is None else ends[1])
    grade = Verdict(verdict) if isinstance(verdict, str) else None
    return (
        rank,
        GRAVEST.index(grade),
        0.0 if value is None else -how_far_out(value, metric, (lower_limit, upper_limit)),
    )


def format_alert_figure(alert: Alert) -> AlertFigure:
    """Figure last seen; of evidence the interval at all hours."""
    data = alert.subject.data
    name = "" if data is None else DATA_NAMES.get(data, data.value.replace("_", " "))
    facts = alert.facts
    bounds = (
        facts.get("interval") if alert.kind is RuleKind.EVIDENCE else [facts.get("lower"), facts.get("upper")]
    )
    lower, upper = (_number(end) for end in bounds) if isinstance(bounds, list) else (None, None)
    value = _number(facts.get("value"))
    marks = (0.0, 1.0, _number(facts.get("lower_limit")), _number(facts.get("upper_limit")))
    digits = max(
        (digits_apart(number, marks, _HUNDREDTHS) for number in (value, lower, upper) if number is not None),
        default=_HUNDREDTHS,
    )
    text, low, high = (
        "" if number is None else write_minus(f"{number:.{digits}f}") for number in (value, lower, upper)
    )
    interval = ""
    if low and high:
        interval = f"{low}{choose_joint(lower or 0.0)}{high}"
    elif low or high:
        interval = f"{low} and more" if low else f"up to {high}"
    return AlertFigure(alert=alert, data=name, text=text, interval=interval)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _make_line_key(alert: Alert) -> _LineKey:
    is_joined = alert.subject.data in DATA_NAMES and alert.resolved_at is None
    return _LineKey(
        deployment_no=alert.deployment_no,
        rule_no=alert.rule_no,
        rule_id=alert.rule_id,
        kind=alert.kind,
        subject=replace(alert.subject, data=None),
        alone=None if is_joined else alert.no,
    )


@frozen_by_name
class AlertTrend:
    """Oldest first; `begun` is the place of the first one from `since` on."""

    since: datetime
    points: tuple[StripPoint, ...]
    begun: int | None


def start_of_alert(alert: Alert) -> datetime:
    since = alert.facts.get("since")
    return datetime.fromisoformat(since) if isinstance(since, str) else alert.opened_at


def read_trend(session: Session, alert: Alert) -> AlertTrend | None:
    """None for an alert about no single group, or without a figure there."""
    about = alert.subject
    since = start_of_alert(alert)
    if about.data is None or about.metric is None or about.group is None:
        return None
    latest = recent_figures(
        session, alert.deployment_no, about.metric, most=_MOST_CHECKS, until=since + AROUND
    )
    checks = [check for check in latest.checks if check.at >= since - AROUND]
    numbers = {check.no for check in checks}
    recent = [
        figure
        for figure in latest.figures
        if figure.check_no in numbers
        and (figure.data, figure.attribute, figure.group) == (about.data, about.attribute, about.group)
    ]
    points = next(iter(collect_strips(RecentFigures(checks, recent), about.metric).values()), ())
    if not any(point.value is not None for point in points):
        return None
    return AlertTrend(
        since=since,
        points=points,
        begun=next((no for no, point in enumerate(points) if point.at >= since), None),
    )


def affected_records(alert: Alert) -> RecordsWanted | None:
    """Records that the alert is about; None for one about no single group.

    Of copies those that another group would turn favourable, else those with the unfavourable outcome.
    """
    about = alert.subject
    facts = alert.facts
    if about.attribute is None or about.group is None:
        return None
    check_id = facts.get("check_id")
    until = facts.get("alarm_at")
    is_counterfactual = about.data is DataSet.COUNTERFACTUAL
    return RecordsWanted(
        check_id=str(check_id) if check_id is not None else None,
        # An hour is counted from its start, and a check ends with one.
        since=start_of_alert(alert) if check_id is None else None,
        until=datetime.fromisoformat(until) if check_id is None and isinstance(until, str) else None,
        attribute=about.attribute,
        group=about.group,
        outcome=None if is_counterfactual else "unfavourable",
        changed="gained" if is_counterfactual else None,
        limit=SHOWN_RECORDS,
    )


@frozen_by_name
class AffectedRecords:
    records: Records
    count: RecordCount


def read_affected(session: Session, alert: Alert, query: RecordsWanted | None) -> AffectedRecords | None:
    """None where there are none to ask for, or the monitor no longer has the group."""
    try:
        if query is None:
            return None
        count = count_matching_records(session, alert.deployment_no, query, limit=MOST_COUNTED)
        return AffectedRecords(
            records=list_matching_records(session, alert.deployment_no, query), count=count
        )
    except (InvalidInput, Conflict, NotFound):
        return None
