"""The fairness monitor of a deployment."""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Mapped

from .base import DeploymentKey, Row, StoredAt


class MonitorRow(Row):
    """One monitor; `schedule` is a column for the tick.

    Hours before `scheduled_since` are not checked. `attribution` is done every night since `nightly_since`; NULL: nothing is. No version
    counts them.
    """

    __tablename__ = "monitors"

    deployment_no: Mapped[DeploymentKey]
    version: Mapped[int]
    schedule: Mapped[str]
    config: Mapped[dict[str, Any]]
    scheduled_since: Mapped[StoredAt]
    attribution: Mapped[dict[str, Any] | None]
    nightly_since: Mapped[datetime | None]
    created_at: Mapped[StoredAt]
    updated_at: Mapped[StoredAt]
