"""Queue and results of scans for subgroups."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...base.errors import require_present
from ...base.values import frozen_by_name
from ...database.binary_rows import page_newest, read_row
from ...database.leased_rows import HeldRow, lease_row, write_held
from ...database.tables import SubgroupScanRow
from ...domain.paging import Paging
from ...statistics.scan.scan_results import SearchResult, say_search

LEASE = timedelta(minutes=15)
MAX_ATTEMPTS = 3
ABANDONED = "The workers that ran the scan stopped without an answer. Request it again."
_OVER: dict[str, Any] = {"claimable_at": None, "lease_token": None, "finished_at": func.now()}
_IF_LOST = "The scan's lease ran out: another worker may own it."


@frozen_by_name
class SubgroupScan:
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
    """Scans without attempts left fail."""
    due = SubgroupScanRow.claimable_at <= func.now()
    abandoned = update(SubgroupScanRow).where(due, SubgroupScanRow.attempts >= MAX_ATTEMPTS)
    session.execute(abandoned.values(state="failed", reason=ABANDONED, **_OVER))
    no = session.scalar(
        select(SubgroupScanRow.no)
        .where(due)
        .order_by(SubgroupScanRow.no)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    if no is None:
        return None
    lease_row(session, SubgroupScanRow, no, token=token, lease=LEASE, state="running")
    return read_row(SubgroupScan, session.get_one(SubgroupScanRow, no, populate_existing=True))


def end_scan(session: Session, scan: SubgroupScan, **values: Any) -> None:  # noqa: ANN401 - columns of the row
    """`values` are members of its row. Raises LeaseLost."""
    held = HeldRow(table=SubgroupScanRow, no=scan.no, token=scan.lease_token, if_lost=_IF_LOST)
    write_held(session, held, {**_OVER, **values}, SubgroupScanRow.no)


def read_scans(session: Session, deployment_no: int, paging: Paging) -> Sequence[SubgroupScan]:
    statement = select(SubgroupScanRow).where(SubgroupScanRow.deployment_no == deployment_no)
    return [
        read_row(SubgroupScan, row)
        for row in session.scalars(page_newest(statement, SubgroupScanRow.no, paging))
    ]


def get_scan(session: Session, deployment_no: int, scan_id: str) -> SubgroupScan:
    """Raises NotFound."""
    statement = select(SubgroupScanRow).where(
        SubgroupScanRow.deployment_no == deployment_no, SubgroupScanRow.id == scan_id
    )
    row = session.scalars(statement).one_or_none()
    return read_row(SubgroupScan, require_present(row, "subgroup scan", scan_id))


def last_bins(session: Session, deployment_no: int) -> list[Any]:
    statement = select(SubgroupScanRow.bins).where(
        SubgroupScanRow.deployment_no == deployment_no, SubgroupScanRow.bins.is_not(None)
    )
    return session.scalar(statement.order_by(SubgroupScanRow.no.desc()).limit(1)) or []


FOUND_BEFORE = "It found a group, which this version of Evenhand does not show. Request the scan again."
"""Of an earlier version, whose result does not name its group."""


def read_result(scan: SubgroupScan) -> SearchResult | None:
    """None unless it succeeded. The result of an earlier version has no group."""
    stored = scan.result
    bins = scan.bins
    if stored is None or bins is None:
        return None
    defaults: dict[str, Any] = {
        "group": None,
        "features": [binned["feature"] for binned in bins],
        "direction": scan.direction,
    }
    return msgspec.convert(defaults | stored, SearchResult)


def say_scan(scan: SubgroupScan) -> str:
    if scan.state == "queued":
        return "The scan waits for a worker."
    if scan.state == "running":
        return "The scan is running."
    result = read_result(scan)
    if result is None:
        return scan.reason or "The scan failed."
    if scan.result is not None and "inside_records" in scan.result:
        return FOUND_BEFORE
    counted = [scan.result["counted"]["text"]] if scan.result is not None and "counted" in scan.result else []
    return " ".join([*counted, say_search(result, left_out=(scan.features or [])[len(result.features) :])])
