"""The processes that run checks and send alerts."""

from datetime import datetime

from sqlalchemy import func
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Row


class WorkerRow(Row):
    """One worker process, and its last heartbeat on the database's clock. A process that starts again is a new worker."""

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(primary_key=True)
    started_at: Mapped[datetime] = mapped_column(server_default=func.now())
    beat_at: Mapped[datetime] = mapped_column(server_default=func.now())
