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
    Bool,
    CheckNo,
    DeploymentKey,
    DeploymentNo,
    Int,
    Int16,
    Int64,
    JsonList,
    JsonObject,
    JsonValue,
    NotYet,
    OptionalFloat,
    OptionalInt,
    OptionalInt64,
    OptionalObject,
    OptionalText,
    OptionalTime,
    QueuedRow,
    Row,
    RowNo,
    StoredAt,
    Text,
    TextKey,
    Time,
    TimeKey,
    refers_to,
)


class CheckRow(QueuedRow):
    """`lease_token` names its owner until `lease_until`. The unique indexes allow one scheduled check per
    deployment and hour, one running per deployment.

    `batch` is its partition; NULL: a span of time. `failure` is the kind of `reason`; `model_answer` is what
    the model said instead of a usable answer, which may repeat a record. `alerts_due` is set in the
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
        Index(
            "checks_unscored_idx",
            "deployment_no",
            "span_start",
            postgresql_where=text("failure = 'scoring-failed'"),
        ),
        Index("checks_alerts_due_idx", "deployment_no", "no", postgresql_where=text("alerts_due")),
    )

    deployment_no: DeploymentNo
    trigger: Text
    span_start: Time
    span_end: Time
    batch: OptionalText
    lease_until: OptionalTime
    cancel_requested: NotYet
    progress: OptionalObject
    reason: OptionalText
    failure: OptionalText
    model_answer: OptionalText
    alerts_due: Bool = mapped_column(server_default=text("false"))
    window: OptionalObject
    monitor_version: OptionalInt
    model_revision: OptionalText
    created_by: Text
    traceparent: OptionalText
    created_at: StoredAt
    started_at: OptionalTime
    finished_at: OptionalTime


class CheckTableRow(Row):
    """`part` separates its own span from additional records of earlier hours, which roll-ups leave out so
    that no record is counted twice.
    """

    __tablename__ = "check_tables"

    check_no: Int = refers_to("checks.no", BigInteger, primary_key=True)
    data: TextKey
    attribute: TextKey
    part: TextKey
    cells: JsonObject


class MeasurementRow(Row):
    __tablename__ = "measurements"
    __table_args__ = (
        Index("measurements_series_idx", "deployment_no", "metric", "at", "no"),
        Index("measurements_attribute_idx", "deployment_no", "metric", "data", "attribute", "at"),
    )

    no: RowNo
    check_no: CheckNo
    deployment_no: Int
    at: Time
    metric: Text
    data: Text
    scope: Text
    attribute: OptionalText
    group: OptionalText
    value: OptionalFloat
    reason: OptionalText
    lower: OptionalFloat
    upper: OptionalFloat
    interval_method: OptionalText
    n: Int64
    verdict: OptionalText
    lower_limit: OptionalFloat
    upper_limit: OptionalFloat
    carried_forward: Bool
    definition: Int = mapped_column(SmallInteger, server_default="1")
    worst_of: OptionalInt
    chosen_lower: OptionalFloat
    chosen_upper: OptionalFloat
    details: JsonValue


class FigureDayRow(Row):
    """Figures of one group on one day (UTC), joined from the measurements and written with them."""

    __tablename__ = "figure_days"
    __table_args__ = (
        Index("figure_days_series_idx", "deployment_no", "metric", "data", "day"),
        Index("figure_days_day_idx", "deployment_no", "day"),
    )

    no: RowNo
    deployment_no: Int
    day: Time
    metric: Text
    data: Text
    scope: Text
    attribute: OptionalText
    group: OptionalText
    definition: Int16
    last_at: Time
    figures: Int
    carried: Int
    unfair: Int
    suspected: Int
    unwatched: Int
    undecided: Int = mapped_column(server_default="0")
    fair: Int
    insufficient: Int
    absent: Int
    lowest: Mapped[list[float] | None] = mapped_column(ARRAY(Double))
    highest: Mapped[list[float] | None] = mapped_column(ARRAY(Double))
    lower: OptionalFloat
    upper: OptionalFloat
    n: Int64
    lower_limit: OptionalFloat
    upper_limit: OptionalFloat
    reason: OptionalText


class CheckDayRow(Row):
    """A day (UTC) with ended checks. Members from `failed` on, and rows in `table_days`, hold if `is_kept`.

    A trigger of `checks` takes `is_kept` back in every transaction that changes an ended check. The row is
    locked before a day is added up, so such a transaction is over, or takes the sums back.
    """

    __tablename__ = "check_days"
    __table_args__ = (Index("check_days_changed_idx", "changed_at", postgresql_where=text("NOT is_kept")),)

    deployment_no: DeploymentKey
    day: TimeKey
    is_kept: Bool = mapped_column(server_default=text("false"))
    changed_at: StoredAt
    failed: OptionalInt
    reason: OptionalText
    topped_up: OptionalInt
    logged: OptionalInt64
    changed_version_at: Mapped[list[datetime] | None] = mapped_column(ARRAY(DateTime(timezone=True)))
    revisions: Mapped[list[str | None] | None] = mapped_column(ARRAY(String))
    monitors: Mapped[list[int | None] | None] = mapped_column(ARRAY(Integer))


class TableDayRow(Row):
    """Sum of count tables of `hours` hours from `hour` on that were counted alike.

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

    no: RowNo
    deployment_no: Int
    day: Time
    data: Text
    attribute: Text
    favourable: JsonList
    unfavourable: JsonList
    hour: Time
    hours: Int
    cells: JsonObject


class WorkerRow(Row):
    __tablename__ = "workers"

    id: TextKey
    started_at: StoredAt
    beat_at: StoredAt


class ListenerRow(Row):
    __tablename__ = "listener"

    no: Int = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    exposed_on: OptionalText
    started_at: StoredAt
