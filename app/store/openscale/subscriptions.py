"""Stored facts of subscriptions and of monitor instances, by the deployment that they are about."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ..tables import OpenScaleImportRow, OpenScaleInstanceRow, OpenScaleSubscriptionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSubscription:
    """Facts that a subscription adds to its deployment."""

    deployment_no: int
    data_mart_id: str
    provider_id: str | None
    entity: Mapping[str, Any]
    created_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredInstance:
    """One monitor instance as it was sent."""

    deployment_no: int
    definition_id: str
    entity: Mapping[str, Any]
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedMeasurement:
    """One measurement that was computed elsewhere."""

    id: str
    definition_id: str
    at: datetime
    entity: Mapping[str, Any]
    created_by: str


def put_subscription(session: Session, stored: StoredSubscription) -> None:
    """Stores or replaces the facts of a deployment's subscription."""
    values = {name: getattr(stored, name) for name in StoredSubscription.__dataclass_fields__}
    statement = insert(OpenScaleSubscriptionRow).values(values)
    changed = {"entity": statement.excluded.entity, "data_mart_id": statement.excluded.data_mart_id}
    changed["provider_id"] = statement.excluded.provider_id
    session.execute(statement.on_conflict_do_update(index_elements=[OpenScaleSubscriptionRow.deployment_no], set_=changed))


def subscriptions_of(session: Session, deployment_nos: Iterable[int]) -> dict[int, StoredSubscription]:
    """Returns the facts of these deployments' subscriptions; one that no SDK made has none."""
    statement = select(OpenScaleSubscriptionRow).where(OpenScaleSubscriptionRow.deployment_no.in_(list(deployment_nos)))
    rows = session.scalars(statement.execution_options(populate_existing=True))
    names = StoredSubscription.__dataclass_fields__
    return {row.deployment_no: StoredSubscription(**{name: getattr(row, name) for name in names}) for row in rows}


def put_instance(session: Session, deployment_no: int, definition_id: str, entity: Mapping[str, Any], *, created_by: str) -> None:
    """Stores or replaces what was sent of a monitor instance."""
    values = {"deployment_no": deployment_no, "definition_id": definition_id, "entity": dict(entity), "created_by": created_by}
    statement = insert(OpenScaleInstanceRow).values(values)
    key = [OpenScaleInstanceRow.deployment_no, OpenScaleInstanceRow.definition_id]
    session.execute(statement.on_conflict_do_update(index_elements=key, set_={"entity": statement.excluded.entity}))


def instances_of(session: Session, deployment_nos: Iterable[int]) -> list[StoredInstance]:
    """Returns the stored instances of these deployments, by deployment and definition."""
    statement = (
        select(OpenScaleInstanceRow)
        .where(OpenScaleInstanceRow.deployment_no.in_(list(deployment_nos)))
        .order_by(OpenScaleInstanceRow.deployment_no, OpenScaleInstanceRow.definition_id)
        .execution_options(populate_existing=True)
    )
    names = StoredInstance.__dataclass_fields__
    return [StoredInstance(**{name: getattr(row, name) for name in names}) for row in session.scalars(statement)]


def delete_instance(session: Session, deployment_no: int, definition_id: str) -> None:
    """Forgets a monitor instance and its imported measurements."""
    for table in (OpenScaleInstanceRow, OpenScaleImportRow):
        session.execute(delete(table).where(table.deployment_no == deployment_no, table.definition_id == definition_id))


def add_imports(session: Session, deployment_no: int, measurements: Iterable[ImportedMeasurement]) -> None:
    """Stores measurements that were computed elsewhere; one of an id that is there stays as it is."""
    names = ImportedMeasurement.__dataclass_fields__
    values = [{"deployment_no": deployment_no, **{name: getattr(one, name) for name in names}} for one in measurements]
    if values:
        session.execute(insert(OpenScaleImportRow).values(values).on_conflict_do_nothing())


def imports_of(
    session: Session, deployment_no: int, definition_id: str, *, since: datetime | None = None, until: datetime | None = None
) -> list[ImportedMeasurement]:
    """Returns the imported measurements of an instance in [since, until), newest first."""
    statement = select(OpenScaleImportRow).where(
        OpenScaleImportRow.deployment_no == deployment_no, OpenScaleImportRow.definition_id == definition_id
    )
    if since is not None:
        statement = statement.where(OpenScaleImportRow.at >= since)
    if until is not None:
        statement = statement.where(OpenScaleImportRow.at < until)
    names = ImportedMeasurement.__dataclass_fields__
    rows = session.scalars(statement.order_by(OpenScaleImportRow.at.desc(), OpenScaleImportRow.id))
    return [ImportedMeasurement(**{name: getattr(row, name) for name in names}) for row in rows]
