"""Stored alert rules, and the locks on the alerts of a deployment."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
from sqlalchemy import Select, delete, func, insert, select, text, update
from sqlalchemy.orm import Session

from ...base.errors import Conflict, require_present
from ...database.binary_rows import page_oldest, read_row
from ...database.tables import AlertChannelRow, AlertRuleChannelRow, AlertRuleRow
from ...deployments.queries import list_rule_columns
from ...domain.alert import CONDITIONS, Rule, RuleContent, RuleKind
from ...domain.paging import Paging
from ..channels.channel import lock_named_channels

MAX_RULES = 100
"""Of a deployment."""

_ALERTS_LOCK = 0x616C7274
"""First key of the advisory locks on the alerts of a deployment; the second is the deployment."""


def lock_alerts(session: Session, deployment_no: int) -> None:
    """Locks the alerts of a deployment until the transaction ends."""
    session.execute(
        text("SELECT pg_advisory_xact_lock(:lock, :no)"), {"lock": _ALERTS_LOCK, "no": deployment_no}
    )


def try_lock_alerts(session: Session, deployment_no: int) -> bool:
    """True unless another transaction holds them."""
    return bool(
        session.scalar(
            text("SELECT pg_try_advisory_xact_lock(:lock, :no)"), {"lock": _ALERTS_LOCK, "no": deployment_no}
        )
    )


def list_rule_nos(session: Session, deployment_no: int, kinds: Sequence[RuleKind]) -> list[int]:
    conditions = (
        AlertRuleRow.deployment_no == deployment_no,
        AlertRuleRow.kind.in_(kinds),
        AlertRuleRow.enabled,
    )
    return list(session.scalars(select(AlertRuleRow.no).where(*conditions).order_by(AlertRuleRow.no)))


def read_rule_by_no(session: Session, no: int) -> Rule:
    return _to_rule(session.execute(_SELECT.where(AlertRuleRow.no == no)).one())


def page_rules(session: Session, deployment_no: int, paging: Paging) -> list[Rule]:
    statement = _SELECT.where(AlertRuleRow.deployment_no == deployment_no)
    return [_to_rule(row) for row in session.execute(page_oldest(statement, AlertRuleRow.no, paging))]


def find_rule(session: Session, deployment_no: int, rule_id: str) -> Rule | None:
    row = session.execute(
        _SELECT.where(AlertRuleRow.deployment_no == deployment_no, AlertRuleRow.id == rule_id)
    ).one_or_none()
    return None if row is None else _to_rule(row)


def get_rule(session: Session, deployment_no: int, rule_id: str) -> Rule:
    """Raises NotFound."""
    return require_present(find_rule(session, deployment_no, rule_id), "alert rule", rule_id)


def put_rule(session: Session, deployment_no: int, rule_id: str, content: RuleContent) -> Rule:
    """Its version grows only if the content differs. Raises Conflict if a channel was deleted, or there are
    too many rules.
    """
    # Another order is no change.
    content = replace(content, channels=tuple(sorted(content.channels)))
    before = find_rule(session, deployment_no, rule_id)
    if before is not None and before.content == content:
        return before
    if before is None:
        stored = session.scalar(
            select(func.count()).select_from(AlertRuleRow).where(AlertRuleRow.deployment_no == deployment_no)
        )
        if stored is not None and stored >= MAX_RULES:
            raise Conflict(
                f"The deployment has {stored} alert rules, which is the maximum. Delete one, or change one "
                "of them."
            )
        insertion = insert(AlertRuleRow).values(
            deployment_no=deployment_no, id=rule_id, version=1, **list_rule_columns(content)
        )
        no = session.scalars(insertion.returning(AlertRuleRow.no)).one()
    else:
        no = before.no
        changed = {"version": before.version + 1, "updated_at": func.now(), **list_rule_columns(content)}
        session.execute(update(AlertRuleRow).where(AlertRuleRow.no == no).values(changed))

    channel_nos = lock_named_channels(session, content.channels)
    session.execute(delete(AlertRuleChannelRow).where(AlertRuleChannelRow.rule_no == no))
    if channel_nos:
        session.execute(
            insert(AlertRuleChannelRow),
            [{"rule_no": no, "channel_no": channel_no} for channel_no in channel_nos],
        )
    return read_rule_by_no(session, no)


def delete_rule(session: Session, rule: Rule) -> None:
    session.execute(delete(AlertRuleRow).where(AlertRuleRow.no == rule.no))


_CHANNEL_IDS = (
    select(func.coalesce(func.array_agg(AlertChannelRow.id), text("'{}'")))
    .join(AlertRuleChannelRow, AlertRuleChannelRow.channel_no == AlertChannelRow.no)
    .where(AlertRuleChannelRow.rule_no == AlertRuleRow.no)
    .correlate(AlertRuleRow)
    .scalar_subquery()
)
_SELECT: Select[AlertRuleRow, Any] = select(AlertRuleRow, _CHANNEL_IDS)


def _to_rule(result: Any) -> Rule:  # noqa: ANN401 - a result row of `_SELECT`
    row, channel_ids = result
    config = row.config
    return read_row(
        Rule,
        row,
        content=RuleContent(
            name=config["name"],
            condition=msgspec.convert(config["condition"], CONDITIONS[RuleKind(row.kind)]),
            remind_after_hours=config["remind_after_hours"],
            channels=tuple(sorted(set(channel_ids))),
            enabled=row.enabled,
        ),
    )
