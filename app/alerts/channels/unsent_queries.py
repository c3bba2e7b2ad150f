"""Open alerts that were not sent to a channel.

Sent: a notification was queued for it and not given up.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, any_, exists, func, select
from sqlalchemy.orm import Session

from ...base.values import frozen
from ...database.tables import (
    AlertChannelRow,
    AlertFigureRow,
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
_OF_RULE = (AlertFigureRow.alert_no == AlertRow.no) & AlertFigureRow.ended_at.is_(None)
_NAMES = AlertRuleChannelRow.rule_no == AlertFigureRow.rule_no
_SENT = exists().where(
    NotificationRow.deployment_no == AlertRow.deployment_no,
    AlertRow.no == any_(NotificationRow.alert_nos),
    NotificationRow.channel_no == AlertRuleChannelRow.channel_no,
    NotificationRow.state != NotificationState.GIVEN_UP,
)
_COUNT = func.count(AlertRow.no.distinct())


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
        select(AlertChannelRow.id, AlertRuleChannelRow.rule_no, _COUNT)
        .join(AlertRuleChannelRow, AlertRuleChannelRow.channel_no == AlertChannelRow.no)
        .join(AlertFigureRow, _NAMES)
        .join(AlertRow, _OF_RULE)
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
            _COUNT,
        )
        .join(AlertRuleRow, AlertRuleRow.deployment_no == DeploymentRow.no)
        .join(AlertFigureRow, AlertFigureRow.rule_no == AlertRuleRow.no)
        .join(AlertRow, _OF_RULE)
        .where(_OPEN)
        .group_by(DeploymentRow.no, AlertRuleRow.no)
        .order_by(DeploymentRow.id, AlertRuleRow.id)
    )
    return [RuleWithAlerts(*row) for row in session.execute(statement)]


def concerned_deployments(session: Session, channel: Channel, rule_no: int | None) -> list[int]:
    """Returns deployments with open alerts of rules (or that rule) that name the channel, in order."""
    statement = _join_channels(select(AlertRow.deployment_no)).where(*_open_for(channel, rule_no))
    return list(session.scalars(statement.distinct().order_by(AlertRow.deployment_no)))


def count_open(session: Session, channel: Channel, rule_no: int | None) -> int:
    counted = _join_channels(select(_COUNT)).where(*_open_for(channel, rule_no))
    return session.scalar(counted) or 0


def lock_open_alerts(
    session: Session, channel: Channel, rule_no: int | None, *, with_sent: bool
) -> Sequence[Alert]:
    """Locks open alerts of rules that name the channel, oldest first; `with_sent`: all."""
    not_sent = () if with_sent else (~_SENT,)
    nos = _join_channels(select(AlertRow.no)).where(*_open_for(channel, rule_no), *not_sent)
    statement = select(AlertRow.no).where(AlertRow.no.in_(nos)).order_by(AlertRow.no)
    return alerts_by_no(session, session.scalars(statement.with_for_update(key_share=True)).all())


def _join_channels(statement: Select[Any]) -> Select[Any]:
    return statement.select_from(AlertRow).join(AlertFigureRow, _OF_RULE).join(AlertRuleChannelRow, _NAMES)


def _open_for(channel: Channel, rule_no: int | None) -> Sequence[ColumnElement[bool]]:
    of_rule = () if rule_no is None else (AlertFigureRow.rule_no == rule_no,)
    return (_OPEN, AlertRuleChannelRow.channel_no == channel.no, *of_rule)
