"""Alert rules, alerts, channels, notifications."""

from datetime import datetime

from sqlalchemy import Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped

from .base import (
    AlertNo,
    ChannelKey,
    DeploymentNo,
    Int64,
    JsonObject,
    MadeId,
    QueuedRow,
    Row,
    RowNo,
    ShortRowNo,
    StoredAt,
    UniqueText,
    refers_to,
)


class AlertChannelRow(Row):
    """A destination of notifications. `secret` is encrypted."""

    __tablename__ = "alert_channels"

    no: Mapped[ShortRowNo]
    id: Mapped[UniqueText]
    name: Mapped[str]
    kind: Mapped[str]
    config: Mapped[JsonObject]
    secret: Mapped[bytes | None]
    created_at: Mapped[StoredAt]
    updated_at: Mapped[StoredAt]


class AlertRuleRow(Row):
    __tablename__ = "alert_rules"
    __table_args__ = (UniqueConstraint("deployment_no", "id", name="alert_rules_deployment_no_id_key"),)

    no: Mapped[ShortRowNo]
    id: Mapped[str]
    deployment_no: Mapped[DeploymentNo]
    version: Mapped[int]
    kind: Mapped[str]
    config: Mapped[JsonObject]
    enabled: Mapped[bool]
    created_at: Mapped[StoredAt]
    updated_at: Mapped[StoredAt]


class AlertRuleChannelRow(Row):
    __tablename__ = "alert_rule_channels"

    rule_no: Mapped[int] = refers_to("alert_rules.no", primary_key=True)
    channel_no: Mapped[ChannelKey]


class AlertRow(Row):
    """One alert. `subject` is a digest: names may be longer than an index takes.

    The unique index opens an alert once. It outlives its rule, whose id and name it keeps. `change` says
    why its figure changed.
    """

    __tablename__ = "alerts"
    __table_args__ = (
        Index(
            "alerts_one_open_idx",
            "rule_no",
            "subject",
            unique=True,
            postgresql_where=text("resolved_at IS NULL"),
        ),
        Index("alerts_deployment_no_no_idx", "deployment_no", "no"),
        Index("alerts_open_idx", "deployment_no", postgresql_where=text("resolved_at IS NULL")),
    )

    no: Mapped[RowNo]
    id: Mapped[MadeId]
    deployment_no: Mapped[DeploymentNo]
    rule_no: Mapped[int | None] = refers_to("alert_rules.no", ondelete="SET NULL")
    rule_id: Mapped[str]
    rule_name: Mapped[str]
    subject: Mapped[str]
    kind: Mapped[str]
    attribute: Mapped[str | None]
    group: Mapped[str | None]
    metric: Mapped[str | None]
    data: Mapped[str | None]
    facts: Mapped[JsonObject]
    opened_at: Mapped[datetime]
    opened_check_no: Mapped[Int64 | None]
    last_seen_at: Mapped[datetime]
    last_check_no: Mapped[Int64 | None]
    reminded_at: Mapped[datetime | None]
    acknowledged_at: Mapped[datetime | None]
    acknowledged_by: Mapped[str | None]
    note: Mapped[str | None]
    resolved_at: Mapped[datetime | None]
    resolution: Mapped[str | None]
    change: Mapped[JsonObject | None]
    closed_by: Mapped[str | None]
    closing_note: Mapped[str | None]
    closing_reason: Mapped[str | None]
    assignee: Mapped[str | None]
    assigned_at: Mapped[datetime | None]


class AlertCommentRow(Row):
    """A comment. `id` comes from the caller, so that repetition adds nothing."""

    __tablename__ = "alert_comments"
    __table_args__ = (UniqueConstraint("alert_no", "id", name="alert_comments_alert_no_id_key"),)

    no: Mapped[RowNo]
    alert_no: Mapped[AlertNo]
    id: Mapped[str]
    author: Mapped[str]
    text: Mapped[str]
    created_at: Mapped[StoredAt]


class NotificationRow(QueuedRow):
    """One message to one channel, written in the transaction that causes it.

    `id` is the idempotency key. `alert_no` is NULL for a test.
    """

    __tablename__ = "notifications"
    __table_args__ = (
        Index(
            "notifications_waiting_idx",
            "channel_no",
            "state",
            "no",
            postgresql_where=text("claimable_at IS NOT NULL"),
        ),
        Index("notifications_leased_idx", "channel_no", postgresql_where=text("lease_token IS NOT NULL")),
        Index("notifications_channel_no_no_idx", "channel_no", "no"),
        Index("notifications_alert_no_idx", "alert_no"),
    )

    channel_no: Mapped[int] = refers_to("alert_channels.no")
    alert_no: Mapped[AlertNo | None]
    event: Mapped[str]
    body: Mapped[JsonObject]
    last_error: Mapped[str | None]
    created_at: Mapped[StoredAt]
    sent_at: Mapped[datetime | None]
