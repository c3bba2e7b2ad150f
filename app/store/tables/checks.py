"""Checks, count tables, measurements."""

from datetime import datetime
from typing import Any

from sqlalchemy import ARRAY, BigInteger, Double, ForeignKey, Index, SmallInteger, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import DeploymentNo, Int16, Int64, JsonValue, Row, RowNo, StoredAt, TextKey, UniqueText


class CheckRow(Row):
    """One check.

    `claimable_at` is when a worker may take it; NULL once it is over. `lease_token` names its owner until `lease_until`. The unique indexes
    prevent double runs: one scheduled check per deployment and hour, one running per deployment.

    `batch` is its partition; NULL: a span of time. `failure` is the kind of `reason`. `alerts_due` is set in the transaction that ends the
    check, and taken back in the one that decides its alerts.
    """

    __tablename__ = "checks"
    __table_args__ = (
        Index("checks_one_per_hour_idx", "deployment_no", "span_start", unique=True, postgresql_where=text("trigger = 'schedule'")),
        Index("checks_one_running_idx", "deployment_no", unique=True, postgresql_where=text("state = 'running'")),
        Index("checks_claimable_idx", "claimable_at", postgresql_where=text("claimable_at IS NOT NULL")),
        Index("checks_deployment_no_no_idx", "deployment_no", "no"),
        Index("checks_deployment_no_span_start_idx", "deployment_no", "span_start"),
        Index("checks_deployment_no_span_end_idx", "deployment_no", "span_end", "no"),
        Index("checks_succeeded_idx", "deployment_no", "span_end", "no", postgresql_where=text("state = 'succeeded'")),
        Index("checks_alerts_due_idx", "deployment_no", "no", postgresql_where=text("alerts_due")),
    )

    no: Mapped[RowNo]
    id: Mapped[UniqueText]
    deployment_no: Mapped[DeploymentNo]
    trigger: Mapped[str]
    state: Mapped[str]
    span_start: Mapped[datetime]
    span_end: Mapped[datetime]
    batch: Mapped[str | None]
    claimable_at: Mapped[datetime | None]
    attempts: Mapped[int]
    lease_token: Mapped[str | None]
    lease_until: Mapped[datetime | None]
    cancel_requested: Mapped[bool]
    progress: Mapped[dict[str, Any] | None]
    reason: Mapped[str | None]
    failure: Mapped[str | None]
    alerts_due: Mapped[bool] = mapped_column(server_default=text("false"))
    window: Mapped[dict[str, Any] | None]
    monitor_version: Mapped[int | None]
    model_revision: Mapped[str | None]
    created_by: Mapped[str]
    traceparent: Mapped[str | None]
    created_at: Mapped[StoredAt]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class CheckTableRow(Row):
    """One count table.

    `part` separates its own span from additional records of earlier hours, which roll-ups leave out so that no record is counted twice.
    """

    __tablename__ = "check_tables"

    check_no: Mapped[int] = mapped_column(BigInteger, ForeignKey("checks.no", ondelete="CASCADE"), primary_key=True)
    data: Mapped[TextKey]
    attribute: Mapped[TextKey]
    part: Mapped[TextKey]
    cells: Mapped[dict[str, Any]]


class MeasurementRow(Row):
    """One value of a series. `worst_of` marks the group furthest out of so many."""

    __tablename__ = "measurements"
    __table_args__ = (
        Index("measurements_series_idx", "deployment_no", "metric", "at", "no"),
        Index("measurements_attribute_idx", "deployment_no", "metric", "data", "attribute", "at"),
    )

    no: Mapped[RowNo]
    check_no: Mapped[int] = mapped_column(BigInteger, ForeignKey("checks.no", ondelete="CASCADE"), index=True)
    deployment_no: Mapped[int]
    at: Mapped[datetime]
    metric: Mapped[str]
    data: Mapped[str]
    scope: Mapped[str]
    attribute: Mapped[str | None]
    group: Mapped[str | None]
    value: Mapped[float | None]
    reason: Mapped[str | None]
    lower: Mapped[float | None]
    upper: Mapped[float | None]
    interval_method: Mapped[str | None]
    n: Mapped[Int64]
    verdict: Mapped[str | None]
    lower_limit: Mapped[float | None]
    upper_limit: Mapped[float | None]
    carried_forward: Mapped[bool]
    definition: Mapped[int] = mapped_column(SmallInteger, server_default="1")
    worst_of: Mapped[int | None]
    chosen_lower: Mapped[float | None]
    chosen_upper: Mapped[float | None]
    details: Mapped[JsonValue]


class FigureDayRow(Row):
    """Figures of one group on one day (UTC), joined from the measurements and written with them."""

    __tablename__ = "figure_days"
    __table_args__ = (
        Index("figure_days_series_idx", "deployment_no", "metric", "data", "day"),
        Index("figure_days_day_idx", "deployment_no", "day"),
    )

    no: Mapped[RowNo]
    deployment_no: Mapped[int]
    day: Mapped[datetime]
    metric: Mapped[str]
    data: Mapped[str]
    scope: Mapped[str]
    attribute: Mapped[str | None]
    group: Mapped[str | None]
    definition: Mapped[Int16]
    last_at: Mapped[datetime]
    figures: Mapped[int]
    carried: Mapped[int]
    unfair: Mapped[int]
    suspected: Mapped[int]
    unwatched: Mapped[int]
    undecided: Mapped[int] = mapped_column(server_default="0")
    fair: Mapped[int]
    insufficient: Mapped[int]
    absent: Mapped[int]
    lowest: Mapped[list[float] | None] = mapped_column(ARRAY(Double))
    highest: Mapped[list[float] | None] = mapped_column(ARRAY(Double))
    lower: Mapped[float | None]
    upper: Mapped[float | None]
    n: Mapped[Int64]
    lower_limit: Mapped[float | None]
    upper_limit: Mapped[float | None]
    reason: Mapped[str | None]
