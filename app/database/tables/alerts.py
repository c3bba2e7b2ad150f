"""Alert rules, alerts and their figures, channels, notifications."""

from sqlalchemy import ARRAY, BigInteger, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import (
    AlertNo,
    Bool,
    ChannelKey,
    DeploymentNo,
    Int,
    JsonObject,
    MadeId,
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
    """`subject` is a digest of kind, attribute and group: names may be longer than an index takes.

    The unique index opens an alert once. `change` says why its figures changed.
    """

    __tablename__ = "alerts"
    __table_args__ = (
        Index(
            "alerts_one_open_idx",
            "deployment_no",
            "subject",
            unique=True,
            postgresql_where=text("resolved_at IS NULL"),
        ),
        Index("alerts_deployment_no_no_idx", "deployment_no", "no"),
    )

    no: RowNo
    id: MadeId
    deployment_no: DeploymentNo
    kind: Text
    attribute: OptionalText
    group: OptionalText
    subject: Text
    opened_at: Time
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


class AlertFigureRow(Row):
    """`subject` is a digest of its parts. It outlives its rule, whose id and name it keeps."""

    __tablename__ = "alert_figures"
    __table_args__ = (
        UniqueConstraint("alert_no", "rule_no", "subject"),
        Index("alert_figures_open_idx", "rule_no", postgresql_where=text("ended_at IS NULL")),
    )

    no: RowNo
    alert_no: AlertNo
    rule_no: OptionalInt = refers_to("alert_rules.no", ondelete="SET NULL")
    rule_id: Text
    rule_name: Text
    kind: Text
    subject: Text
    data: OptionalText
    metric: OptionalText
    attribute: OptionalText
    group: OptionalText
    facts: JsonObject
    opened_at: Time
    opened_check_no: OptionalInt64
    last_seen_at: Time
    last_check_no: OptionalInt64
    ended_at: OptionalTime
    resolution: OptionalText


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
    """Written in the transaction that causes it.

    `id` is the idempotency key. `alert_nos` are of one deployment; a test and a report have neither.
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
        Index("notifications_deployment_no_idx", "deployment_no"),
    )

    channel_no: Int = refers_to("alert_channels.no")
    deployment_no: Mapped[int | None] = refers_to("deployments.no")
    alert_nos: Mapped[list[int]] = mapped_column(ARRAY(BigInteger), server_default=text("'{}'"))
    event: Text
    body: JsonObject
    last_error: OptionalText
    created_at: StoredAt
    sent_at: OptionalTime
