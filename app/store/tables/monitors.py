"""The fairness monitor of a deployment."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, func
from sqlalchemy.orm import Mapped, mapped_column

from .base import Row


class MonitorRow(Row):
    """One monitor; `schedule` is a column besides `config` because the tick asks for it.

    `scheduled_since` is when the schedule was last switched on: hours before it are not checked. `attribution` holds what is attributed
    every night, `nightly_since` when that was switched on; both NULL: nothing is. They are not part of what a version counts.
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
