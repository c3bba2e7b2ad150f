"""Alert rules, and the channels they notify."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
from sqlalchemy import Select, delete, func, insert, select, text, update
from sqlalchemy.orm import Session

from ...base.errors import Conflict, require_present
from ...database.binary_rows import page_oldest, read_row
from ...database.tables import AlertChannelRow, AlertRuleChannelRow, AlertRuleRow
from ...deployments.queries import rule_values
from ...domain.alert import CONDITIONS, Rule, RuleContent, RuleKind
from ...domain.paging import Paging
from ..channels.queries import lock_channels
from .rules import MAX_RULES

_LOCK = 0x616C7274
"""First key of the advisory locks on the alerts of a deployment."""


def lock_alerts(session: Session, deployment_no: int) -> None:
    session.execute(text("SELECT pg_advisory_xact_lock(:lock, :no)"), {"lock": _LOCK, "no": deployment_no})


def try_lock_alerts(session: Session, deployment_no: int) -> bool:
    return bool(
        session.scalar(
            text("SELECT pg_try_advisory_xact_lock(:lock, :no)"), {"lock": _LOCK, "no": deployment_no}
        )
    )


def rule_nos(session: Session, deployment_no: int, kinds: Sequence[RuleKind]) -> list[int]:
    conditions = (
        AlertRuleRow.deployment_no == deployment_no,
        AlertRuleRow.kind.in_(kinds),
        AlertRuleRow.enabled,
    )
    return list(session.scalars(select(AlertRuleRow.no).where(*conditions).order_by(AlertRuleRow.no)))


def rule_by_no(session: Session, no: int) -> Rule:
    return _rule(session.execute(_SELECT.where(AlertRuleRow.no == no)).one())


def rules_page(session: Session, deployment_no: int, paging: Paging) -> list[Rule]:
    statement = _SELECT.where(AlertRuleRow.deployment_no == deployment_no)
    return [_rule(row) for row in session.execute(page_oldest(statement, AlertRuleRow.no, paging))]


def find_rule(session: Session, deployment_no: int, rule_id: str) -> Rule | None:
    row = session.execute(
        _SELECT.where(AlertRuleRow.deployment_no == deployment_no, AlertRuleRow.id == rule_id)
    ).one_or_none()
    return None if row is None else _rule(row)


def get_rule(session: Session, deployment_no: int, rule_id: str) -> Rule:
    """Raises NotFound."""
    return require_present(find_rule(session, deployment_no, rule_id), "alert rule", rule_id)


def unknown_channels(session: Session, channels: Sequence[str]) -> list[str]:
    stored = set(session.scalars(select(AlertChannelRow.id).where(AlertChannelRow.id.in_(channels))))
    return [channel for channel in channels if channel not in stored]


def put_rule(session: Session, deployment_no: int, rule_id: str, content: RuleContent) -> Rule:
    """The version grows only if the content differs. The channels must exist."""
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
            deployment_no=deployment_no, id=rule_id, version=1, **rule_values(content)
        )
        no = session.scalars(insertion.returning(AlertRuleRow.no)).one()
    else:
        no = before.no
        changed = {"version": before.version + 1, "updated_at": func.now(), **rule_values(content)}
        session.execute(update(AlertRuleRow).where(AlertRuleRow.no == no).values(changed))

    channel_nos = lock_channels(session, content.channels)
    session.execute(delete(AlertRuleChannelRow).where(AlertRuleChannelRow.rule_no == no))
    if channel_nos:
        session.execute(
            insert(AlertRuleChannelRow),
            [{"rule_no": no, "channel_no": channel_no} for channel_no in channel_nos],
        )
    return rule_by_no(session, no)


def delete_rule(session: Session, rule: Rule) -> None:
    session.execute(delete(AlertRuleRow).where(AlertRuleRow.no == rule.no))


_CHANNELS = (
    select(func.coalesce(func.array_agg(AlertChannelRow.id), text("'{}'")))
    .join(AlertRuleChannelRow, AlertRuleChannelRow.channel_no == AlertChannelRow.no)
    .where(AlertRuleChannelRow.rule_no == AlertRuleRow.no)
    .correlate(AlertRuleRow)
    .scalar_subquery()
)
_SELECT: Select[AlertRuleRow, Any] = select(AlertRuleRow, _CHANNELS)


def _rule(result: Any) -> Rule:  # noqa: ANN401 - a result row of `_SELECT`
    row, channels = result
    config = row.config
    return read_row(
        Rule,
        row,
        content=RuleContent(
            name=config["name"],
            condition=msgspec.convert(config["condition"], CONDITIONS[RuleKind(row.kind)]),
            remind_after_hours=config["remind_after_hours"],
            channels=tuple(sorted(set(channels))),
            enabled=row.enabled,
        ),
    )
