"""Log of changes and log-ins, written in the transaction of the change."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from ...base.frozen import frozen_by_name
from ...database.binary_rows import read_row
from ...database.paging import equal, page_newest
from ...database.tables import ActivityRow
from ...domain.deployment import Deployment
from ...domain.paging import Paging
from .event_queries import insert_event

ENDPOINT_ANSWERED = "endpoint.answered"
"""Action of a test that a stored endpoint passed."""


@frozen_by_name
class Activity:
    """One change. `actor` is a key's id, `user:` and a name, `schedule` or `unknown`; `details` never
    holds a secret.
    """

    no: int
    at: datetime
    actor: str
    action: str
    deployment_id: str | None
    subject: str | None
    details: dict[str, Any]


@frozen_by_name
class ActivityFilter:
    """Filter of changes; an absent member lets all through.

    `deployment_no` is of one deployment, `deployment_id` of every one that ever had that id.
    """

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
        "deployment_no": deployment and deployment.no,
        "deployment_id": deployment_id,
        "subject": subject,
        "details": facts,
    }
    session.execute(insert(ActivityRow).values(values))
    # Values, which may be about people, stay out of the audit; of log-ins it has a method and counts.
    of_log_in = (
        {name: fact for name, fact in facts.items() if name != "address"}
        if action.startswith("session.")
        else {}
    )
    insert_event(
        session,
        actor=actor,
        action=action,
        deployment_id=deployment_id,
        subject=subject,
        details=of_log_in or {"fields": list(facts)},
        address=str(facts.get("address", "")),
    )


def page(session: Session, filters: ActivityFilter, paging: Paging) -> list[Activity]:
    columns = {
        ActivityRow.deployment_no: filters.deployment_no,
        ActivityRow.deployment_id: filters.deployment_id,
        ActivityRow.actor: filters.actor,
        ActivityRow.action: filters.action,
    }
    statement = select(ActivityRow).where(*equal(columns))
    if filters.without_action is not None:
        statement = statement.where(ActivityRow.action != filters.without_action)
    return [
        read_row(Activity, row) for row in session.scalars(page_newest(statement, ActivityRow.no, paging))
    ]
