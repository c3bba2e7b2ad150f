"""People, API keys, their log-ins and limits, and the logs of changes."""

from sqlalchemy import BigInteger, Index, UniqueConstraint, text
from sqlalchemy.orm import mapped_column

from .base import (
    BoundDeploymentNo,
    Bytes,
    BytesKey,
    Int64,
    JsonObject,
    OptionalBytes,
    OptionalFloat,
    OptionalInt,
    OptionalInt64,
    OptionalText,
    OptionalTime,
    Row,
    RowNo,
    ShortRowNo,
    StoredAt,
    Text,
    TextKey,
    Time,
    UniqueText,
    refers_to,
)


class UserRow(Row):
    """`password_hash` is Argon2's text; a person of an issuer has `issuer` and `subject` instead."""

    __tablename__ = "users"
    __table_args__ = (UniqueConstraint("issuer", "subject"),)

    no: ShortRowNo
    name: UniqueText
    password_hash: OptionalText
    role: Text
    deployment_no: BoundDeploymentNo
    created_at: StoredAt
    disabled_at: OptionalTime
    issuer: OptionalText
    subject: OptionalText


class SessionRow(Row):
    """Exactly one of the holder's numbers is there.

    `token_hash` is the SHA-256 of the cookie. `id_token` is an issuer's, encrypted: it is sent back at
    log-out.
    """

    __tablename__ = "sessions"

    token_hash: BytesKey
    user_no: OptionalInt = refers_to("users.no", index=True)
    key_no: OptionalInt = refers_to("api_keys.no", index=True)
    created_at: StoredAt
    expires_at: Time = mapped_column(index=True)
    id_token: OptionalBytes


class UsedLogInRow(Row):
    __tablename__ = "used_log_ins"

    state_hash: BytesKey
    expires_at: Time


class ActivityRow(Row):
    """`actor` is a key's id, `user:` and a name, `schedule` or `unknown`; `details` never holds a secret."""

    __tablename__ = "activities"
    __table_args__ = (Index("activities_deployment_no_no_idx", "deployment_no", "no"),)

    no: RowNo
    at: StoredAt
    actor: Text
    action: Text
    deployment_no: OptionalInt = refers_to("deployments.no", ondelete="SET NULL")
    deployment_id: OptionalText
    subject: OptionalText
    details: JsonObject


class ApiKeyRow(Row):
    """`id` is the public part of the key's text, `secret_hash` the SHA-256 of all of it.

    `last_used_at` is up to a minute old. `replaces` is the key that a rotation made it for.
    """

    __tablename__ = "api_keys"

    no: ShortRowNo
    id: UniqueText
    name: Text
    role: Text
    deployment_no: BoundDeploymentNo
    secret_hash: Bytes
    created_at: StoredAt
    revoked_at: OptionalTime
    expires_at: OptionalTime
    last_used_at: OptionalTime
    replaces: OptionalText


class KeyLimitsRow(Row):
    """NULL: no limit. `max_bytes` bounds all records that a key ever sends.

    No foreign key, so that a write waits for nobody; ids of keys are never used again. So with `KeyUseRow`.
    """

    __tablename__ = "key_limits"

    key_id: TextKey
    requests_per_second: OptionalFloat
    records_per_second: OptionalFloat
    max_bytes: OptionalInt64


class KeyUseRow(Row):
    __tablename__ = "key_use"

    key_id: TextKey
    requests: Int64
    records: Int64
    bytes: Int64
    refused: Int64
    first_at: StoredAt
    last_at: StoredAt


class AuditEventRow(Row):
    """No foreign keys: it outlives everything it is about.

    A trigger refuses to change or delete it; only sealing fills position and hash, once.
    """

    __tablename__ = "audit_events"
    __table_args__ = (
        Index("audit_events_deployment_id_no_idx", "deployment_id", "no"),
        Index("audit_events_unsealed_idx", "no", postgresql_where=text("position IS NULL")),
    )

    no: RowNo
    at: StoredAt
    actor: Text
    action: Text
    outcome: Text
    address: Text
    request_id: Text
    route: Text
    deployment_id: OptionalText
    subject: OptionalText
    details: JsonObject
    position: OptionalInt = mapped_column(BigInteger, unique=True)
    hash: OptionalBytes
