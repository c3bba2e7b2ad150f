"""Notifications of alerts: messages, and the state of their delivery."""

import uuid
from collections.abc import Sequence
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
    """One message to one channel. `id` is the same in every attempt; a test has no `alert_ids`.

    `next_attempt_at` is None once it is over; during an attempt it is the time from which that attempt
    counts as lost.
    """

    no: int
    id: str
    channel_no: int
    channel_id: str
    alert_ids: Sequence[str]
    event: Event
    body: dict[str, Any]
    state: NotificationState
    attempts: int
    next_attempt_at: datetime | None
    last_error: str | None
    created_at: datetime
    sent_at: datetime | None


MOST_LISTED = 5
"""Max alerts that a message describes, the worst."""

_MEMBERS = (
    *("id", "state", "kind", "attribute", "group", "group_name", "opened_at", "last_seen_at"),
    *("acknowledged_at", "acknowledged_by", "note", "resolved_at", "resolution", "closed_by", "closing_note"),
    *("closing_reason", "assignee", "change"),
)
"""Members of an alert that receivers get, in addition to those of its worst figure."""

_OF_FIGURE = ("rule_id", "rule_name", "data", "metric", "facts")

_HAPPENED = {
    Event.OPENED: "alerts were opened",
    Event.REMINDED: "alerts are not acknowledged",
    Event.ACKNOWLEDGED: "alerts were acknowledged",
    Event.RESOLVED: "alerts were resolved",
}


def alert_message(event: Event, alerts: Sequence[Alert], *, now: datetime) -> dict[str, Any]:
    """Message about alerts of one deployment, the worst first."""
    first = alerts[0]
    worded = first.change if event is Event.EXPLAINED and first.change is not None else first.facts
    sentence, display = str(worded.get("sentence", "")), display_sentence(worded)
    path = f"/alerts/{first.id}"
    if len(alerts) > 1:
        path = f"/deployments/{first.deployment_id}/alerts"
        sentence = f"{len(alerts):,} {_HAPPENED[event]}."
        if len(alerts) > MOST_LISTED:
            sentence = f"{sentence[:-1]}; these are the {MOST_LISTED} worst. The page lists all."
        display = sentence
    return new_message(event, now=now, sentence=sentence, display=display) | {
        "deployment_id": first.deployment_id,
        "deployment_name": first.deployment_name,
        "path": path,
        "count": len(alerts),
        "alerts": [_describe(alert) for alert in alerts[:MOST_LISTED]],
    }


def _describe(alert: Alert) -> dict[str, Any]:
    members = {name: getattr(alert, name) for name in _MEMBERS}
    worst = {name: getattr(alert.worst, name) for name in _OF_FIGURE}
    return {**members, **worst, "figures": len(alert.figures), "path": f"/alerts/{alert.id}"}


def message_of_test(*, now: datetime) -> dict[str, Any]:
    return new_message(Event.TEST, now=now, sentence=TEST_SENTENCE, display=TEST_SENTENCE)


def new_message(event: Event, *, now: datetime, sentence: str, display: str) -> dict[str, Any]:
    """Returns a message without alerts, with an id of its own, which becomes JSON once it is stored."""
    return {
        "type": f"alert.{event.value}",
        "id": str(uuid.uuid4()),
        "event": event,
        "timestamp": now,
        "sentence": sentence,
        "display_sentence": display,
        "count": 0,
        "alerts": [],
    }
