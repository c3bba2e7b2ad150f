"""Sends sealed events of the audit to the operator's sink, in the order of the chain, each at least once."""

from typing import Final

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..errors import Unavailable
from ..outbound.audit_sink import AuditSink, SinkAway
from ..store.database.engine import Database
from ..store.people.audit_sinks import events_after, give_back, note_sent, take_sink

SECONDS_BETWEEN_LOOKS: Final = 15
"""Max seconds between the sealing of an event and its sending, while the sink takes events."""

log = structlog.get_logger(__name__)


def send_audit(database: Database, sink: AuditSink) -> None:
    """Sends everything that the sink does not have yet. If sink or database are away, the next call goes on."""
    try:
        _send(database, sink)
    except (Unavailable, SQLAlchemyError) as error:
        log.warning("audit_sink_delayed", error=str(error))


def _send(database: Database, sink: AuditSink) -> None:
    with database.transaction() as session:
        position = take_sink(session, sink.address)
    if position is None:
        return
    failure, sent = None, 0
    try:
        while True:
            with database.transaction() as session:
                events = events_after(session, position)
            if not events:
                break
            sink.send(events)
            last = events[-1].position or position
            with database.transaction() as session:
                note_sent(session, sink.address, before=position, position=last)
            position, sent = last, sent + len(events)
    except SinkAway as error:
        failure = str(error)
        log.warning("audit_sink_failed", reason=failure, next_try_seconds=SECONDS_BETWEEN_LOOKS)
    with database.transaction() as session:
        give_back(session, sink.address, error=failure)
    if sent:
        log.info("audit_sent", events=sent, position=position)
