"""Workers, and what they have to know of the service."""

from sqlalchemy import SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from .base import Row, StoredAt, TextKey


class WorkerRow(Row):
    """One worker process, and its last heartbeat. A process that starts again is a new worker."""

    __tablename__ = "workers"

    id: Mapped[TextKey]
    started_at: Mapped[StoredAt]
    beat_at: Mapped[StoredAt]


class ListenerRow(Row):
    """The address of the service that started last. `exposed_on` is NULL on loopback."""

    __tablename__ = "listener"

    no: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    exposed_on: Mapped[str | None]
    started_at: Mapped[StoredAt]
