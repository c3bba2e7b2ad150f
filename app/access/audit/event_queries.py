"""Audit events and their hash chain: each hash covers the event, its position and the hash before it.

Writers only insert, so none waits for another; one sealer appends the events to the chain.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import asdict, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol

from sqlalchemy import Select, insert, select, text, update
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.orm import Session

from ...base.errors import Unavailable
from ...base.values import frozen, frozen_by_name
from ...database.binary_rows import equal, page_newest, read_row, within
from ...database.tables import AuditEventRow
from ...domain.paging import Paging

FIRST_HASH = bytes(32)


class AuditOutcome(StrEnum):
    """Result of an audited request or command: done, refused by a rule, or failed by a fault of the
    service.
    """

    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"


@frozen_by_name
class AuditEvent:
    """An audited event. `position` (from 1) and `hash` (32 bytes) are absent until it is sealed. `address`
    and `request_id` are empty for commands and schedules, `route` is the method and template of a request's
    address.
    """

    position: int | None = None
    no: int
    at: datetime
    actor: str
    action: str
    outcome: str
    address: str
    request_id: str
    route: str
    deployment_id: str | None
    subject: str | None
    details: Mapping[str, Any]
    hash: bytes | None = None


@frozen
class ChainHead:
    """Last event of a chain."""

    position: int
    hash: bytes


@frozen
class ChainReport:
    """`head` is the last intact event, `fault` says what differs after it; None if nothing."""

    head: ChainHead
    fault: str | None


def build_event_document(event: AuditEvent) -> dict[str, Any]:
    at = event.at.astimezone(UTC).isoformat(timespec="microseconds")
    document = asdict(event) | {"at": at}
    del document["hash"]
    return document


def write_audit_line(event: AuditEvent) -> str:
    """JSON in ASCII, with the hash, without the line's end."""
    return json.dumps(
        {**build_event_document(event), "hash": event.hash.hex() if event.hash else None}, allow_nan=False
    )


def hash_event(previous: bytes, event: AuditEvent) -> bytes:
    """SHA-256 of `previous` (32 bytes) and the event as JSON with sorted names, in ASCII."""
    document = json.dumps(build_event_document(event), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(previous + document.encode("ascii")).digest()


def check_chain(events: Iterable[AuditEvent], *, anchor: ChainHead | None = None) -> ChainReport:
    """Without an `anchor`, a head that was noted earlier, events removed at the end cannot be noticed."""
    head = ChainHead(0, FIRST_HASH)
    for event in events:
        expected = head.position + 1
        if event.position != expected:
            return ChainReport(
                head,
                f"The event of position {expected} is missing; the next one found has position "
                f"{event.position}.",
            )
        event_hash = hash_event(head.hash, event)
        if event.hash != event_hash:
            return ChainReport(
                head,
                f"The event of position {expected} (no. {event.no}) is not as it was sealed: its hash "
                "differs.",
            )
        head = ChainHead(expected, event_hash)
        if anchor is not None and anchor.position == expected and anchor.hash != event_hash:
            return ChainReport(
                head,
                f"The hash at position {expected} is not the one that was noted: the chain was written "
                "again.",
            )
    if anchor is not None and anchor.position > head.position:
        return ChainReport(
            head,
            f"The chain ends at position {head.position}, but position {anchor.position} was noted: its end "
            "was removed.",
        )
    return ChainReport(head, None)


MAX_SEALED_EVENTS = 10_000

BATCH_ROWS = 1000

_SEALER_LOCK = text("SELECT pg_try_advisory_xact_lock(4540261145)")


class ChangeOrigin(Protocol):
    """Request that an event comes from; counts its events."""

    @property
    def address(self) -> str: ...

    @property
    def request_id(self) -> str: ...

    @property
    def route(self) -> str:
        """Method and template of the address."""

    def count_event(self, action: str) -> None: ...


ORIGIN: ContextVar[ChangeOrigin | None] = ContextVar("origin", default=None)


@frozen_by_name
class AuditFilter:
    """Events to list; None filters nothing."""

    actor: str | None = None
    action: str | None = None
    deployment_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None


def insert_event(
    session: Session,
    *,
    actor: str,
    action: str,
    outcome: AuditOutcome = AuditOutcome.DONE,
    deployment_id: str | None = None,
    subject: str | None = None,
    details: Mapping[str, Any],
    address: str = "",
) -> None:
    """`details` has names, counts, ids only. Raises Unavailable: the transaction must not be committed."""
    origin = ORIGIN.get()
    values = {
        "actor": actor,
        "action": action,
        "outcome": outcome,
        "address": origin.address if origin else address,
        "request_id": origin.request_id if origin else "",
        "route": origin.route if origin else "",
        "deployment_id": deployment_id,
        "subject": subject,
        "details": dict(details),
    }
    try:
        session.execute(insert(AuditEventRow).values(values))
    except OperationalError:
        raise  # such as a database that went away
    except DatabaseError as error:
        raise Unavailable(
            "The audit event of this request could not be stored, so nothing was changed and its answer is "
            "withheld. Try again in a moment."
        ) from error
    if origin:
        origin.count_event(action)


def page_events(session: Session, filters: AuditFilter, paging: Paging) -> list[AuditEvent]:
    return [
        read_row(AuditEvent, row)
        for row in session.scalars(page_newest(_select(filters), AuditEventRow.no, paging))
    ]


def read_sealed_events(
    session: Session, filters: AuditFilter | None = None, *, first: int = 1
) -> Iterator[AuditEvent]:
    after = first - 1
    while True:
        statement = (
            _select(filters or AuditFilter())
            .where(AuditEventRow.position > after)
            .order_by(AuditEventRow.position)
        )
        rows = session.scalars(statement.limit(BATCH_ROWS)).all()
        for row in rows:
            yield read_row(AuditEvent, row)
            after = row.position or after
        if len(rows) < BATCH_ROWS:
            return
        session.expunge_all()  # the session would keep a long chain


def read_unsealed(session: Session) -> tuple[int, datetime | None]:
    row = session.execute(text("SELECT count(*), min(at) FROM audit_events WHERE position IS NULL")).one()
    return int(row[0]), row[1]


def seal_events(session: Session) -> list[AuditEvent]:
    """Returns the sealed events; none while another process does it."""
    if not session.scalar(_SEALER_LOCK):
        return []
    last = session.execute(
        select(AuditEventRow.position, AuditEventRow.hash).order_by(
            AuditEventRow.position.desc().nulls_last()
        )
    ).first()
    position, event_hash = (last.position or 0, last.hash or FIRST_HASH) if last else (0, FIRST_HASH)
    waiting = (
        select(AuditEventRow)
        .where(AuditEventRow.position.is_(None))
        .order_by(AuditEventRow.no)
        .limit(MAX_SEALED_EVENTS)
    )
    sealed = []
    for row in session.scalars(waiting):
        position += 1
        event = read_row(AuditEvent, row, position=position)
        event_hash = hash_event(event_hash, event)
        sealed.append(replace(event, hash=event_hash))
    if sealed:
        seals = [{"no": event.no, "position": event.position, "hash": event.hash} for event in sealed]
        session.execute(update(AuditEventRow), seals)
    return sealed


def _select(filters: AuditFilter) -> Select[AuditEventRow]:
    columns = {
        AuditEventRow.actor: filters.actor,
        AuditEventRow.action: filters.action,
        AuditEventRow.deployment_id: filters.deployment_id,
    }
    return select(AuditEventRow).where(
        *equal(columns), *within(AuditEventRow.at, filters.since, filters.until)
    )
