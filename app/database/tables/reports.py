"""Kept reports: schedules, reports, files."""

from sqlalchemy import BigInteger, Index, UniqueConstraint, text

from .base import (
    Bool,
    Bytes,
    ChannelKey,
    DeploymentNo,
    Int,
    JsonObject,
    OptionalInt,
    OptionalText,
    OptionalTime,
    QueuedRow,
    Row,
    ShortRowNo,
    StoredAt,
    Text,
    TextKey,
    Time,
    refers_to,
)


class ReportScheduleRow(Row):
    """Periods that ended before `since`, when it was last switched on, get no report."""

    __tablename__ = "report_schedules"
    __table_args__ = (UniqueConstraint("deployment_no", "id"),)

    no: ShortRowNo
    id: Text
    deployment_no: DeploymentNo
    version: Int
    name: Text
    rhythm: Text
    wanted: JsonObject
    enabled: Bool
    since: Time
    created_at: StoredAt
    updated_at: StoredAt


class ReportScheduleChannelRow(Row):
    __tablename__ = "report_schedule_channels"

    schedule_no: Int = refers_to("report_schedules.no", primary_key=True)
    channel_no: ChannelKey


class KeptReportRow(QueuedRow):
    """A trigger refuses every change of a ready one, but for the end of its schedule. The unique index makes
    the report of a period once.
    """

    __tablename__ = "kept_reports"
    __table_args__ = (
        Index(
            "kept_reports_one_per_period_idx",
            "schedule_no",
            "span_end",
            unique=True,
            postgresql_where=text("schedule_no IS NOT NULL"),
        ),
        Index("kept_reports_deployment_no_no_idx", "deployment_no", "no"),
        Index(
            "kept_reports_claimable_idx", "claimable_at", postgresql_where=text("claimable_at IS NOT NULL")
        ),
    )

    deployment_no: DeploymentNo
    schedule_no: OptionalInt = refers_to("report_schedules.no", ondelete="SET NULL")
    schedule_id: OptionalText
    span_start: Time
    span_end: Time
    wanted: JsonObject
    reason: OptionalText
    seal: OptionalText
    chain_head: OptionalText
    created_by: Text
    created_at: StoredAt
    finished_at: OptionalTime


class KeptReportFileRow(Row):
    """A trigger refuses every change."""

    __tablename__ = "kept_report_files"

    report_no: Int = refers_to("kept_reports.no", BigInteger, primary_key=True)
    form: TextKey
    content: Bytes
