"""The text of an API key: `evk_`, its id of 8 characters, `_`, and a secret of 43.

Only the SHA-256 of the whole text is stored. A slow hash would add nothing: the secret holds 256 random bits.
"""

import hashlib
import re
import secrets
from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from ...base.clock import utc_now
from ...base.errors import Conflict, InvalidInput, Unauthenticated
from ...base.strict_json import JsonObject
from ...base.values import frozen_by_name
from ..principals import Role
from .queries import (
    ApiKey,
    add_key,
    end_key,
    find_key,
    find_key_limits,
    find_successor,
    get_key,
    lock_key,
    put_limits,
)

KEY_PATTERN = re.compile(r"evk_([a-z2-7]{8})_[A-Za-z0-9_-]{43}", re.ASCII)

_ID_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_ID_LENGTH = 8
_SECRET_BYTES = 32

MAX_OVERLAP = timedelta(days=90)

USUAL_OVERLAP_HOURS = 24

MAX_LIFE = timedelta(days=3650)


@frozen_by_name
class Rotation:
    text: str
    old: ApiKey
    new: ApiKey


def make_key() -> str:
    public = "".join(secrets.choice(_ID_ALPHABET) for _ in range(_ID_LENGTH))
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
    add_key(
        session,
        id=str(read_key_id(text)),
        name=name,
        role=role.value,
        deployment_no=deployment_no,
        secret_hash=hash_key(text),
        expires_at=expires_at,
        replaces=replaces,
    )
    return text


def rotate_key(
    session: Session, key_id: str, *, overlap: timedelta, expires_at: datetime | None = None
) -> Rotation:
    """The new key has the other's name, role, deployment and limits; that stays valid for `overlap` at most.

    Without `expires_at`, it lives as long as the old one was to live when it was made. Raises NotFound,
    Conflict (revoked, expired, rotated before), InvalidInput (`overlap` out of range, or expired already).
    """
    if not timedelta(0) <= overlap <= MAX_OVERLAP:
        raise InvalidInput("overlap_hours", f"must be between 0 and {MAX_OVERLAP // timedelta(hours=1)}")
    now = utc_now()
    old = lock_key(session, key_id)
    refusal = key_refusal(old, now)
    if refusal is not None:
        raise Conflict(f"The key {key_id} cannot be rotated. {refusal} Create a new key instead.")
    successor = find_successor(session, key_id)
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
    end_key(session, old, min(now + overlap, old.expires_at or now + overlap))
    new = get_key(session, str(read_key_id(text)))
    put_limits(session, new.id, find_key_limits(session, old.id))
    return Rotation(text=text, old=get_key(session, old.id), new=new)


def require_key(session: Session, text: str, now: datetime) -> ApiKey:
    """Raises Unauthenticated if it is unknown, revoked or expired."""
    key_id = read_key_id(text)
    key = None if key_id is None else find_key(session, key_id)
    if key is None or not secrets.compare_digest(key.secret_hash, hash_key(text)):
        raise Unauthenticated("This API key is not known here.")
    refusal = key_refusal(key, now)
    if refusal is not None:
        raise Unauthenticated(refusal)
    return key


def key_refusal(key: ApiKey, now: datetime) -> str | None:
    if key.revoked_at is not None:
        return "This API key was revoked."
    if key.expires_at is not None and key.expires_at <= now:
        return f"This API key expired at {key.expires_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC."
    return None


def key_facts(key: ApiKey) -> JsonObject:
    return {
        "name": key.name,
        "role": key.role,
        "deployment": key.deployment_id,
        "expires_at": _moment(key.expires_at),
    }


def rotation_facts(rotated: Rotation) -> JsonObject:
    return {
        "new_key": rotated.new.id,
        "valid_until": _moment(rotated.old.expires_at),
        "new_expires_at": _moment(rotated.new.expires_at),
    }


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="seconds")
