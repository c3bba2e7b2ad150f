"""The one table of this face: service providers, and what a subscription knows that its deployment does not."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

PROVIDER, SUBSCRIPTION = "provider", "subscription"

Entity = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One row. `secrets` are sealed."""

    id: str
    entity: Mapping[str, Any] = field(default_factory=dict)
    secrets: bytes | None = None
    created_at: datetime
    created_by: str
    modified_at: datetime


_COLUMNS = "id, entity, secrets, created_at, created_by, modified_at"


def list_facts(session: Session, kind: str, ids: Iterable[str] | None = None) -> dict[str, Fact]:
    """Returns the facts of that kind by id, oldest first; those of these ids, if ids are given."""
    query = f"SELECT {_COLUMNS} FROM openscale_facts WHERE kind = :kind AND (:all OR id = ANY(:ids)) ORDER BY created_at, id"  # noqa: S608
    values = {"kind": kind, "all": ids is None, "ids": list(ids or ())}
    return {row["id"]: Fact(**row) for row in session.execute(text(query), values).mappings()}


def delete_provider(session: Session, provider_id: str) -> None:
    """Forgets a provider. Subscriptions keep its endpoint and credentials."""
    forget = "UPDATE openscale_facts SET entity = entity - 'provider_id' WHERE kind = :kind AND entity ->> 'provider_id' = :id"
    session.execute(text(forget), {"kind": SUBSCRIPTION, "id": provider_id})
    session.execute(text("DELETE FROM openscale_facts WHERE kind = :kind AND id = :id"), {"kind": PROVIDER, "id": provider_id})


def change_subscription(session: Session, deployment_id: str, change: Callable[[Entity], Entity], *, actor: str) -> Fact:
    """Stores what `change` makes of the facts of a deployment, one change after the other."""
    session.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:id, 0))"), {"id": f"openscale {deployment_id}"})
    found = list_facts(session, SUBSCRIPTION, [deployment_id]).get(deployment_id)
    return put_fact(session, SUBSCRIPTION, deployment_id, change(dict(found.entity) if found else {}), None, actor)


def put_fact(session: Session, kind: str, identifier: str, entity: Entity, secrets: bytes | None, actor: str) -> Fact:
    # The deployment's number, so that its facts go with it.
    of_deployment = "(SELECT no FROM deployments WHERE id = CAST(:id AS varchar))" if kind == SUBSCRIPTION else "NULL"
    query = f"""INSERT INTO openscale_facts (kind, id, deployment_no, entity, secrets, created_by)
        VALUES (:kind, CAST(:id AS varchar), {of_deployment}, CAST(:entity AS jsonb), :secrets, :actor)
        ON CONFLICT (kind, id) DO UPDATE SET entity = excluded.entity, secrets = excluded.secrets, modified_at = now()
        RETURNING {_COLUMNS}"""  # noqa: S608 - constants
    values = {"kind": kind, "id": identifier, "entity": json.dumps(entity), "secrets": secrets, "actor": actor}
    return Fact(**session.execute(text(query), values).mappings().one())
