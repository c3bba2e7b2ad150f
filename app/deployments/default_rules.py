"""Alert rules that every deployment begins with."""

from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from ..database.tables import AlertRuleRow
from ..domain.alert import DEFAULT_RULES, RuleContent


def add_default_rules(session: Session, deployment_no: int) -> None:
    for rule_id, content in DEFAULT_RULES.items():
        session.execute(
            insert(AlertRuleRow).values(
                deployment_no=deployment_no, id=rule_id, version=1, **rule_values(content)
            )
        )


def rule_values(content: RuleContent) -> dict[str, Any]:
    config = {name: getattr(content, name) for name in ("name", "remind_after_hours", "condition")}
    return {"kind": content.kind, "config": config, "enabled": content.enabled}
