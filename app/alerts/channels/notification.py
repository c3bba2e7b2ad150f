"""Notifications of alerts: messages, and the state of their delivery."""

import uuid
from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from typing import Any

from ...base.values import frozen_by_name
from ...domain.alert import Alert, Event, display_sentence

TEST_SENTENCE = "This is a test. It says nothing about any deployment."


class NotificationState(StrEnum):
    """The state of a notification. `waiting` and `refused` are still tried; the other two are final.

    A `refused` one was answered as if its content were at fault: it lets notifications of other alerts pass.
    """

    WAITING = "waiting"
    REFUSED = "refused"
    SENT = "sent"
    GIVEN_UP = "given_up"


@frozen_by_name
class Notification:
    """One message to one channel. `id` is the same in every attempt; `alert_id` is None for a test.

    `next_attempt_at` is None once it is over; during an attempt it is the time from which that attempt
    counts as lost.
    """

    no: int
    id: str
    channel_no: int
    channel_id: str
    alert_id: str | None
    event: Event
    body: dict[str, Any]
    state: NotificationState
    attempts: int
    next_attempt_at: datetime | None
    last_error: str | None
    created_at: datetime
    sent_at: datetime | None


_MEMBERS = (
    *("id", "state", "deployment_id", "deployment_name", "rule_id", "rule_name", "kind", "group_name"),
    *("opened_at", "last_seen_at", "acknowledged_at", "acknowledged_by", "note", "resolved_at", "resolution"),
    *("closed_by", "closing_note", "closing_reason", "assignee", "facts", "change"),
)
"""Members of an alert that receivers get, in addition to those of its subject."""


def alert_message(alert: Alert, event: Event, *, now: datetime) -> dict[str, Any]:
    about = (
        {name: getattr(alert, name) for name in _MEMBERS}
        | asdict(alert.subject)
        | {"path": f"/alerts/{alert.id}"}
    )
    worded = alert.change if event is Event.EXPLAINED and alert.change is not None else alert.facts
    return new_message(
        event,
        now=now,
        sentence=str(worded.get("sentence", "")),
        display=display_sentence(worded),
        about=about,
    )


def message_of_test(*, now: datetime) -> dict[str, Any]:
    return new_message(Event.TEST, now=now, sentence=TEST_SENTENCE, display=TEST_SENTENCE, about=None)


def new_message(
    event: Event, *, now: datetime, sentence: str, display: str, about: dict[str, Any] | None
) -> dict[str, Any]:
    """Returns a message with an id of its own, which becomes JSON once it is stored."""
    return {
        "type": f"alert.{event.value}",
        "id": str(uuid.uuid4()),
        "event": event,
        "timestamp": now,
        "sentence": sentence,
        "display_sentence": display,
        "alert": about,
    }
