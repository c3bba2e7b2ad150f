"""Alert rules, alerts, channels, notifications."""

from sqlalchemy import Index, UniqueConstraint, text

from .base import (
    AlertNo,
    Bool,
    ChannelKey,
    DeploymentNo,
    Int,
    JsonObject,
    MadeId,
    OptionalAlertNo,
    OptionalBytes,
    OptionalInt,
    OptionalInt64,
    OptionalObject,
    OptionalText,
    OptionalTime,
    QueuedRow,
    Row,
    RowNo,
    ShortRowNo,
    StoredAt,
    Text,
    Time,
    UniqueText,
    refers_to,
)


class AlertChannelRow(Row):
    """A destination of notifications. `secret` is encrypted."""

    __tablename__ = "alert_channels"

    no: ShortRowNo
    id: UniqueText
    name: Text
    kind: Text
    config: JsonObject
    secret: OptionalBytes
    created_at: StoredAt
    updated_at: StoredAt


class AlertRuleRow(Row):
    __tablename__ = "alert_rules"
    __table_args__ = (UniqueConstraint("deployment_no", "id"),)

    no: ShortRowNo
    id: Text
    deployment_no: DeploymentNo
    version: Int
    kind: Text
    config: JsonObject
    enabled: Bool
    created_at: StoredAt
    updated_at: StoredAt


class AlertRuleChannelRow(Row):
    __tablename__ = "alert_rule_channels"

    rule_no: Int = refers_to("alert_rules.no", primary_key=True)
    channel_no: ChannelKey


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

    no: RowNo
    id: MadeId
    deployment_no: DeploymentNo
    rule_no: OptionalInt = refers_to("alert_rules.no", ondelete="SET NULL")
    rule_id: Text
    rule_name: Text
    subject: Text
    kind: Text
    attribute: OptionalText
    group: OptionalText
    metric: OptionalText
    data: OptionalText
    facts: JsonObject
    opened_at: Time
    opened_check_no: OptionalInt64
    last_seen_at: Time
    last_check_no: OptionalInt64
    reminded_at: OptionalTime
    acknowledged_at: OptionalTime
    acknowledged_by: OptionalText
    note: OptionalText
    resolved_at: OptionalTime
    resolution: OptionalText
    change: OptionalObject
    closed_by: OptionalText
    closing_note: OptionalText
    closing_reason: OptionalText
    assignee: OptionalText
    assigned_at: OptionalTime


class AlertCommentRow(Row):
    """A comment. `id` comes from the caller, so that repetition adds nothing."""

    __tablename__ = "alert_comments"
    __table_args__ = (UniqueConstraint("alert_no", "id"),)

    no: RowNo
    alert_no: AlertNo
    id: Text
    author: Text
    text: Text
    created_at: StoredAt


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

    channel_no: Int = refers_to("alert_channels.no")
    alert_no: OptionalAlertNo
    event: Text
    body: JsonObject
    last_error: OptionalText
    created_at: StoredAt
    sent_at: OptionalTime
