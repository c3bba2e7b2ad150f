"""Reasons for which a month is still needed in the database, and must not be moved to files."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from ...errors import NotFound
from ..deployments.monitors import monitor_of
from .archives import MonthPlace


@dataclass(frozen=True, slots=True)
class Warmth:
    """A deployment, and why a month of it stays; None: nothing needs it."""

    deployment_id: str
    reason: str | None


_FACTS = text(
    """SELECT d.id, d.record_tables IS NOT NULL AS lies_in_files, m.version IS NOT NULL AS is_monitored,
         e.counted_until, e.labels_until, e.problem,
         (SELECT x.id FROM erasures x WHERE x.deployment_no = d.no AND x.finished_at IS NULL LIMIT 1) AS erasure,
         (SELECT c.id FROM checks c WHERE c.deployment_no = d.no AND c.state IN ('queued', 'running') AND c.span_start < :end LIMIT 1)
             AS waiting,
         EXISTS (SELECT FROM changed_hours h WHERE h.deployment_no = d.no AND h.hour >= :start AND h.hour < :end
                 AND (h.era_no IS NULL OR h.era_no = e.no)) AS is_changed
       FROM deployments d
       LEFT JOIN monitors m ON m.deployment_no = d.no
       LEFT JOIN evidence_eras e ON e.deployment_no = d.no AND e.monitor_version = m.version AND e.model_revision = d.model_revision
       WHERE d.no = :no"""
)


def find_warmth(session: Session, place: MonthPlace, now: datetime) -> Warmth:
    """Returns whether the month of the deployment is still needed in the database, and for what.

    Raises:
        NotFound: the deployment was deleted.
    """
    found = session.execute(_FACTS, place.values).one_or_none()
    if found is None:
        raise NotFound("deployment of number", place.deployment_no)
    return Warmth(found.id, _reason(found, place, now))


def _reason(found: Any, place: MonthPlace, now: datetime) -> str | None:  # noqa: ANN401 - a row
    end = place.month.end
    if end > now:
        return "it has not ended."
    if found.erasure is not None:
        return f"the erasure {found.erasure} is not finished. Store the month when it has its receipt."
    if found.waiting is not None:
        return f"the check {found.waiting} reads records of it. Store the month when the check has ended."
    is_counted = found.is_monitored and not found.lies_in_files and found.problem is None
    return _uncounted(found, end) if is_counted else None


def _uncounted(found: Any, end: datetime) -> str | None:  # noqa: ANN401 - as above
    if found.counted_until is None or found.counted_until < end:
        return "its hours are not counted for evidence over time yet. A worker does it within minutes."
    if found.labels_until is None or found.labels_until < end:
        until = "not at all" if found.labels_until is None else f"up to {found.labels_until:%Y-%m-%d %H:%M} UTC"
        return (
            f"labels of its records count for evidence until the monitor's label_horizon_hours have passed; they are counted {until}."
            " Store the month later."
        )
    return "its changed hours are not counted for evidence yet. A worker does it within minutes." if found.is_changed else None


_LATER = text(
    """SELECT (SELECT count(*) FROM (SELECT FROM payload_records WHERE deployment_no = :no AND logged_at >= :end LIMIT :most) r) AS records,
         (SELECT count(*) FROM (SELECT FROM feedback_records WHERE deployment_no = :no AND usable_at >= :end LIMIT :most) f) AS labels"""
)


def find_shortage(session: Session, place: MonthPlace, *, has_labels: bool) -> str | None:
    """Returns what present checks look for in the month, because less than the monitor's `min_records` came after it; None: nothing."""
    monitor = monitor_of(session, place.deployment_no)
    if monitor is None:
        return None
    later = session.execute(_LATER, {"no": place.deployment_no, "end": place.month.end, "most": monitor.min_records}).one()
    short = ["records"] if later.records < monitor.min_records else []
    short += ["labels"] if has_labels and later.labels < monitor.min_records else []
    counts = " and ".join(f"{getattr(later, name):,} {name}" for name in short)
    return f"{counts} came after it, and a check reads at least {monitor.min_records:,}" if short else None
