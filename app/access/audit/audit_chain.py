"""Audit events and their hash chain: each sealed event's hash covers the event, its position and the hash
before it.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from ...base.frozen import frozen, frozen_by_name

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
    """One audited event. `position` (from 1) and `hash` (32 bytes) are absent until the event is sealed.

    `address` and `request_id` are empty for commands and schedules, `route` is the method and template of
    a request's address.
    """

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
    position: int | None = None
    hash: bytes | None = None


@frozen
class ChainHead:
    """The position of an event, 0 before the first one, and its hash."""

    position: int
    hash: bytes


@frozen
class ChainReport:
    """Result of checking a chain. `head` is the last intact event, `fault` says what differs after it;
    None if nothing.
    """

    head: ChainHead
    fault: str | None


def event_document(event: AuditEvent) -> dict[str, Any]:
    return {
        "position": event.position,
        "no": event.no,
        "at": event.at.astimezone(UTC).isoformat(timespec="microseconds"),
        "actor": event.actor,
        "action": event.action,
        "outcome": event.outcome,
        "address": event.address,
        "request_id": event.request_id,
        "route": event.route,
        "deployment_id": event.deployment_id,
        "subject": event.subject,
        "details": dict(event.details),
    }


def audit_line(event: AuditEvent) -> str:
    """Returns a sealed event as a line of an export, without its end: JSON in ASCII, with its hash."""
    return json.dumps(
        {**event_document(event), "hash": event.hash.hex() if event.hash else None}, allow_nan=False
    )


def chain_hash(previous: bytes, event: AuditEvent) -> bytes:
    """Returns the SHA-256 of the hash before the event (32 bytes) and the event as JSON with sorted names,
    in ASCII.
    """
    document = json.dumps(event_document(event), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(previous + document.encode("ascii")).digest()


def check_chain(events: Iterable[AuditEvent], *, anchor: ChainHead | None = None) -> ChainReport:
    """Returns whether sealed events, in the order of their positions, are complete and as they were sealed.

    `anchor` is a head that was noted earlier. Without one, events removed at the end of the chain cannot
    be noticed.
    """
    head = ChainHead(0, FIRST_HASH)
    for event in events:
        expected = head.position + 1
        if event.position != expected:
            return ChainReport(
                head,
                f"The event of position {expected} is missing; the next one found has position "
                f"{event.position}.",
            )
        hashed = chain_hash(head.hash, event)
        if event.hash != hashed:
            return ChainReport(
                head,
                f"The event of position {expected} (no. {event.no}) is not as it was sealed: its hash "
                "differs.",
            )
        head = ChainHead(expected, hashed)
        if anchor is not None and anchor.position == expected and anchor.hash != hashed:
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
