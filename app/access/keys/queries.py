"""API keys, their limits and their use: only what identifies a key, never the key itself."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...base.errors import require_present
from ...base.frozen import frozen_by_name
from ...database.binary_rows import list_column_values, read_row
from ...database.paging import page_oldest
from ...database.tables import ApiKeyRow, DeploymentRow, KeyLimitsRow, KeyUseRow
from ...domain.paging import Paging
from .limits import KeyLimits, KeyUse

USE_NOTED_EVERY = timedelta(minutes=1)
"""Min time between two moments of use that are stored of one key."""


@frozen_by_name
class ApiKey:
    """One stored key. `deployment_id` names the only deployment of a bound key."""

    no: int
    id: str
    name: str
    role: str
    deployment_no: int | None
    deployment_id: str | None
    secret_hash: bytes
    created_at: datetime
    revoked_at: datetime | None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    replaces: str | None = None


class ApiKeys:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, **values: object) -> None:
        """Stores a key of these columns."""
        self._session.execute(insert(ApiKeyRow).values(values))

    def get(self, key_id: str) -> ApiKey:
        """Returns the key, revoked or not, or raises NotFound."""
        return require_present(self.find(key_id), "API key", key_id)

    def find(self, key_id: str) -> ApiKey | None:
        row = self._session.execute(_SELECT.where(ApiKeyRow.id == key_id)).one_or_none()
        return None if row is None else read_row(ApiKey, row)

    def lock(self, key_id: str) -> ApiKey:
        """Returns the key, locked against rotation and revocation. Raises NotFound."""
        self._session.execute(select(ApiKeyRow.no).where(ApiKeyRow.id == key_id).with_for_update())
        return self.get(key_id)

    def successor(self, key_id: str) -> ApiKey | None:
        """Returns the key, not revoked, that a rotation made for that one."""
        row = self._session.execute(
            _SELECT.where(ApiKeyRow.replaces == key_id, ApiKeyRow.revoked_at.is_(None)).limit(1)
        ).one_or_none()
        return None if row is None else read_row(ApiKey, row)

    def end_at(self, key: ApiKey, at: datetime) -> None:
        self._session.execute(update(ApiKeyRow).where(ApiKeyRow.no == key.no).values(expires_at=at))

    def note_use(self, key: ApiKey, *, now: datetime) -> None:
        """Stores that the key is used, unless that was stored lately."""
        # Other processes have seen the same old moment.
        is_recent = ApiKeyRow.last_used_at.between(now - USE_NOTED_EVERY, now + USE_NOTED_EVERY)
        self._session.execute(
            update(ApiKeyRow).where(ApiKeyRow.no == key.no, is_recent.is_not(True)).values(last_used_at=now)
        )

    def page(self, paging: Paging) -> list[ApiKey]:
        rows = self._session.execute(page_oldest(_SELECT, ApiKeyRow.no, paging))
        return [read_row(ApiKey, row) for row in rows]

    def names(self, key_ids: Iterable[str]) -> dict[str, str]:
        rows = self._session.execute(
            select(ApiKeyRow.id, ApiKeyRow.name).where(ApiKeyRow.id.in_(list(key_ids)))
        )
        return {row.id: row.name for row in rows}

    def revoke(self, key_id: str) -> bool:
        """Revokes the key; returns whether it was not revoked before. Raises NotFound."""
        # Distinguishes an unknown key from a revoked one.
        self.get(key_id)
        changed = (
            update(ApiKeyRow)
            .where(ApiKeyRow.id == key_id, ApiKeyRow.revoked_at.is_(None))
            .values(revoked_at=func.now())
        )
        return self._session.scalar(changed.returning(ApiKeyRow.no)) is not None


_SELECT = select(ApiKeyRow.__table__, DeploymentRow.id.label("deployment_id")).outerjoin(
    DeploymentRow, DeploymentRow.no == ApiKeyRow.deployment_no
)


COUNTS = ("requests", "records", "bytes", "refused")


def find_key_limits(session: Session, key_id: str) -> KeyLimits:
    return all_limits(session).get(key_id, KeyLimits())


def all_limits(session: Session) -> dict[str, KeyLimits]:
    return {row.key_id: read_row(KeyLimits, row) for row in session.scalars(select(KeyLimitsRow))}


def put_limits(session: Session, key_id: str, limits: KeyLimits) -> None:
    if limits == KeyLimits():
        session.execute(delete(KeyLimitsRow).where(KeyLimitsRow.key_id == key_id))
        return
    values = list_column_values(limits)
    insertion = insert(KeyLimitsRow).values(key_id=key_id, **values)
    session.execute(insertion.on_conflict_do_update(index_elements=["key_id"], set_=values))


def find_key_use(session: Session) -> dict[str, KeyUse]:
    return {row.key_id: read_row(KeyUse, row) for row in session.scalars(select(KeyUseRow))}


def add_use(session: Session, used: Mapping[str, object]) -> None:
    """Adds the COUNTS of each key."""
    # By ids, so that two processes never wait for each other.
    rows = [
        {"key_id": key_id, **{name: getattr(used[key_id], name) for name in COUNTS}}
        for key_id in sorted(used)
    ]
    if rows:
        insertion = insert(KeyUseRow).values(rows)
        sums = {name: getattr(KeyUseRow, name) + insertion.excluded[name] for name in COUNTS}
        session.execute(
            insertion.on_conflict_do_update(index_elements=["key_id"], set_={**sums, "last_at": func.now()})
        )


def stored_bytes(session: Session) -> dict[str, int]:
    return {row.key_id: row.bytes for row in session.scalars(select(KeyUseRow))}
