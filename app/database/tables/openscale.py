"""Facts that the OpenScale SDK must find again, read by its face's own SQL."""

from typing import Any

from sqlalchemy.orm import Mapped

from .base import BoundDeploymentNo, Row, StoredAt, TextKey


class OpenScaleFactRow(Row):
    """A service provider, or what a subscription knows and its deployment does not.

    `secrets` are a provider's credentials and headers, encrypted. Here because key rotation, backups and erasure know every table, also
    without the face.
    """

    __tablename__ = "openscale_facts"

    kind: Mapped[TextKey]
    id: Mapped[TextKey]
    deployment_no: Mapped[BoundDeploymentNo]
    entity: Mapped[dict[str, Any]]
    secrets: Mapped[bytes | None]
    created_at: Mapped[StoredAt]
    created_by: Mapped[str]
    modified_at: Mapped[StoredAt]
