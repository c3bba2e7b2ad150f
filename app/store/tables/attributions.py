"""Attributions of gaps."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import DeploymentNo, Int64, Row, RowNo, StoredAt, UniqueText


class AttributionRow(Row):
    """One attribution of a window's gaps, or of the change that an alert is about (`alert_no`).

    `claimable_at` is when a worker may take it; NULL once it is over. The unique indexes queue one attribution a night and one for an
    alert, and let a model answer one at a time. `comparisons` are lists of columns; NULL: each attribute by itself. `planned_rows` is
    stored before the model is asked.
    """

    __tablename__ = "attributions"
    __table_args__ = (
        Index("attributions_one_per_night_idx", "deployment_no", "span_end", unique=True, postgresql_where=text("trigger = 'nightly'")),
        Index("attributions_one_per_alert_idx", "alert_no", unique=True),
        Index(
            "attributions_one_running_idx",
            "deployment_no",
            unique=True,
            postgresql_where=text("state = 'running' AND trigger <> 'alert'"),
        ),
        Index("attributions_claimable_idx", "claimable_at", postgresql_where=text("claimable_at IS NOT NULL")),
        Index("attributions_deployment_no_no_idx", "deployment_no", "no"),
    )

    no: Mapped[RowNo]
    id: Mapped[UniqueText]
    deployment_no: Mapped[DeploymentNo]
    trigger: Mapped[str]
    state: Mapped[str]
    span_start: Mapped[datetime]
    span_end: Mapped[datetime]
    check_id: Mapped[str | None]
    alert_no: Mapped[int | None] = mapped_column(BigInteger, ForeignKey("alerts.no", ondelete="CASCADE"))
    pairs: Mapped[int | None]
    max_rows: Mapped[int | None]
    comparisons: Mapped[list[Any] | None]
    planned_rows: Mapped[Int64 | None]
    planned_requests: Mapped[Int64 | None]
    asked_rows: Mapped[Int64 | None]
    result: Mapped[dict[str, Any] | None]
    problem: Mapped[str | None]
    attempts: Mapped[int]
    cancel_requested: Mapped[bool]
    claimable_at: Mapped[datetime | None]
    lease_token: Mapped[str | None]
    progress: Mapped[dict[str, Any] | None]
    created_by: Mapped[str]
    created_at: Mapped[StoredAt]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class AttributionAnswerRow(Row):
    """Outcomes of one part, one byte each, kept until the attribution is over. `question` is a hash."""

    __tablename__ = "attribution_answers"

    attribution_no: Mapped[int] = mapped_column(BigInteger, ForeignKey("attributions.no", ondelete="CASCADE"), primary_key=True)
    part: Mapped[int] = mapped_column(primary_key=True)
    question: Mapped[bytes]
    outcomes: Mapped[bytes]
