"""Messages about alerts, and attempts to deliver them."""

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import httpx

from ...base.errors import EndpointRefused
from ...base.settings import Settings
from ...base.values import frozen, frozen_by_name
from ...calls.call_failures import build_error_failure, build_status_failure, excerpt
from ...calls.egress_policy import EgressPolicy, parse_url
from ...calls.pinned_transport import PinnedTransport, Resolver, resolve
from ...calls.scoring.ask_page import retry_after_seconds
from ...domain.alert import Alert, Event, read_display_sentence

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
    """A stored notification. `id` is the same in every attempt; a test has no `alert_ids`. `next_attempt_at`
    is None in a final state; during an attempt it is the time from which that attempt counts as lost.
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


MAX_LISTED_ALERTS = 5

_ALERT_MEMBERS = (
    *("id", "state", "kind", "attribute", "group", "group_name", "opened_at", "last_seen_at"),
    *("acknowledged_at", "acknowledged_by", "note", "resolved_at", "resolution", "closed_by", "closing_note"),
    *("closing_reason", "assignee", "change"),
)

_FIGURE_MEMBERS = ("rule_id", "rule_name", "data", "metric", "facts")

_EVENT_PHRASES = {
    Event.OPENED: "alerts were opened",
    Event.REMINDED: "alerts are not acknowledged",
    Event.ACKNOWLEDGED: "alerts were acknowledged",
    Event.RESOLVED: "alerts were resolved",
}


def build_alert_message(event: Event, alerts: Sequence[Alert], *, now: datetime) -> dict[str, Any]:
    """The worst first."""
    first = alerts[0]
    worded = first.change if event is Event.EXPLAINED and first.change is not None else first.facts
    sentence, display = str(worded.get("sentence", "")), read_display_sentence(worded)
    path = f"/alerts/{first.id}"
    if len(alerts) > 1:
        path = f"/deployments/{first.deployment_id}/alerts"
        sentence = f"{len(alerts):,} {_EVENT_PHRASES[event]}."
        if len(alerts) > MAX_LISTED_ALERTS:
            sentence = f"{sentence[:-1]}; these are the {MAX_LISTED_ALERTS} worst. The page lists all."
        display = sentence
    return build_message(event, now=now, sentence=sentence, display=display) | {
        "deployment_id": first.deployment_id,
        "deployment_name": first.deployment_name,
        "path": path,
        "count": len(alerts),
        "alerts": [_describe_alert(alert) for alert in alerts[:MAX_LISTED_ALERTS]],
    }


def _describe_alert(alert: Alert) -> dict[str, Any]:
    members = {name: getattr(alert, name) for name in _ALERT_MEMBERS}
    worst = {name: getattr(alert.worst, name) for name in _FIGURE_MEMBERS}
    return {**members, **worst, "figures": len(alert.figures), "path": f"/alerts/{alert.id}"}


def build_test_message(*, now: datetime) -> dict[str, Any]:
    return build_message(Event.TEST, now=now, sentence=TEST_SENTENCE, display=TEST_SENTENCE)


def build_message(event: Event, *, now: datetime, sentence: str, display: str) -> dict[str, Any]:
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


NOTIFICATION_LEASE = timedelta(seconds=60)
"""After so long a silence of its sender it is sent again: at least twice as long as an attempt may take."""

GIVE_UP_AFTER = timedelta(days=3)

RETENTION = timedelta(days=90)
"""Longer while its alert is open, so that the alert is not sent twice."""

FIRST_PAUSE_SECONDS = 5.0
MAX_PAUSE_SECONDS = 15 * 60.0
"""Delay at most until a receiver that works again is noticed."""


@frozen_by_name
class Attempt:
    id: str
    body: Mapping[str, Any]
    url: str | None
    to: tuple[str, ...]
    secret: str = field(repr=False)
    now: datetime
    settings: Settings
    egress: Callable[[], EgressPolicy]
    attachment: bytes | None = field(default=None, repr=False)


@frozen
class Delivered:
    """Success of an attempt; the `remark` names addresses that were refused."""

    remark: str | None = None


@frozen_by_name
class Undelivered:
    """Failure of an attempt, without secrets. `answer` is the receiver's text; `is_refused`: it refused this
    content.
    """

    reason: str
    answer: str = ""
    is_refused: bool = False
    retry_after: str | None = None

    @property
    def sentence(self) -> str:
        return f'{self.reason} It answered "{self.answer}".' if self.answer else self.reason


def find_pause_after(attempts: int, failure: Undelivered, now: datetime) -> timedelta:
    """Pause that doubles after each of `attempts` (from 1); at least the one that the receiver asks for."""
    pause = min(FIRST_PAUSE_SECONDS * 2.0 ** min(attempts - 1, 10), MAX_PAUSE_SECONDS)
    return timedelta(seconds=max(pause, retry_after_seconds(failure.retry_after, now) or 0.0))


def choose_state_after_failure(
    notification: Notification, *, is_refused: bool, now: datetime
) -> NotificationState:
    # A test is not repeated: the page that sent it shows its result.
    if notification.event is Event.TEST or now - notification.created_at >= GIVE_UP_AFTER:
        return NotificationState.GIVEN_UP
    return NotificationState.REFUSED if is_refused else NotificationState.WAITING


TIMEOUT_SECONDS = 10.0

_MAX_ANSWER_BYTES = 4096
_CONTENT_AT_FAULT = frozenset({400, 409, 411, 413, 415, 422})
_MIN_SECRET_CHARACTERS = 6


def post_json(
    url: str,
    body: bytes,
    headers: list[tuple[str, str]],
    policy: EgressPolicy,
    *,
    resolver: Resolver = resolve,
) -> Delivered | Undelivered:
    """Posts to a receiver, and removes the secrets of the URL from its answer. Blocks: do not call it from a
    running event loop.
    """
    try:
        parsed = parse_url(url)
        transport = PinnedTransport(policy, connections=1, resolver=resolver)
        # `asyncio.run` would wait for a name server that does not answer, for minutes.
        loop = asyncio.new_event_loop()
        try:
            outcome = loop.run_until_complete(
                _post(parsed, body, headers, transport, quotes=policy.shows_answers)
            )
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
    except EndpointRefused as error:
        return Undelivered(reason=str(error))
    if isinstance(outcome, Delivered):
        return outcome

    # The path gives access to some receivers, and they echo it. The longest piece first, so that none is left
    # in part.
    pieces = {parsed.raw_path.decode("ascii"), parsed.path, *parsed.path.split("/")}
    pieces |= {piece for pair in parsed.params.multi_items() for piece in pair}
    reason = outcome.reason
    answer = outcome.answer
    for piece in sorted(
        (piece for piece in pieces if len(piece) >= _MIN_SECRET_CHARACTERS), key=len, reverse=True
    ):
        reason = reason.replace(piece, "[redacted]")
        answer = answer.replace(piece, "[redacted]")
    return replace(outcome, reason=reason, answer=answer)


async def _post(
    url: httpx.URL, body: bytes, headers: list[tuple[str, str]], transport: PinnedTransport, *, quotes: bool
) -> Delivered | Undelivered:
    all_headers = [
        ("Content-Type", "application/json"),
        ("Accept-Encoding", "identity"),
        ("User-Agent", "evenhand"),
        *headers,
    ]
    host = url.netloc.decode("ascii")
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS), transport:
            response = await transport.handle_async_request(
                httpx.Request("POST", url, headers=all_headers, content=body)
            )
            async with aclosing(response):
                if response.is_success:
                    return Delivered()
                answer = b""
                async for chunk in response.aiter_raw():
                    answer += chunk
                    if len(answer) >= _MAX_ANSWER_BYTES:
                        break
    except TimeoutError:
        return Undelivered(reason=f"The receiver {host} did not answer within {TIMEOUT_SECONDS:g} seconds.")
    except httpx.RequestError as error:
        return Undelivered(reason=f"The receiver {host} {build_error_failure(error).what}.")

    failure = build_status_failure(response, answer, quotes=quotes)
    return Undelivered(
        reason=f"The receiver {host} {failure.what}.",
        answer=excerpt(answer[:_MAX_ANSWER_BYTES].decode(errors="replace")) if quotes else "",
        is_refused=response.status_code in _CONTENT_AT_FAULT,
        retry_after=response.headers.get("retry-after"),
    )
