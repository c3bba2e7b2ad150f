"""Subgroup scans as rows: queued, claimed by a worker, ended, and read."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...base.errors import require_present
from ...base.values import frozen_by_name
from ...database.binary_rows import HeldRow, lease_row, page_newest, read_row, write_held
from ...database.tables import SubgroupScanRow
from ...domain.paging import Paging
from ...statistics.scan.scan_results import Bins, SearchResult

LEASE = timedelta(minutes=15)
"""Time after which another worker may take a running scan over."""

MAX_ATTEMPTS = 3
"""Claims of a scan after which it fails."""

ABANDONED = "The workers that ran the scan stopped without an answer. Request it again."

_LEASE_LOST = "The scan's lease ran out: another worker may own it."

_ENDED_VALUES: dict[str, Any] = {"claimable_at": None, "lease_token": None, "finished_at": func.now()}
"""Values that every scan has at its end."""

_NEWEST_BINS = """
    SELECT DISTINCT ON (binned->>'feature') binned
    FROM subgroup_scans
    CROSS JOIN jsonb_array_elements(bins) AS binned
    WHERE deployment_no = :deployment_no
    ORDER BY binned->>'feature', no DESC
"""
"""Bins of each feature in the newest scan that divided it."""


@frozen_by_name
class SubgroupScan:
    """Row of a scan. `features` are those asked for, at its end all that it read; `bins` divide the searched
    ones.
    """

    no: int
    id: str
    deployment_no: int
    state: str
    features: list[str] | None
    hours: int
    direction: str
    created_by: str
    created_at: datetime
    finished_at: datetime | None
    attempts: int
    lease_token: str | None
    reason: str | None
    span_start: datetime | None
    span_end: datetime | None
    bins: list[Any] | None
    result: dict[str, Any] | None


def queue_scan(
    session: Session,
    deployment_no: int,
    *,
    features: Sequence[str] | None,
    direction: str,
    hours: int,
    requested_by: str,
) -> SubgroupScan:
    """Queues a scan; returns the deployment's open one where there is one."""
    insertion = insert(SubgroupScanRow).values(
        deployment_no=deployment_no,
        features=features,
        hours=hours,
        direction=direction,
        created_by=requested_by,
    )
    is_open = SubgroupScanRow.claimable_at.is_not(None)
    session.execute(insertion.on_conflict_do_nothing(index_elements=["deployment_no"], index_where=is_open))
    statement = select(SubgroupScanRow).where(SubgroupScanRow.deployment_no == deployment_no, is_open)
    return read_row(SubgroupScan, session.scalars(statement).one())


def claim_scan(session: Session, *, token: str) -> SubgroupScan | None:
    """Claims the oldest scan that is due, if any. Those without attempts left fail."""
    is_due = SubgroupScanRow.claimable_at <= func.now()
    abandoned = update(SubgroupScanRow).where(is_due, SubgroupScanRow.attempts >= MAX_ATTEMPTS)
    session.execute(abandoned.values(state="failed", reason=ABANDONED, **_ENDED_VALUES))
    no = session.scalar(
        select(SubgroupScanRow.no)
        .where(is_due)
        .order_by(SubgroupScanRow.no)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    if no is None:
        return None
    lease_row(session, SubgroupScanRow, no, token=token, lease=LEASE, state="running")
    return read_row(SubgroupScan, session.get_one(SubgroupScanRow, no, populate_existing=True))


def end_scan(session: Session, scan: SubgroupScan, **values: Any) -> None:  # noqa: ANN401 - columns of the row
    """Ends the scan with these values of its row. Raises LeaseLost."""
    held = HeldRow(table=SubgroupScanRow, no=scan.no, token=scan.lease_token, if_lost=_LEASE_LOST)
    write_held(session, held, {**_ENDED_VALUES, **values}, SubgroupScanRow.no)


def read_scans(session: Session, deployment_no: int, paging: Paging) -> Sequence[SubgroupScan]:
    """Scans of the deployment, newest first."""
    statement = select(SubgroupScanRow).where(SubgroupScanRow.deployment_no == deployment_no)
    return [
        read_row(SubgroupScan, row)
        for row in session.scalars(page_newest(statement, SubgroupScanRow.no, paging))
    ]


def get_scan(session: Session, deployment_no: int, scan_id: str) -> SubgroupScan:
    """Scan of that id. Raises NotFound."""
    statement = select(SubgroupScanRow).where(
        SubgroupScanRow.deployment_no == deployment_no, SubgroupScanRow.id == scan_id
    )
    row = session.scalars(statement).one_or_none()
    return read_row(SubgroupScan, require_present(row, "subgroup scan", scan_id))


def read_bins(session: Session, deployment_no: int) -> dict[str, Bins]:
    """Newest bins of each feature that a scan of the deployment has searched."""
    rows = session.scalars(text(_NEWEST_BINS), {"deployment_no": deployment_no})
    return {binned.feature: binned for binned in msgspec.convert(rows.all(), list[Bins])}


def read_result(scan: SubgroupScan) -> SearchResult | None:
    """Result of a scan that succeeded, else None. The result of an earlier version has no group."""
    if scan.result is None or scan.bins is None:
        return None
    defaults: dict[str, Any] = {
        "group": None,
        "features": [binned["feature"] for binned in scan.bins],
        "direction": scan.direction,
    }
    return msgspec.convert(defaults | scan.result, SearchResult)
