"""Alerts of a list by deployment, and the figures of an alert in text and over time."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from ...alerts.gravity import rank_alert, read_number
from ...base.errors import Conflict, InvalidInput, NotFound
from ...base.values import frozen_by_name
from ...charts.forest import StripPoint, collect_strips
from ...checks.result_queries import RecentFigures, recent_figures
from ...checks.views.headlines import DATA_NAMES
from ...domain.alert import Alert, AlertFigure, AlertState
from ...domain.check import DataSet
from ...domain.monitor import POOLED_GROUP
from ...records.record_list import Records, RecordsWanted, count_matching_records, list_matching_records
from ...sources.stored.record_queries import RecordCount
from ...statistics.sentences.rounding import choose_joint, digits_apart, write_minus

_HUNDREDTHS = 2

AROUND = timedelta(hours=48)
"""Time before and after an alert that its trend shows."""
_MOST_CHECKS = 2 * 48 + 1
SHOWN_RECORDS = 5
MOST_COUNTED = 10_000
"""Max affected records that are counted."""


@frozen_by_name
class ListedFigure:
    """Value, interval and records as text; empty where there is none."""

    data: str
    value: str
    interval: str
    records: str


@frozen_by_name
class AlertsOfDeployment:
    """Alerts, the gravest first, of equals the newest."""

    deployment_id: str
    deployment_name: str
    alerts: tuple[Alert, ...]

    @property
    def has_unresolved(self) -> bool:
        return any(alert.state is not AlertState.RESOLVED for alert in self.alerts)


def group_alerts(page: Sequence[Alert]) -> list[AlertsOfDeployment]:
    """Alerts of a page, newest first, by deployment: the gravest first; pages go on by age."""
    by_deployment: dict[int, list[Alert]] = {}
    for alert in sorted(page, key=rank_alert):
        by_deployment.setdefault(alert.deployment_no, []).append(alert)
    return [
        AlertsOfDeployment(
            deployment_id=alerts[0].deployment_id,
            deployment_name=alerts[0].deployment_name,
            alerts=tuple(alerts),
        )
        for alerts in by_deployment.values()
    ]


def format_figure(figure: AlertFigure) -> ListedFigure:
    """Figure last seen, with the interval that leads it."""
    data = figure.data
    facts = figure.facts
    value, lower, upper = (read_number(facts.get(name)) for name in ("value", "lower", "upper"))
    marks = (0.0, 1.0, read_number(facts.get("lower_limit")), read_number(facts.get("upper_limit")))
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
    sizes = [read_number(facts.get(name)) for name in ("n_monitored", "n_reference")]
    return ListedFigure(
        data="" if data is None else DATA_NAMES.get(data, data.value.replace("_", " ")),
        value=text,
        interval=interval,
        records=" / ".join(f"{size:,.0f}" for size in sizes if size is not None),
    )


@frozen_by_name
class AlertTrend:
    """Oldest first; `begun` is the place of the first one from `since` on."""

    since: datetime
    points: tuple[StripPoint, ...]
    begun: int | None


def start_of_figure(figure: AlertFigure) -> datetime:
    since = figure.facts.get("since")
    return datetime.fromisoformat(since) if isinstance(since, str) else figure.opened_at


def read_trend(session: Session, deployment_no: int, about: AlertFigure) -> AlertTrend | None:
    """None for a figure of no single group, or without a value there."""
    since = start_of_figure(about)
    if about.data is None or about.metric is None or about.group is None:
        return None
    latest = recent_figures(session, deployment_no, about.metric, most=_MOST_CHECKS, until=since + AROUND)
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


def affected_records(about: AlertFigure) -> RecordsWanted | None:
    """Records that the figure is about; None for one of no single group.

    Of copies those that another group would turn favourable, else those with the unfavourable outcome.
    """
    facts = about.facts
    if about.attribute is None or about.group in {None, POOLED_GROUP}:
        return None
    check_id = facts.get("check_id")
    until = facts.get("alarm_at")
    is_counterfactual = about.data is DataSet.COUNTERFACTUAL
    return RecordsWanted(
        check_id=str(check_id) if check_id is not None else None,
        # An hour is counted from its start, and a check ends with one.
        since=start_of_figure(about) if check_id is None else None,
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
