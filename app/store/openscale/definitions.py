"""Stored definitions of custom monitors."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...errors import Conflict, NotFound
from ..tables import OpenScaleDefinitionRow, OpenScaleImportRow, OpenScaleInstanceRow


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDefinition:
    """One definition of a custom monitor."""

    id: str
    entity: Mapping[str, Any]
    created_at: datetime
    created_by: str
    modified_at: datetime


def add_definition(session: Session, definition_id: str, entity: Mapping[str, Any], *, created_by: str) -> StoredDefinition:
    """Stores a definition.

    Raises:
        Conflict: there is one of that id.
    """
    values = {"id": definition_id, "entity": dict(entity), "created_by": created_by}
    added = insert(OpenScaleDefinitionRow).values(values).on_conflict_do_nothing().returning(OpenScaleDefinitionRow.id)
    if session.scalar(added) is None:
        raise Conflict(f"There is a monitor definition {definition_id} already. Use it, give the monitor another name, or delete it first.")
    return get_definition(session, definition_id)


def list_definitions(session: Session) -> list[StoredDefinition]:
    """Returns every definition, oldest first."""
    rows = session.scalars(select(OpenScaleDefinitionRow).order_by(OpenScaleDefinitionRow.created_at, OpenScaleDefinitionRow.id))
    return [_definition(row) for row in rows]


def get_definition(session: Session, definition_id: str) -> StoredDefinition:
    """Returns the definition of that id.

    Raises:
        NotFound: there is none.
    """
    row = session.get(OpenScaleDefinitionRow, definition_id, populate_existing=True)
    if row is None:
        raise NotFound("monitor definition", definition_id)
    return _definition(row)


def change_definition(session: Session, definition_id: str, entity: Mapping[str, Any]) -> StoredDefinition:
    """Gives the definition other facts.

    Raises:
        NotFound: there is none of that id.
    """
    values = {"entity": dict(entity), "modified_at": func.now()}
    session.execute(update(OpenScaleDefinitionRow).where(OpenScaleDefinitionRow.id == definition_id).values(values))
    return get_definition(session, definition_id)


def count_instances(session: Session, definition_id: str) -> int:
    """Returns how many monitor instances there are of a definition."""
    return session.scalar(select(func.count()).where(OpenScaleInstanceRow.definition_id == definition_id)) or 0


def delete_definition(session: Session, definition_id: str) -> None:
    """Deletes a definition, its instances and the measurements that were posted to them."""
    for table in (OpenScaleImportRow, OpenScaleInstanceRow):
        session.execute(delete(table).where(table.definition_id == definition_id))
    session.execute(delete(OpenScaleDefinitionRow).where(OpenScaleDefinitionRow.id == definition_id))


def _definition(row: OpenScaleDefinitionRow) -> StoredDefinition:
    return StoredDefinition(**{name: getattr(row, name) for name in StoredDefinition.__dataclass_fields__})
