"""Activities, who changed what, and audit events as bodies."""

from datetime import datetime

from pydantic import Field, field_serializer

from ...base.strict_json import JsonObject
from ...web.body import NextPageCursor, Out, PageOut, example
from .event_queries import AuditOutcome

_ACTIVITY = {
    "at": "2026-07-01T12:00:00Z",
    "actor": "k3v7m2qa",
    "action": "monitor.changed",
    "deployment_id": "credit-risk",
    "subject": None,
    "details": {"version": [1, 2], "attributes.Sex.threshold": [0.8, 0.95]},
}


class ActivityOut(Out):
    """One change, and who made it."""

    model_config = example(_ACTIVITY)

    at: datetime
    actor: str
    """The id of an API key, `user:` and a name, or `unknown` for a log-in that failed."""

    action: str = Field(examples=["deployment.changed"])
    """The change, as a noun and a verb."""

    deployment_id: str | None
    """Stays when the deployment is deleted; null for what belongs to none."""

    subject: str | None
    """The thing that was changed, where that is not the deployment itself: the id of a check, or of a key."""

    details: JsonObject
    """The fields that changed, each as `[before, after]`. Long values are cut; `more_changes` counts
    fields left out. Never a secret."""


class ActivityPage(PageOut):
    """A page of changes, newest first."""

    activities: list[ActivityOut]
    next_cursor: NextPageCursor


_EVENT = {
    "no": 7,
    "at": "2026-07-01T12:00:00Z",
    "actor": "k3v7m2qa",
    "action": "records.read",
    "outcome": "done",
    "address": "192.0.2.7",
    "request_id": "4c1f0a9e2b7d4e6f8a3b5c7d9e1f2a4b",
    "route": "GET /v1/deployments/{deployment_id}/payload-records",
    "deployment_id": "credit-risk",
    "subject": None,
    "details": {"ids": {}, "parameters": ["limit"]},
    "position": 5,
    "hash": "8f" * 32,
}


class AuditEventOut(Out):
    """One audited event."""

    model_config = example(_EVENT)

    no: int
    """Number of the event. Numbers are not without gaps: that of a request that was undone is not used
    again."""

    at: datetime
    actor: str
    """The id of an API key, `user:` and a name, `command line`, `schedule`, or `unknown`."""

    action: str = Field(examples=["monitor.changed"])
    """The change, as a noun and a verb."""

    outcome: AuditOutcome
    address: str
    """The client's address; empty for commands and schedules."""

    request_id: str
    """The `X-Request-ID` of the answer; empty without a request."""

    route: str
    """Method and template of the address, without ids; empty without a request."""

    deployment_id: str | None
    subject: str | None
    """The thing that was changed, where that is not the deployment itself."""

    details: JsonObject
    """Names of fields and parameters, ids in the address, counts. No values of records, no secrets."""

    position: int | None
    """Place in the hash chain; null for up to a minute, until the event is sealed."""

    hash: bytes | None
    """SHA-256 of the event and of the hash before it, in hexadecimal digits; null until sealed."""

    @field_serializer("hash")
    def write_hash(self, value: bytes | None) -> str | None:
        return None if value is None else value.hex()


class AuditEventPage(PageOut):
    """A page of audited events, newest first."""

    audit_events: list[AuditEventOut]
    next_cursor: NextPageCursor
