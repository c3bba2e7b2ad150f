"""API keys, their limits and their use: never the key itself."""

import hashlib
import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...base.clock import utc_now
from ...base.errors import Conflict, InvalidInput, Unauthenticated, require_present
from ...base.strict_json import JsonObject
from ...base.values import frozen_by_name
from ...database.binary_rows import list_column_values, page_oldest, read_row
from ...database.tables import ApiKeyRow, DeploymentRow, KeyLimitsRow, KeyUseRow
from ...domain.paging import Paging
from ..principals import Role

BURST_SECONDS = 2.0
"""Of a rate, which a key may use at once."""


class KeyLimit(StrEnum):
    REQUESTS = "requests"
    RECORDS = "records"
    STORAGE = "storage"


@frozen_by_name
class KeyLimits:
    """Limits of a key; None: no limit. `max_bytes` bounds all records that a key ever sends."""

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


USE_NOTE_INTERVAL = timedelta(minutes=1)
"""Between notes of the last use of a key."""


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


def get_key(session: Session, key_id: str) -> ApiKey:
    """Finds also a revoked one. Raises NotFound."""
    return require_present(find_key(session, key_id), "API key", key_id)


def find_key(session: Session, key_id: str) -> ApiKey | None:
    return _find_one_key(session, ApiKeyRow.id == key_id)


def _find_one_key(session: Session, *conditions: ColumnElement[bool]) -> ApiKey | None:
    row = session.execute(_SELECT.where(*conditions).limit(1)).one_or_none()
    return None if row is None else read_row(ApiKey, row)


def note_key_use(session: Session, key: ApiKey, *, now: datetime) -> None:
    # Other processes have seen the same old moment.
    is_recent = ApiKeyRow.last_used_at.between(now - USE_NOTE_INTERVAL, now + USE_NOTE_INTERVAL)
    session.execute(
        update(ApiKeyRow).where(ApiKeyRow.no == key.no, is_recent.is_not(True)).values(last_used_at=now)
    )


def page_keys(session: Session, paging: Paging) -> list[ApiKey]:
    return [read_row(ApiKey, row) for row in session.execute(page_oldest(_SELECT, ApiKeyRow.no, paging))]


def name_keys(session: Session, key_ids: Iterable[str]) -> dict[str, str]:
    rows = session.execute(select(ApiKeyRow.id, ApiKeyRow.name).where(ApiKeyRow.id.in_(list(key_ids))))
    return {row.id: row.name for row in rows}


def revoke_key(session: Session, key_id: str) -> bool:
    """False if it was revoked before. Raises NotFound."""
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


_COUNT_NAMES = ("requests", "records", "bytes", "refused")


def find_key_limits(session: Session, key_id: str) -> KeyLimits:
    return read_all_limits(session).get(key_id, KeyLimits())


def read_all_limits(session: Session) -> dict[str, KeyLimits]:
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
        {"key_id": key_id, **{name: used[key_id].get(name, 0) for name in _COUNT_NAMES}}
        for key_id in sorted(used)
    ]
    if rows:
        insertion = insert(KeyUseRow).values(rows)
        sums = {name: getattr(KeyUseRow, name) + insertion.excluded[name] for name in _COUNT_NAMES}
        session.execute(
            insertion.on_conflict_do_update(index_elements=["key_id"], set_={**sums, "last_at": func.now()})
        )


@frozen_by_name
class KeyWithUse:
    key_id: str
    name: str
    limits: KeyLimits
    use: KeyUse

    @property
    def storage_share(self) -> float | None:
        """0 to 1; None without a limit."""
        if self.limits.max_bytes is None:
            return None
        return min(1.0, self.use.bytes / self.limits.max_bytes) if self.limits.max_bytes else 1.0


def read_key_use(session: Session) -> list[KeyWithUse]:
    limits = read_all_limits(session)
    use = find_key_use(session)
    names = name_keys(session, {*limits, *use})
    return [
        KeyWithUse(
            key_id=key_id,
            name=names[key_id],
            limits=limits.get(key_id, KeyLimits()),
            use=use.get(key_id, KeyUse()),
        )
        for key_id in sorted(names)
    ]


KEY_PATTERN = re.compile(r"evk_([a-z2-7]{8})_[A-Za-z0-9_-]{43}", re.ASCII)

_ID_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_ID_CHARACTERS = 8
_SECRET_BYTES = 32

MAX_OVERLAP = timedelta(days=90)

DEFAULT_OVERLAP_HOURS = 24

MAX_LIFE = timedelta(days=3650)


@frozen_by_name
class Rotation:
    """Result of a rotation; `text` is that of the new key."""

    text: str
    old: ApiKey
    new: ApiKey


