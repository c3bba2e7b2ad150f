"""Heartbeats of workers, on the database's clock; the web service's address, and the database's name."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum

from sqlalchemy import delete, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from ...base.values import frozen
from ...database.tables import ListenerRow, WorkerRow

BEAT_SECONDS = 10
"""Pause between two heartbeats of a worker."""

SILENT_AFTER = timedelta(seconds=45)
"""Time without a heartbeat after which a worker counts as silent."""

FORGOTTEN_AFTER = timedelta(hours=1)
"""Time without a heartbeat after which a worker's row is deleted."""

RUNBOOK = "docs/operations/runbook.md#no-worker-answers"

_SILENT = (
    "No worker has answered since {since}. Checks and alerts wait; logging goes on, and nothing that "
    "is logged is lost."
)
_NEVER_SEEN = (
    "No worker has answered yet. Checks and alerts wait; logging goes on, and nothing that is logged is lost."
)
_START = "Start one with evenhand worker, or with evenhand serve, which runs one itself."
_START_AGAIN = (
    "The end of the worker's log says why it stopped. Start it again with evenhand worker or evenhand serve."
)

_LISTENER_NO = 1
"""Number of the only row of its table."""


class WorkerState(StrEnum):
    """State of all workers together; `silent`: none answers, but one did once; `never_seen`: none ever
    did.
    """

    ANSWERING = "answering"
    SILENT = "silent"
    NEVER_SEEN = "never_seen"


@frozen
class WorkersSeen:
    answering: int
    last_seen_at: datetime | None

    @property
    def state(self) -> WorkerState:
        if self.answering:
            return WorkerState.ANSWERING
        return WorkerState.SILENT if self.last_seen_at else WorkerState.NEVER_SEEN


def record_beat(session: Session, worker_id: str) -> None:
    """Records a heartbeat, and deletes workers that were silent for `FORGOTTEN_AFTER`."""
    session.execute(
        insert(WorkerRow)
        .values(id=worker_id)
        .on_conflict_do_update(index_elements=[WorkerRow.id], set_={"beat_at": func.now()})
    )
    # A beat in the future is from a clock that was ahead.
    is_present = WorkerRow.beat_at.between(func.now() - FORGOTTEN_AFTER, func.now())
    session.execute(delete(WorkerRow).where(~is_present, WorkerRow.id != worker_id))


def read_workers_seen(session: Session, *, silent_after: timedelta = SILENT_AFTER) -> WorkersSeen:
    is_answering = WorkerRow.beat_at > func.now() - silent_after
    answering, last_seen_at = session.execute(
        select(func.count().filter(is_answering), func.max(WorkerRow.beat_at))
    ).one()
    return WorkersSeen(answering, last_seen_at)


def record_listener(session: Session, exposed_on: str | None) -> None:
    """Records that the web service starts; `exposed_on` is its address if other machines reach it."""
    values = {"exposed_on": exposed_on, "started_at": func.now()}
    session.execute(
        insert(ListenerRow)
        .values(no=_LISTENER_NO, **values)
        .on_conflict_do_update(index_elements=[ListenerRow.no], set_=values)
    )


def read_exposed_address(session: Session) -> str | None:
    return session.scalar(select(ListenerRow.exposed_on).where(ListenerRow.no == _LISTENER_NO))


def name_installation(session: Session) -> str | None:
    """Returns a name that only this database has; None where the server does not let everybody read it."""
    statement = "SELECT system_identifier || ' ' || oid FROM pg_control_system(), pg_database"
    try:
        with session.begin_nested():
            return str(session.scalar(text(f"{statement} WHERE datname = current_database()")))
    except ProgrammingError:
        return None


@frozen
class WorkerNotice:
    sentence: str
    next_step: str


def choose_notice(workers: WorkersSeen) -> WorkerNotice | None:
    match workers.state:
        case WorkerState.ANSWERING:
            return None
        case WorkerState.NEVER_SEEN:
            return WorkerNotice(_NEVER_SEEN, _START)
        case WorkerState.SILENT:
            at = workers.last_seen_at
            since = (
                "a time that is not known" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
            )
            return WorkerNotice(_SILENT.format(since=since), _START_AGAIN)


def describe_silence(workers: WorkersSeen) -> str | None:
    notice = choose_notice(workers)
    return f"{notice.sentence.partition('. ')[0]}." if notice else None
