"""The fairness monitor of a deployment."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, func
from sqlalchemy.orm import Mapped, mapped_column

from .base import Row


class MonitorRow(Row):
    """One monitor; `schedule` is a column for the tick.

    Hours before `scheduled_since` are not checked. `attribution` is done every night since `nightly_since`; NULL: nothing is. No version
    counts them.
    """

    __tablename__ = "monitors"

    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"), primary_key=True, autoincrement=False)
    version: Mapped[int]
    schedule: Mapped[str]
    config: Mapped[dict[str, Any]]
    scheduled_since: Mapped[datetime] = mapped_column(server_default=func.now())
    attribution: Mapped[dict[str, Any] | None]
    nightly_since: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())
