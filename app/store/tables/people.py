"""People, their sessions, and the log of changes."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from .base import BoundDeploymentNo, BytesKey, Row, RowNo, ShortRowNo, StoredAt, UniqueText


class UserRow(Row):
    """One person. `password_hash` is Argon2's text; a person of an issuer has `issuer` and `subject` instead."""

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

    `token_hash` is the SHA-256 of the cookie. `id_token` is an issuer's, encrypted: it is sent back at log-out.
    """

    __tablename__ = "sessions"

    token_hash: Mapped[BytesKey]
    user_no: Mapped[int | None] = mapped_column(ForeignKey("users.no", ondelete="CASCADE"), index=True)
    key_no: Mapped[int | None] = mapped_column(ForeignKey("api_keys.no", ondelete="CASCADE"), index=True)
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
    deployment_no: Mapped[int | None] = mapped_column(ForeignKey("deployments.no", ondelete="SET NULL"))
    deployment_id: Mapped[str | None]
    subject: Mapped[str | None]
    details: Mapped[dict[str, Any]]
