"""Heartbeats of workers, on the database's clock."""

from datetime import timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...database.tables import WorkerRow
from .worker_state import FORGOTTEN_AFTER, SILENT_AFTER, WorkersSeen


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
