"""Checks, count tables, measurements, sums of days, and workers."""

from datetime import datetime

from sqlalchemy import (
    ARRAY,
    BigInteger,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    SmallInteger,
    String,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from .base import (
    CheckNo,
    DeploymentKey,
    DeploymentNo,
    Int16,
    Int64,
    JsonList,
    JsonObject,
    JsonValue,
    NotYet,
    QueuedRow,
    Row,
    RowNo,
    StoredAt,
    TextKey,
    TimeKey,
    refers_to,
)


class CheckRow(QueuedRow):
    """One check.

    `lease_token` names its owner until `lease_until`. The unique indexes
    prevent double runs: one scheduled check per deployment and hour, one running per deployment.

    `batch` is its partition; NULL: a span of time. `failure` is the kind of `reason`; `model_answer` is
    what the model said instead of a usable answer, which may repeat a record. `alerts_due` is set in the
    transaction that ends the check, and taken back in the one that decides its alerts.
    """

    __tablename__ = "checks"
    __table_args__ = (
        Index(
            "checks_one_per_hour_idx",
            "deployment_no",
            "span_start",
            unique=True,
            postgresql_where=text("trigger = 'schedule'"),
        ),
        Index(
            "checks_one_running_idx", "deployment_no", unique=True, postgresql_where=text("state = 'running'")
        ),
        Index("checks_claimable_idx", "claimable_at", postgresql_where=text("claimable_at IS NOT NULL")),
        Index("checks_deployment_no_no_idx", "deployment_no", "no"),
        Index("checks_deployment_no_span_start_idx", "deployment_no", "span_start"),
        Index("checks_deployment_no_span_end_idx", "deployment_no", "span_end", "no"),
        Index(
            "checks_succeeded_idx",
            "deployment_no",
            "span_end",
            "no",
            postgresql_where=text("state = 'succeeded'"),
        ),
        Index("checks_alerts_due_idx", "deployment_no", "no", postgresql_where=text("alerts_due")),
    )

    deployment_no: Mapped[DeploymentNo]
    trigger: Mapped[str]
    span_start: Mapped[datetime]
    span_end: Mapped[datetime]
    batch: Mapped[str | None]
    lease_until: Mapped[datetime | None]
    cancel_requested: Mapped[NotYet]
    progress: Mapped[JsonObject | None]
    reason: Mapped[str | None]
    failure: Mapped[str | None]
    model_answer: Mapped[str | None]
    alerts_due: Mapped[bool] = mapped_column(server_default=text("false"))
    window: Mapped[JsonObject | None]
    monitor_version: Mapped[int | None]
    model_revision: Mapped[str | None]
    created_by: Mapped[str]
    traceparent: Mapped[str | None]
    created_at: Mapped[StoredAt]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class CheckTableRow(Row):
    """One count table.

    `part` separates its own span from additional records of earlier hours, which roll-ups leave out so
    that no record is counted twice.
    """

    __tablename__ = "check_tables"

    check_no: Mapped[int] = refers_to("checks.no", BigInteger, primary_key=True)
    data: Mapped[TextKey]
    attribute: Mapped[TextKey]
    part: Mapped[TextKey]
    cells: Mapped[JsonObject]


class MeasurementRow(Row):
    """One value of a series. `worst_of` marks the group furthest out of so many."""

    __tablename__ = "measurements"
    __table_args__ = (
        Index("measurements_series_idx", "deployment_no", "metric", "at", "no"),
        Index("measurements_attribute_idx", "deployment_no", "metric", "data", "attribute", "at"),
    )

    no: Mapped[RowNo]
    check_no: Mapped[CheckNo]
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


class CheckDayRow(Row):
    """One day (UTC) with ended checks. The members from `failed` on, and its rows in `table_days`, hold if
    `is_kept`.

    A trigger of `checks` takes `is_kept` back in every transaction that changes an ended check. The row is
    locked before a day is added up, so such a transaction is over, or takes the sums back.
    """

    __tablename__ = "check_days"
    __table_args__ = (Index("check_days_changed_idx", "changed_at", postgresql_where=text("NOT is_kept")),)

    deployment_no: Mapped[DeploymentKey]
    day: Mapped[TimeKey]
    is_kept: Mapped[bool] = mapped_column(server_default=text("false"))
    changed_at: Mapped[StoredAt]
    failed: Mapped[int | None]
    reason: Mapped[str | None]
    topped_up: Mapped[int | None]
    logged: Mapped[Int64 | None]
    changed_version_at: Mapped[list[datetime] | None] = mapped_column(ARRAY(DateTime(timezone=True)))
    revisions: Mapped[list[str | None] | None] = mapped_column(ARRAY(String))
    monitors: Mapped[list[int | None] | None] = mapped_column(ARRAY(Integer))


class TableDayRow(Row):
    """Sum of the count tables of `hours` hours of a day from `hour` on that were counted alike.

    Of each hour the newest check with these outcomes counts, and its own records.
    """

    __tablename__ = "table_days"
    __table_args__ = (
        ForeignKeyConstraint(
            ["deployment_no", "day"], ["check_days.deployment_no", "check_days.day"], ondelete="CASCADE"
        ),
        Index("table_days_series_idx", "deployment_no", "data", "attribute", "day"),
        Index("table_days_day_idx", "deployment_no", "day"),
    )

    no: Mapped[RowNo]
    deployment_no: Mapped[int]
    day: Mapped[datetime]
    data: Mapped[str]
    attribute: Mapped[str]
    favourable: Mapped[JsonList]
    unfavourable: Mapped[JsonList]
    hour: Mapped[datetime]
    hours: Mapped[int]
    cells: Mapped[JsonObject]


class WorkerRow(Row):
    """One worker process, and its last heartbeat. A process that starts again is a new worker."""

    __tablename__ = "workers"

    id: Mapped[TextKey]
    started_at: Mapped[StoredAt]
    beat_at: Mapped[StoredAt]


class ListenerRow(Row):
    """The address of the service that started last. `exposed_on` is NULL on loopback."""

    __tablename__ = "listener"

    no: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    exposed_on: Mapped[str | None]
    started_at: Mapped[StoredAt]
