"""An alert's figure in the checks around it, and the records it affects."""

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy.orm import Session

from ..domain.alerts import Alert
from ..domain.checks import DataSet
from ..errors import Conflict, InvalidInput, NotFound
from ..frozen import frozen
from ..store.checks.recent import recent_checks, recent_figures
from ..store.records.transactions import RecordCount
from .forest import ForestSource, StripPoint, collect_strips
from .transactions import Records, RecordsWanted, count_of, records_of

AROUND: Final = timedelta(hours=48)
"""Time before and after an alert that its trend shows."""
_MOST_CHECKS: Final = 2 * 48 + 1
SHOWN_RECORDS: Final = 5
MOST_COUNTED: Final = 10_000
"""Max affected records that are counted."""


@frozen(kw_only=True)
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
    about, since = alert.subject, start_of_alert(alert)
    if about.data is None or about.metric is None or about.group is None:
        return None
    found = recent_checks(session, alert.deployment_no, most=_MOST_CHECKS, until=since + AROUND)
    checks = [one for one in found if one.at >= since - AROUND]
    recent = [
        one
        for one in recent_figures(session, alert.deployment_no, about.metric, checks)
        if one.data is about.data and one.attribute == about.attribute and one.group == about.group
    ]
    strips = collect_strips(ForestSource(monitor=None, evidence=None, checks=checks, measured=(), recent=recent))
    points = next(iter(strips.values()), ())
    if not any(one.value is not None for one in points):
        return None
    return AlertTrend(since=since, points=points, begun=next((no for no, one in enumerate(points) if one.at >= since), None))


def affected_records(alert: Alert) -> RecordsWanted | None:
    """Records that the alert is about; None for one about no single group.

    Of copies those that another group would turn favourable, else those with the unfavourable outcome.
    """
    about, facts = alert.subject, alert.facts
    if about.attribute is None or about.group is None:
        return None
    check_id, until = facts.get("check_id"), facts.get("alarm_at")
    is_balanced = about.data is DataSet.BALANCED
    return RecordsWanted(
        check_id=str(check_id) if check_id is not None else None,
        # An hour is counted from its start, and a check ends with one.
        since=start_of_alert(alert) if check_id is None else None,
        until=datetime.fromisoformat(until) if check_id is None and isinstance(until, str) else None,
        attribute=about.attribute,
        group=about.group,
        outcome=None if is_balanced else "unfavourable",
        changed="gained" if is_balanced else None,
        limit=SHOWN_RECORDS,
    )


@frozen(kw_only=True)
class AffectedRecords:
    records: Records
    count: RecordCount


def read_affected(session: Session, alert: Alert, wanted: RecordsWanted | None) -> AffectedRecords | None:
    """None where there are none to ask for, or the monitor no longer has the group."""
    try:
        if wanted is None:
            return None
        count = count_of(session, alert.deployment_no, wanted, most=MOST_COUNTED)
        return AffectedRecords(records=records_of(session, alert.deployment_no, wanted), count=count)
    except (InvalidInput, Conflict, NotFound):
        return None
