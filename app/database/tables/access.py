"""People, API keys, their log-ins and limits, and the logs of changes."""

from datetime import datetime

from sqlalchemy import BigInteger, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import (
    BoundDeploymentNo,
    BytesKey,
    Int64,
    JsonObject,
    Row,
    RowNo,
    ShortRowNo,
    StoredAt,
    TextKey,
    UniqueText,
    refers_to,
)


class UserRow(Row):
    """One person. `password_hash` is Argon2's text; a person of an issuer has `issuer` and `subject`
    instead.
    """

    __tablename__ = "users"
    __table_args__ = (UniqueConstraint("issuer", "subject"),)

    no: Mapped[ShortRowNo]
    name: Mapped[UniqueText]
    password_hash: Mapped[str | None]
    role: Mapped[str]
    deployment_no: Mapped[BoundDeploymentNo]
    created_at: Mapped[StoredAt]
    disabled_at: Mapped[datetime | None]
    issuer: Mapped[str | None]
    subject: Mapped[str | None]


class SessionRow(Row):
    """One log-in of a browser, by a user or with an API key: exactly one of the numbers is there.

    `token_hash` is the SHA-256 of the cookie. `id_token` is an issuer's, encrypted: it is sent back at
    log-out.
    """

    __tablename__ = "sessions"

    token_hash: Mapped[BytesKey]
    user_no: Mapped[int | None] = refers_to("users.no", index=True)
    key_no: Mapped[int | None] = refers_to("api_keys.no", index=True)
    created_at: Mapped[StoredAt]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    id_token: Mapped[bytes | None]


class UsedLogInRow(Row):
    """An ended log-in at an issuer: its state is accepted once."""

    __tablename__ = "used_log_ins"

    state_hash: Mapped[BytesKey]
    expires_at: Mapped[datetime]


class ActivityRow(Row):
    """One change. `deployment_id` stays when the deployment is gone; `details` never holds a secret."""

    __tablename__ = "activities"
    __table_args__ = (Index("activities_deployment_no_no_idx", "deployment_no", "no"),)

    no: Mapped[RowNo]
    at: Mapped[StoredAt]
    actor: Mapped[str]
    action: Mapped[str]
    deployment_no: Mapped[int | None] = refers_to("deployments.no", ondelete="SET NULL")
    deployment_id: Mapped[str | None]
    subject: Mapped[str | None]
    details: Mapped[JsonObject]


class ApiKeyRow(Row):
    """`id` is the public part of the key's text, `secret_hash` the SHA-256 of all of it.

    `last_used_at` is up to a minute old. `replaces` is the key that a rotation made it for.
    """

    __tablename__ = "api_keys"

    no: Mapped[ShortRowNo]
    id: Mapped[UniqueText]
    name: Mapped[str]
    role: Mapped[str]
    deployment_no: Mapped[BoundDeploymentNo]
    secret_hash: Mapped[bytes]
    created_at: Mapped[StoredAt]
    revoked_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    replaces: Mapped[str | None]


class KeyLimitsRow(Row):
    """Limits of one key; NULL: none. `max_bytes` bounds all records that it ever sends.

    No foreign key, so that a write waits for nobody; ids of keys are never used again. So with `KeyUseRow`.
    """

    __tablename__ = "key_limits"

    key_id: Mapped[TextKey]
    requests_per_second: Mapped[float | None]
    records_per_second: Mapped[float | None]
    max_bytes: Mapped[Int64 | None]


class KeyUseRow(Row):
    """Use of the ingestion routes by one key since it was first seen."""

    __tablename__ = "key_use"

    key_id: Mapped[TextKey]
    requests: Mapped[Int64]
    records: Mapped[Int64]
    bytes: Mapped[Int64]
    refused: Mapped[Int64]
    first_at: Mapped[StoredAt]
    last_at: Mapped[StoredAt]


class AuditEventRow(Row):
    """One audited event. No foreign keys: it outlives everything it is about.

    A trigger refuses to change or delete it; only sealing fills position and hash, once.
    """

    __tablename__ = "audit_events"
    __table_args__ = (
        Index("audit_events_deployment_id_no_idx", "deployment_id", "no"),
        Index("audit_events_unsealed_idx", "no", postgresql_where=text("position IS NULL")),
    )

    no: Mapped[RowNo]
    at: Mapped[StoredAt]
    actor: Mapped[str]
    action: Mapped[str]
    outcome: Mapped[str]
    address: Mapped[str]
    request_id: Mapped[str]
    route: Mapped[str]
    deployment_id: Mapped[str | None]
    subject: Mapped[str | None]
    details: Mapped[JsonObject]
    position: Mapped[int | None] = mapped_column(BigInteger, unique=True)
    hash: Mapped[bytes | None]
