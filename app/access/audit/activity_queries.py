"""Log of changes and log-ins, written with the change, kept permanently. Callers leave secrets out."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from ...base.values import frozen_by_name
from ...database.binary_rows import equal, page_newest
from ...database.tables import ActivityRow
from ...domain.deployment import Deployment
from ...domain.paging import Paging
from .event_queries import insert_event

ENDPOINT_ANSWERED = "endpoint.answered"


@frozen_by_name
class ActivityFilter:
    """None filters nothing. `deployment_id` is of every deployment that ever had that id."""

    deployment_no: int | None = None
    deployment_id: str | None = None
    actor: str | None = None
    action: str | None = None
    without_action: str | None = None


def record_activity(
    session: Session,
    actor: str,
    action: str,
    deployment: Deployment | None = None,
    *,
    subject: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    facts = dict(details or {})
    deployment_id = None if deployment is None else deployment.id
    values = {
        "actor": actor,
        "action": action,
        "deployment_no": None if deployment is None else deployment.no,
        "deployment_id": deployment_id,
        "subject": subject,
        "details": facts,
    }
    session.execute(insert(ActivityRow).values(values))
    # Values, which may be about people, stay out of the audit; of log-ins it has a method and counts.
    event_details: dict[str, Any] = {}
    if action.startswith("session."):
        event_details = {name: fact for name, fact in facts.items() if name != "address"}
    insert_event(
        session,
        actor=actor,
        action=action,
        deployment_id=deployment_id,
        subject=subject,
        details=event_details or {"fields": list(facts)},
        address=str(facts.get("address", "")),
    )


def page_activities(session: Session, filters: ActivityFilter, paging: Paging) -> Sequence[ActivityRow]:
    columns = {
        ActivityRow.deployment_no: filters.deployment_no,
        ActivityRow.deployment_id: filters.deployment_id,
        ActivityRow.actor: filters.actor,
        ActivityRow.action: filters.action,
    }
    statement = select(ActivityRow).where(*equal(columns))
    if filters.without_action is not None:
        statement = statement.where(ActivityRow.action != filters.without_action)
    return session.scalars(page_newest(statement, ActivityRow.no, paging)).all()


MAX_CHANGES = 50

MAX_VALUE_CHARACTERS = 200

MORE_CHANGES = "more_changes"

_NAME_MEMBERS = ("name", "feature", "attribute")
"""Members that identify the items of a list, so that moved items do not count as changed."""


def changes_between(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> dict[str, Any]:
    """Lists the fields that differ in two JSON documents: `{"endpoint.url": [before, after]}`; None is
    absent.

    Members, and items with a name, are joined by dots. `more_changes` counts those beyond `MAX_CHANGES`.
    """
    old = dict(_flatten("", before or {}))
    new = dict(_flatten("", after or {}))
    # Compared as JSON, too: to Python 1 and true are equal.
    differing = [
        field
        for field in dict.fromkeys((*old, *new))
        if old.get(field) != new.get(field) or json.dumps(old.get(field)) != json.dumps(new.get(field))
    ]
    changes: dict[str, Any] = {
        _shorten(field): [_shorten(old.get(field)), _shorten(new.get(field))]
        for field in differing[:MAX_CHANGES]
    }
    if len(differing) > MAX_CHANGES:
        changes[MORE_CHANGES] = len(differing) - MAX_CHANGES
    return changes


def _flatten(path: str, value: object) -> Iterator[tuple[str, Any]]:
    members = value if isinstance(value, Mapping) else None
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        key = next(
            (key for key in _NAME_MEMBERS if all(isinstance(item.get(key), str) for item in value)), None
        )
        members_by_name = {}
        if key is not None:
            for item in value:
                members_by_name[item[key]] = {name: inner for name, inner in item.items() if name != key}
        if len(members_by_name) == len(value):
            yield path, list(members_by_name)
            members = members_by_name
    if members is None:
        yield path, value
        return
    for name, member in members.items():
        yield from _flatten(f"{path}.{name}" if path else str(name), member)


def _shorten(value: Any) -> Any:  # noqa: ANN401 - any value of JSON
    if isinstance(value, str):
        return value if len(value) <= MAX_VALUE_CHARACTERS else value[:MAX_VALUE_CHARACTERS] + "…"
    # In ASCII one character would count as six.
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= MAX_VALUE_CHARACTERS else text[:MAX_VALUE_CHARACTERS] + "…"
