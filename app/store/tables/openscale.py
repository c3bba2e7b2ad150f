"""Facts that the OpenScale SDK must find again, read by its face's own SQL."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, func
from sqlalchemy.orm import Mapped, mapped_column

from .base import Row


class OpenScaleFactRow(Row):
    """A service provider, or what a subscription knows and its deployment does not.

    `secrets` are a provider's credentials and headers, encrypted. Here because key rotation, backups and erasure know every table, also
    without the face.
    """

    __tablename__ = "openscale_facts"

    kind: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    deployment_no: Mapped[int | None] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"), index=True)
    entity: Mapped[dict[str, Any]]
    secrets: Mapped[bytes | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    created_by: Mapped[str]
    modified_at: Mapped[datetime] = mapped_column(server_default=func.now())