def make_key() -> str:
    public = "".join(secrets.choice(_ID_ALPHABET) for _ in range(_ID_CHARACTERS))
    return f"evk_{public}_{secrets.token_urlsafe(_SECRET_BYTES)}"


def read_key_id(text: str) -> str | None:
    match = KEY_PATTERN.fullmatch(text)
    return match[1] if match else None


def hash_key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def create_key(
    session: Session,
    *,
    role: Role,
    name: str,
    deployment_no: int | None = None,
    expires_at: datetime | None = None,
    replaces: str | None = None,
) -> str:
    if role is Role.ADMIN and deployment_no is not None:
        raise InvalidInput("deployment", "an admin key cannot be bound to a deployment; use the role manage")
    if expires_at is not None and not timedelta(0) < expires_at - utc_now() <= MAX_LIFE:
        rule = (
            f"must lie in the future and within {MAX_LIFE.days // 365} years, or be left out for a key "
            "that does not expire"
        )
        raise InvalidInput("expires_at", rule)
    text = make_key()
    session.execute(
        insert(ApiKeyRow).values(
            id=read_key_id(text),
            name=name,
            role=role.value,
            deployment_no=deployment_no,
            secret_hash=hash_key(text),
            expires_at=expires_at,
            replaces=replaces,
        )
    )
    return text


def rotate_key(
    session: Session, key_id: str, *, overlap: timedelta, expires_at: datetime | None = None
) -> Rotation:
    """Creates a key with the name, role, deployment and limits of another, which stays valid for `overlap` at
    most.

    Without `expires_at`, it lives as long as the old one was to live when it was made. Raises NotFound,
    Conflict (revoked, expired, rotated before), InvalidInput (`overlap` out of range, or expired already).
    """
    if not timedelta(0) <= overlap <= MAX_OVERLAP:
        raise InvalidInput("overlap_hours", f"must be between 0 and {MAX_OVERLAP // timedelta(hours=1)}")
    now = utc_now()
    session.execute(select(ApiKeyRow.no).where(ApiKeyRow.id == key_id).with_for_update())
    old = get_key(session, key_id)
    refusal = find_key_refusal(old, now)
    if refusal is not None:
        raise Conflict(f"The key {key_id} cannot be rotated. {refusal} Create a new key instead.")
    successor = _find_one_key(session, ApiKeyRow.replaces == key_id, ApiKeyRow.revoked_at.is_(None))
    if successor is not None:
        # A request that is repeated must not leave a key that nobody knows.
        raise Conflict(
            f"The key {key_id} was rotated already: its successor is {successor.id}. If its text was lost, "
            f"revoke {successor.id} first."
        )
    if expires_at is None and old.expires_at is not None:
        expires_at = now + min(old.expires_at - old.created_at, MAX_LIFE)
    text = create_key(
        session,
        role=old.role,
        name=old.name,
        deployment_no=old.deployment_no,
        expires_at=expires_at,
        replaces=old.id,
    )
    end = min(now + overlap, old.expires_at or now + overlap)
    session.execute(update(ApiKeyRow).where(ApiKeyRow.no == old.no).values(expires_at=end))
    new = get_key(session, str(read_key_id(text)))
    put_limits(session, new.id, find_key_limits(session, old.id))
    return Rotation(text=text, old=get_key(session, old.id), new=new)


def require_key(session: Session, text: str, now: datetime) -> ApiKey:
    """Raises Unauthenticated if the key is unknown, revoked or expired."""
    key_id = read_key_id(text)
    key = None if key_id is None else find_key(session, key_id)
    if key is None or not secrets.compare_digest(key.secret_hash, hash_key(text)):
        raise Unauthenticated("This API key is not known here.")
    refusal = find_key_refusal(key, now)
    if refusal is not None:
        raise Unauthenticated(refusal)
    return key


def find_key_refusal(key: ApiKey, now: datetime) -> str | None:
    if key.revoked_at is not None:
        return "This API key was revoked."
    if key.expires_at is not None and key.expires_at <= now:
        return f"This API key expired at {key.expires_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC."
    return None


def build_key_facts(key: ApiKey) -> JsonObject:
    return {
        "name": key.name,
        "role": key.role,
        "deployment": key.deployment_id,
        "expires_at": _write_moment(key.expires_at),
    }


def build_rotation_facts(rotated: Rotation) -> JsonObject:
    return {
        "new_key": rotated.new.id,
        "valid_until": _write_moment(rotated.old.expires_at),
        "new_expires_at": _write_moment(rotated.new.expires_at),
    }


def _write_moment(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="seconds")
