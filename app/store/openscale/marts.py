"""Stored data marts and service providers, secrets of providers sealed on the way in."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as insert_if_absent
from sqlalchemy.orm import Session

from ...errors import Conflict, NotFound
from ..database.resealing import begin_sealing
from ..database.sealer import Sealer
from ..tables import OpenScaleDataMartRow, OpenScaleProviderRow, OpenScaleSubscriptionRow

DEFAULT_MART = "00000000-0000-0000-0000-000000000000"
"""Id of the data mart that every installation has, and that deployments of Evenhand's own API are listed in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMart:
    """One data mart."""

    id: str
    entity: Mapping[str, Any]
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProvider:
    """One service provider. `secrets` never appear in an answer."""

    id: str
    entity: Mapping[str, Any]
    secrets: Mapping[str, Any]
    created_at: datetime
    created_by: str
    modified_at: datetime


def add_mart(session: Session, mart_id: str, entity: Mapping[str, Any], *, created_by: str) -> StoredMart:
    """Stores a data mart.

    Raises:
        Conflict: there is one of that id.
    """
    values = {"id": mart_id, "entity": dict(entity), "created_by": created_by}
    added = insert_if_absent(OpenScaleDataMartRow).values(values).on_conflict_do_nothing().returning(OpenScaleDataMartRow.id)
    if session.scalar(added) is None:
        raise Conflict(f"There is a data mart {mart_id} already. Use it, or delete it first.")
    return find_mart(session, mart_id)


def list_marts(session: Session) -> list[StoredMart]:
    """Returns every data mart, oldest first."""
    rows = session.scalars(select(OpenScaleDataMartRow).order_by(OpenScaleDataMartRow.created_at, OpenScaleDataMartRow.id))
    return [_mart(row) for row in rows]


def find_mart(session: Session, mart_id: str) -> StoredMart:
    """Returns the data mart of that id.

    Raises:
        NotFound: there is none.
    """
    row = session.get(OpenScaleDataMartRow, mart_id, populate_existing=True)
    if row is None:
        raise NotFound("data mart", mart_id)
    return _mart(row)


def change_mart(session: Session, mart_id: str, entity: Mapping[str, Any]) -> StoredMart:
    """Gives the data mart other facts.

    Raises:
        NotFound: there is none of that id.
    """
    session.execute(update(OpenScaleDataMartRow).where(OpenScaleDataMartRow.id == mart_id).values(entity=dict(entity)))
    return find_mart(session, mart_id)


def delete_mart(session: Session, mart_id: str) -> None:
    """Deletes a data mart that no subscription is in."""
    session.execute(delete(OpenScaleDataMartRow).where(OpenScaleDataMartRow.id == mart_id))


def deployments_of_mart(session: Session, mart_id: str) -> Sequence[int]:
    """Returns the numbers of the deployments that subscriptions put into the data mart."""
    statement = select(OpenScaleSubscriptionRow.deployment_no).where(OpenScaleSubscriptionRow.data_mart_id == mart_id)
    return session.scalars(statement.order_by(OpenScaleSubscriptionRow.deployment_no)).all()


def add_provider(
    session: Session, sealer: Sealer, provider_id: str, entity: Mapping[str, Any], secrets: Mapping[str, Any], *, created_by: str
) -> StoredProvider:
    """Stores a service provider."""
    values = {"id": provider_id, "entity": dict(entity), "secrets": _seal_secrets(session, sealer, secrets), "created_by": created_by}
    session.execute(insert(OpenScaleProviderRow).values(values))
    return find_provider(session, sealer, provider_id)


def list_providers(session: Session, sealer: Sealer) -> list[StoredProvider]:
    """Returns every service provider, oldest first."""
    rows = session.scalars(select(OpenScaleProviderRow).order_by(OpenScaleProviderRow.created_at, OpenScaleProviderRow.id))
    return [_provider(row, sealer) for row in rows]


def find_provider(session: Session, sealer: Sealer, provider_id: str) -> StoredProvider:
    """Returns the service provider of that id.

    Raises:
        NotFound: there is none.
    """
    row = session.get(OpenScaleProviderRow, provider_id, populate_existing=True)
    if row is None:
        raise NotFound("service provider", provider_id)
    return _provider(row, sealer)


def change_provider(
    session: Session, sealer: Sealer, provider_id: str, entity: Mapping[str, Any], secrets: Mapping[str, Any]
) -> StoredProvider:
    """Gives the service provider other facts and secrets.

    Raises:
        NotFound: there is none of that id.
    """
    values = {"entity": dict(entity), "secrets": _seal_secrets(session, sealer, secrets), "modified_at": func.now()}
    session.execute(update(OpenScaleProviderRow).where(OpenScaleProviderRow.id == provider_id).values(values))
    return find_provider(session, sealer, provider_id)


def delete_provider(session: Session, provider_id: str) -> None:
    """Deletes a service provider. Its subscriptions stay, without a provider: their deployments have the endpoint and its credentials."""
    session.execute(update(OpenScaleSubscriptionRow).where(OpenScaleSubscriptionRow.provider_id == provider_id).values(provider_id=None))
    session.execute(delete(OpenScaleProviderRow).where(OpenScaleProviderRow.id == provider_id))


def _seal_secrets(session: Session, sealer: Sealer, secrets: Mapping[str, Any]) -> bytes | None:
    if not secrets:
        return None
    begin_sealing(session)
    return sealer.seal(json.dumps(dict(secrets)).encode())


def _mart(row: OpenScaleDataMartRow) -> StoredMart:
    return StoredMart(id=row.id, entity=row.entity, created_at=row.created_at, created_by=row.created_by)


def _provider(row: OpenScaleProviderRow, sealer: Sealer) -> StoredProvider:
    return StoredProvider(
        id=row.id,
        entity=row.entity,
        secrets={} if row.secrets is None else json.loads(sealer.unseal(row.secrets)),
        created_at=row.created_at,
        created_by=row.created_by,
        modified_at=row.modified_at,
    )
