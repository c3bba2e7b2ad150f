"""Open alerts that were not sent to a channel.

Sent: a notification was queued for it and not given up.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, exists, func, select
from sqlalchemy.orm import Session

from ...base.values import frozen
from ...database.tables import (
    AlertChannelRow,
    AlertRow,
    AlertRuleChannelRow,
    AlertRuleRow,
    DeploymentRow,
    NotificationRow,
)
from ...domain.alert import Alert
from ..queries import alerts_by_no
from .channel import Channel
from .notification import NotificationState

_OPEN = AlertRow.resolved_at.is_(None)
_NAMES = AlertRuleChannelRow.rule_no == AlertRow.rule_no
_SENT = exists().where(
    NotificationRow.alert_no == AlertRow.no,
    NotificationRow.channel_no == AlertRuleChannelRow.channel_no,
    NotificationRow.state != NotificationState.GIVEN_UP,
)


@frozen
class Unsent:
    channel_id: str
    rule_no: int
    alerts: int


@frozen
class RuleWithAlerts:
    deployment_id: str
    deployment_name: str
    rule_id: str
    rule_name: str
    alerts: int


def unsent(session: Session, *, deployment_no: int | None = None) -> list[Unsent]:
    statement = (
        select(AlertChannelRow.id, AlertRuleChannelRow.rule_no, func.count())
        .join(AlertRuleChannelRow, AlertRuleChannelRow.channel_no == AlertChannelRow.no)
        .join(AlertRow, _NAMES)
        .where(_OPEN, ~_SENT)
        .group_by(AlertChannelRow.id, AlertRuleChannelRow.rule_no)
        .order_by(AlertChannelRow.id, AlertRuleChannelRow.rule_no)
    )
    if deployment_no is not None:
        statement = statement.where(AlertRow.deployment_no == deployment_no)
    return [Unsent(*row) for row in session.execute(statement)]


def named_channels(session: Session, deployment_no: int | None = None) -> set[str]:
    """Channels that rules name, those of one deployment that are enabled or all."""
    named = select(AlertChannelRow.id).join(
        AlertRuleChannelRow, AlertRuleChannelRow.channel_no == AlertChannelRow.no
    )
    if deployment_no is not None:
        of_deployment = (AlertRuleRow.deployment_no == deployment_no, AlertRuleRow.enabled)
        named = named.join(AlertRuleRow, AlertRuleRow.no == AlertRuleChannelRow.rule_no).where(*of_deployment)
    return set(session.scalars(named.distinct()))


def rules_with_open_alerts(session: Session) -> list[RuleWithAlerts]:
    statement = (
        select(
            DeploymentRow.id,
            DeploymentRow.name,
            AlertRuleRow.id,
            AlertRuleRow.config["name"].as_string(),
            func.count(),
        )
        .join(AlertRuleRow, AlertRuleRow.deployment_no == DeploymentRow.no)
        .join(AlertRow, AlertRow.rule_no == AlertRuleRow.no)
        .where(_OPEN)
        .group_by(DeploymentRow.no, AlertRuleRow.no)
        .order_by(DeploymentRow.id, AlertRuleRow.id)
    )
    return [RuleWithAlerts(*row) for row in session.execute(statement)]


def concerned_deployments(session: Session, channel: Channel, rule_no: int | None) -> list[int]:
    """Returns deployments with open alerts of rules (or that rule) that name the channel, in order."""
    statement = (
        select(AlertRow.deployment_no).join(AlertRuleChannelRow, _NAMES).where(*_open_for(channel, rule_no))
    )
    return list(session.scalars(statement.distinct().order_by(AlertRow.deployment_no)))


def count_open(session: Session, channel: Channel, rule_no: int | None) -> int:
    statement = (
        select(func.count())
        .select_from(AlertRow)
        .join(AlertRuleChannelRow, _NAMES)
        .where(*_open_for(channel, rule_no))
    )
    return session.scalars(statement).one()


def lock_open_alerts(
    session: Session, channel: Channel, rule_no: int | None, *, with_sent: bool
) -> Sequence[Alert]:
    """Locks open alerts of rules that name the channel, oldest first; `with_sent`: all."""
    not_sent = () if with_sent else (~_SENT,)
    statement = (
        select(AlertRow.no)
        .join(AlertRuleChannelRow, _NAMES)
        .where(*_open_for(channel, rule_no), *not_sent)
        .order_by(AlertRow.no)
    )
    nos = session.scalars(statement.with_for_update(key_share=True, of=AlertRow)).all()
    return alerts_by_no(session, nos)


def _open_for(channel: Channel, rule_no: int | None) -> Sequence[ColumnElement[bool]]:
    of_rule = () if rule_no is None else (AlertRow.rule_no == rule_no,)
    return (_OPEN, AlertRuleChannelRow.channel_no == channel.no, *of_rule)
