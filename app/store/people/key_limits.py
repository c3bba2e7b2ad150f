"""Limits of API keys, and their use."""

from collections.abc import Mapping
from dataclasses import asdict

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...domain.key_limits import KeyLimits, KeyUse
from ..database.rows import read_row
from ..tables import KeyLimitsRow, KeyUseRow

_COUNTS = ("requests", "records", "bytes", "refused")


def limits_of(session: Session, key_id: str) -> KeyLimits:
    return all_limits(session).get(key_id, KeyLimits())


def all_limits(session: Session) -> dict[str, KeyLimits]:
    return {row.key_id: read_row(KeyLimits, row) for row in session.scalars(select(KeyLimitsRow))}


def put_limits(session: Session, key_id: str, limits: KeyLimits) -> None:
    if limits == KeyLimits():
        session.execute(delete(KeyLimitsRow).where(KeyLimitsRow.key_id == key_id))
        return
    values = asdict(limits)
    insertion = insert(KeyLimitsRow).values(key_id=key_id, **values)
    session.execute(insertion.on_conflict_do_update(index_elements=["key_id"], set_=values))


def use_of(session: Session) -> dict[str, KeyUse]:
    return {row.key_id: read_row(KeyUse, row) for row in session.scalars(select(KeyUseRow))}


def add_use(session: Session, used: Mapping[str, KeyUse]) -> None:
    # By ids, so that two processes never wait for each other.
    rows = [{"key_id": key_id, **{name: getattr(used[key_id], name) for name in _COUNTS}} for key_id in sorted(used)]
    if rows:
        insertion = insert(KeyUseRow).values(rows)
        sums = {name: getattr(KeyUseRow, name) + insertion.excluded[name] for name in _COUNTS}
        session.execute(insertion.on_conflict_do_update(index_elements=["key_id"], set_={**sums, "last_at": func.now()}))


def stored_bytes(session: Session) -> dict[str, int]:
    return {row.key_id: row.bytes for row in session.scalars(select(KeyUseRow))}
