"""How far the audit was sent to a sink. One worker at a time sends; one that dies is followed by another after a minute."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...domain.audit import AuditEvent
from ..tables import AuditEventRow, AuditSinkRow
from .audit_events import read_event

USED = timedelta(minutes=10)
"""Time after the last look of a worker for which a sink counts as used; the setting may name another one now."""

SENT_AT_ONCE = 500
"""Max events that are sent in one request."""

TAKEN = timedelta(seconds=90)
"""Time after which another worker sends in place of one that gave no sign."""


def take_sink(session: Session, sink: str) -> int | None:
    """Returns the position of the last event that the sink has, and reserves it for the caller; None while another has it."""
    session.execute(insert(AuditSinkRow).values(sink=sink, position=0).on_conflict_do_nothing())
    free = or_(AuditSinkRow.taken_until.is_(None), AuditSinkRow.taken_until < func.now())
    taken = {"taken_until": func.now() + TAKEN, "looked_at": func.now()}
    statement = update(AuditSinkRow).where(AuditSinkRow.sink == sink, free).values(taken).returning(AuditSinkRow.position)
    return session.scalar(statement.execution_options(synchronize_session=False))


def events_after(session: Session, position: int) -> Sequence[AuditEvent]:
    """Returns the next sealed events, in the order of the chain."""
    wanted = select(AuditEventRow).where(AuditEventRow.position > position).order_by(AuditEventRow.position).limit(SENT_AT_ONCE)
    return [read_event(row) for row in session.scalars(wanted)]


def note_sent(session: Session, sink: str, *, before: int, position: int) -> None:
    """Notes that the sink has the events up to `position`, unless another worker, which began from `before` as well, noted more."""
    statement = update(AuditSinkRow).where(AuditSinkRow.sink == sink, AuditSinkRow.position == before)
    session.execute(statement.values(position=position, sent_at=func.now(), taken_until=func.now() + TAKEN))


def give_back(session: Session, sink: str, *, error: str | None) -> None:
    """Lets the next look send; `error` says why events are left."""
    session.execute(update(AuditSinkRow).where(AuditSinkRow.sink == sink).values(taken_until=None, last_error=error))


def oldest_unsent(session: Session) -> datetime | None:
    """Returns the time of the oldest sealed event that a sink in use does not have; None if there is none."""
    after = AuditEventRow.position == AuditSinkRow.position + 1
    used = AuditSinkRow.looked_at > func.now() - USED
    return session.scalar(select(func.min(AuditEventRow.at)).select_from(AuditSinkRow).join(AuditEventRow, after).where(used))


def failing_sinks(session: Session) -> Sequence[str]:
    """Returns the reasons for which sinks in use did not take events at the last attempt."""
    failing = (AuditSinkRow.looked_at > func.now() - USED, AuditSinkRow.last_error.is_not(None))
    return [reason for reason in session.scalars(select(AuditSinkRow.last_error).where(*failing)) if reason is not None]
