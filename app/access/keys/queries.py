"""API keys, their limits and their use: never the key itself."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...base.errors import require_present
from ...base.values import frozen_by_name
from ...database.binary_rows import list_column_values, page_oldest, read_row
from ...database.tables import ApiKeyRow, DeploymentRow, KeyLimitsRow, KeyUseRow
from ...domain.paging import Paging
from ..principals import Role

BURST_SECONDS = 2.0


class KeyLimit(StrEnum):
    REQUESTS = "requests"
    RECORDS = "records"
    STORAGE = "storage"


@frozen_by_name
class KeyLimits:
    """None: no limit. `max_bytes` bounds all records that a key ever sends."""

    requests_per_second: float | None = None
    records_per_second: float | None = None
    max_bytes: int | None = None


@frozen_by_name
class KeyUse:
    requests: int = 0
    records: int = 0
    bytes: int = 0
    refused: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None


USE_NOTED_EVERY = timedelta(minutes=1)


@frozen_by_name
class ApiKey:
    no: int
    id: str
    name: str
    role: Role
    deployment_no: int | None
    deployment_id: str | None
    secret_hash: bytes
    created_at: datetime
    revoked_at: datetime | None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    replaces: str | None = None


def add_key(session: Session, **values: object) -> None:
    session.execute(insert(ApiKeyRow).values(values))


def get_key(session: Session, key_id: str) -> ApiKey:
    """Revoked or not. Raises NotFound."""
    return require_present(find_key(session, key_id), "API key", key_id)


def find_key(session: Session, key_id: str) -> ApiKey | None:
    row = session.execute(_SELECT.where(ApiKeyRow.id == key_id)).one_or_none()
    return None if row is None else read_row(ApiKey, row)


def lock_key(session: Session, key_id: str) -> ApiKey:
    session.execute(select(ApiKeyRow.no).where(ApiKeyRow.id == key_id).with_for_update())
    return get_key(session, key_id)


def find_successor(session: Session, key_id: str) -> ApiKey | None:
    row = session.execute(
        _SELECT.where(ApiKeyRow.replaces == key_id, ApiKeyRow.revoked_at.is_(None)).limit(1)
    ).one_or_none()
    return None if row is None else read_row(ApiKey, row)


def end_key(session: Session, key: ApiKey, at: datetime) -> None:
    session.execute(update(ApiKeyRow).where(ApiKeyRow.no == key.no).values(expires_at=at))


def note_key_use(session: Session, key: ApiKey, *, now: datetime) -> None:
    # Other processes have seen the same old moment.
    is_recent = ApiKeyRow.last_used_at.between(now - USE_NOTED_EVERY, now + USE_NOTED_EVERY)
    session.execute(
        update(ApiKeyRow).where(ApiKeyRow.no == key.no, is_recent.is_not(True)).values(last_used_at=now)
    )


def page_keys(session: Session, paging: Paging) -> list[ApiKey]:
    return [read_row(ApiKey, row) for row in session.execute(page_oldest(_SELECT, ApiKeyRow.no, paging))]


def name_keys(session: Session, key_ids: Iterable[str]) -> dict[str, str]:
    rows = session.execute(select(ApiKeyRow.id, ApiKeyRow.name).where(ApiKeyRow.id.in_(list(key_ids))))
    return {row.id: row.name for row in rows}


def revoke_key(session: Session, key_id: str) -> bool:
    """Whether it was not revoked before. Raises NotFound."""
    # Distinguishes an unknown key from a revoked one.
    get_key(session, key_id)
    changed = (
        update(ApiKeyRow)
        .where(ApiKeyRow.id == key_id, ApiKeyRow.revoked_at.is_(None))
        .values(revoked_at=func.now())
    )
    return session.scalar(changed.returning(ApiKeyRow.no)) is not None


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


def add_use(session: Session, used: Mapping[str, Mapping[str, int]]) -> None:
    # By ids, so that two processes never wait for each other.
    rows = [
        {"key_id": key_id, **{name: used[key_id].get(name, 0) for name in COUNTS}} for key_id in sorted(used)
    ]
    if rows:
        insertion = insert(KeyUseRow).values(rows)
        sums = {name: getattr(KeyUseRow, name) + insertion.excluded[name] for name in COUNTS}
        session.execute(
            insertion.on_conflict_do_update(index_elements=["key_id"], set_={**sums, "last_at": func.now()})
        )


def stored_bytes(session: Session) -> dict[str, int]:
    return {row.key_id: row.bytes for row in session.scalars(select(KeyUseRow))}


@frozen_by_name
class UsedKey:
    key_id: str
    name: str
    limits: KeyLimits
    use: KeyUse

    @property
    def storage_share(self) -> float | None:
        """0 to 1; None without that limit."""
        if self.limits.max_bytes is None:
            return None
        return min(1.0, self.use.bytes / self.limits.max_bytes) if self.limits.max_bytes else 1.0


def read_key_use(session: Session) -> list[UsedKey]:
    limits = all_limits(session)
    use = find_key_use(session)
    names = name_keys(session, {*limits, *use})
    return [
        UsedKey(
            key_id=key_id,
            name=names[key_id],
            limits=limits.get(key_id, KeyLimits()),
            use=use.get(key_id, KeyUse()),
        )
        for key_id in sorted(names)
    ]
