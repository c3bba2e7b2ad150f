"""Kept reports: schedules, reports, files."""

from datetime import datetime

from sqlalchemy import BigInteger, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped

from .base import (
    ChannelKey,
    DeploymentNo,
    JsonObject,
    QueuedRow,
    Row,
    ShortRowNo,
    StoredAt,
    TextKey,
    refers_to,
)


class ReportScheduleRow(Row):
    """One schedule. Periods that ended before `since`, when it was last switched on, get no report."""

    __tablename__ = "report_schedules"
    __table_args__ = (UniqueConstraint("deployment_no", "id", name="report_schedules_deployment_no_id_key"),)

    no: Mapped[ShortRowNo]
    id: Mapped[str]
    deployment_no: Mapped[DeploymentNo]
    version: Mapped[int]
    name: Mapped[str]
    rhythm: Mapped[str]
    wanted: Mapped[JsonObject]
    enabled: Mapped[bool]
    since: Mapped[datetime]
    created_at: Mapped[StoredAt]
    updated_at: Mapped[StoredAt]


class ReportScheduleChannelRow(Row):
    __tablename__ = "report_schedule_channels"

    schedule_no: Mapped[int] = refers_to("report_schedules.no", primary_key=True)
    channel_no: Mapped[ChannelKey]


class KeptReportRow(QueuedRow):
    """One report. A trigger refuses every change of a ready one, but for the end of its schedule.

    The unique index makes the report of a period once.
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

    deployment_no: Mapped[DeploymentNo]
    schedule_no: Mapped[int | None] = refers_to("report_schedules.no", ondelete="SET NULL")
    schedule_id: Mapped[str | None]
    span_start: Mapped[datetime]
    span_end: Mapped[datetime]
    wanted: Mapped[JsonObject]
    reason: Mapped[str | None]
    seal: Mapped[str | None]
    chain_head: Mapped[str | None]
    created_by: Mapped[str]
    created_at: Mapped[StoredAt]
    finished_at: Mapped[datetime | None]


class KeptReportFileRow(Row):
    """One form of a kept report. A trigger refuses every change."""

    __tablename__ = "kept_report_files"

    report_no: Mapped[int] = refers_to("kept_reports.no", BigInteger, primary_key=True)
    form: Mapped[TextKey]
    content: Mapped[bytes]
