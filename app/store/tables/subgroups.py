"""Subgroups that nobody listed: scans, and tables that nothing reads or writes any more."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Identity, Index, UniqueConstraint, func, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import Json, Row


class SubgroupSettingsRow(Row):
    """Settings of nightly scans; nothing reads or writes them any more."""

    __tablename__ = "subgroup_settings"

    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"), primary_key=True, autoincrement=False)
    nightly: Mapped[bool]
    features: Mapped[list[Any] | None] = mapped_column(Json)
    direction: Mapped[str]
    limit: Mapped[float]
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())


class SubgroupScanRow(Row):
    """One scan, from queued to its end. `claimable_at` is when a worker may take it (again); NULL once it is over.

    The unique index keeps one scan of a deployment open at a time. `bins` are the values that the features were divided into, `result`
    the numbers of the scan and the group it found; both are written with its end. Scans of earlier versions have a result without the
    group. Nothing reads `limit` and `candidate_no` any more.
    """

    __tablename__ = "subgroup_scans"
    __table_args__ = (
        Index("subgroup_scans_deployment_no_no_idx", "deployment_no", "no"),
        Index("subgroup_scans_one_open_idx", "deployment_no", unique=True, postgresql_where=text("claimable_at IS NOT NULL")),
    )

    no: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"))
    state: Mapped[str]
    features: Mapped[list[Any] | None] = mapped_column(Json)
    hours: Mapped[int]
    direction: Mapped[str]
    limit: Mapped[float] = mapped_column(default=0.8)
    created_by: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    finished_at: Mapped[datetime | None]
    claimable_at: Mapped[datetime | None]
    attempts: Mapped[int]
    lease_token: Mapped[str | None]
    reason: Mapped[str | None]
    span_start: Mapped[datetime | None]
    span_end: Mapped[datetime | None]
    bins: Mapped[list[Any] | None] = mapped_column(Json)
    result: Mapped[dict[str, Any] | None]
    candidate_no: Mapped[int | None] = mapped_column(BigInteger)


class SubgroupCandidateRow(Row):
    """Subgroups that scans of earlier versions found; nothing reads or writes them any more."""

    __tablename__ = "subgroup_candidates"
    __table_args__ = (UniqueConstraint("deployment_no", "number", name="subgroup_candidates_key"),)

    no: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"))
    number: Mapped[int]
    scan_no: Mapped[int] = mapped_column(BigInteger, ForeignKey("subgroup_scans.no", ondelete="CASCADE"), index=True)
    era_no: Mapped[int] = mapped_column(BigInteger, ForeignKey("evidence_eras.no", ondelete="CASCADE"), index=True)
    bins: Mapped[list[Any]] = mapped_column(Json)
    values: Mapped[list[Any]] = mapped_column(Json)
    direction: Mapped[str]
    limit: Mapped[float]
    born_at: Mapped[datetime]
    state: Mapped[str]
    log_evidence: Mapped[float]
    confirmed_at: Mapped[datetime | None]
    until: Mapped[datetime]


class SubgroupHourRow(Row):
    """Hours of these subgroups; nothing reads or writes them any more."""

    __tablename__ = "subgroup_hours"

    candidate_no: Mapped[int] = mapped_column(BigInteger, ForeignKey("subgroup_candidates.no", ondelete="CASCADE"), primary_key=True)
    hour: Mapped[datetime] = mapped_column(primary_key=True)
    inside_favourable: Mapped[int] = mapped_column(BigInteger)
    inside_records: Mapped[int] = mapped_column(BigInteger)
    others_favourable: Mapped[int] = mapped_column(BigInteger)
    others_records: Mapped[int] = mapped_column(BigInteger)
