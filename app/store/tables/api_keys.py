"""API keys: only what identifies one."""

from datetime import datetime

from sqlalchemy.orm import Mapped

from .base import BoundDeploymentNo, Row, ShortRowNo, StoredAt, UniqueText


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
