"""Scans for subgroups that nobody listed."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped

from .base import DeploymentNo, Row, RowNo, StoredAt, UniqueText


class SubgroupScanRow(Row):
    """One scan. `claimable_at` is when a worker may take it; NULL once it is over.

    The unique index keeps one scan of a deployment open. `bins` divide the features; scans of commit 7ba08965 lack the group in `result`.
    """

    __tablename__ = "subgroup_scans"
    __table_args__ = (
        Index("subgroup_scans_deployment_no_no_idx", "deployment_no", "no"),
        Index("subgroup_scans_one_open_idx", "deployment_no", unique=True, postgresql_where=text("claimable_at IS NOT NULL")),
    )

    no: Mapped[RowNo]
    id: Mapped[UniqueText]
    deployment_no: Mapped[DeploymentNo]
    state: Mapped[str]
    features: Mapped[list[Any] | None]
    hours: Mapped[int]
    direction: Mapped[str]
    created_by: Mapped[str]
    created_at: Mapped[StoredAt]
    finished_at: Mapped[datetime | None]
    claimable_at: Mapped[datetime | None]
    attempts: Mapped[int]
    lease_token: Mapped[str | None]
    reason: Mapped[str | None]
    span_start: Mapped[datetime | None]
    span_end: Mapped[datetime | None]
    bins: Mapped[list[Any] | None]
    result: Mapped[dict[str, Any] | None]
