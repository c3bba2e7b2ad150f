"""Workers by their heartbeats, on the database's clock: without one no check runs and no alert is sent."""

from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...base.values import frozen_by_name
from ...database.tables import WorkerRow

BEAT_SECONDS = 10

SILENT_AFTER = timedelta(seconds=45)

FORGOTTEN_AFTER = timedelta(hours=1)


class WorkerState(StrEnum):
    """State of all workers together; `silent`: none answers, but one did once; `never_seen`: none ever
    did.
    """

    ANSWERING = "answering"
    SILENT = "silent"
    NEVER_SEEN = "never_seen"


@frozen_by_name
class WorkersSeen:
    """Number of workers that answer, and their newest heartbeat; None where there never was one. On the
    database's clock.
    """

    answering: int
    last_seen_at: datetime | None

    @property
    def state(self) -> WorkerState:
        if self.answering:
            return WorkerState.ANSWERING
        return WorkerState.SILENT if self.last_seen_at else WorkerState.NEVER_SEEN


def record_beat(session: Session, worker_id: str) -> None:
    """Notes that the worker is there now; deletes those that were silent for FORGOTTEN_AFTER."""
    session.execute(
        insert(WorkerRow)
        .values(id=worker_id)
        .on_conflict_do_update(index_elements=[WorkerRow.id], set_={"beat_at": func.now()})
    )
    # A beat to come is from a clock that was ahead.
    is_present = WorkerRow.beat_at.between(func.now() - FORGOTTEN_AFTER, func.now())
    session.execute(delete(WorkerRow).where(~is_present, WorkerRow.id != worker_id))


def workers_seen(session: Session, *, silent_after: timedelta = SILENT_AFTER) -> WorkersSeen:
    answers = WorkerRow.beat_at > func.now() - silent_after
    answering, last_seen_at = session.execute(
        select(func.count().filter(answers), func.max(WorkerRow.beat_at))
    ).one()
    return WorkersSeen(answering=answering, last_seen_at=last_seen_at)
