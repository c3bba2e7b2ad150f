"""Bodies of alert channels and of their notifications."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field

from ...domain.alert import Event
from ...web.body import FromText, In, NextPageCursor, Out, PageOut, example, read_from
from .channel import ChannelContent, ChannelKind
from .email import MAX_ADDRESS_CHARACTERS, MAX_RECIPIENTS
from .notification import NotificationState
from .protocol import MAX_URL_CHARACTERS

_CHANNEL = {
    "id": "on-call",
    **ChannelKind.WEBHOOK.protocol.example,
    "host": "alerts.example.com",
    "to": None,
    "secret_set": True,
    "created_at": "2026-07-01T12:00:00Z",
    "updated_at": "2026-07-01T12:00:00Z",
}
_NOTIFICATION = {
    "id": "7b0f4a86-0c52-4a3e-8a34-9d1f3c2b7e55",
    "event": "opened",
    "alerts": ["5f0c7a52-6d0e-4a52-9a53-0d1f3c2b7e11"],
    "state": "waiting",
    "attempts": 3,
    "last_error": "The receiver alerts.example.com answered 503 Service Unavailable.",
    "next_attempt_at": "2026-07-01T13:00:51Z",
    "created_at": "2026-07-01T13:00:36Z",
    "sent_at": None,
}


class AlertChannelIn(In):
    """A channel. The members it needs depend on its kind: `url` of a webhook and of Slack, `to` of e-mail."""

    model_config = ConfigDict(json_schema_extra={"examples": [kind.protocol.example for kind in ChannelKind]})

    name: str = Field(min_length=1, max_length=200)
    kind: FromText[ChannelKind]
    """`slack` is any webhook that takes what Slack's takes."""

    url: str | None = Field(default=None, max_length=MAX_URL_CHARACTERS)
    """The URL to POST to. Slack's is a secret: stored encrypted, never returned, and left out to keep the
    stored one."""

    secret: str | None = Field(default=None, max_length=200, json_schema_extra={"writeOnly": True})
    """Signing key of a webhook: `whsec_` and base64. Left out: the stored one stays, or one is made and
    shown once."""

    to: list[Annotated[str, Field(max_length=MAX_ADDRESS_CHARACTERS)]] | None = Field(
        default=None, max_length=MAX_RECIPIENTS
    )
    """E-mail addresses."""

    def to_domain(self) -> ChannelContent:
        return self.read_as(ChannelContent, to=self.to or ())


class AlertChannelOut(Out):
    """A stored channel, without its secrets."""

    model_config = example(_CHANNEL)

    id: str
    name: str
    kind: ChannelKind
    url: str | None
    """A webhook's; null for the other kinds, also for Slack, whose URL is a secret."""

    host: str | None
    """Host of a webhook's or Slack's URL; null for e-mail."""

    to: Annotated[list[str] | None, BeforeValidator(lambda to: to or None)]
    """Of e-mail; null for the other kinds."""

    secret_set: Annotated[bool, BeforeValidator(bool)] = read_from("sealed")
    """Whether a secret is stored; it is never returned."""

    created_at: datetime
    updated_at: datetime


class StoredAlertChannelOut(AlertChannelOut):
    """A channel as it has just been stored."""

    model_config = example({**_CHANNEL, "secret": "whsec_………", "open_alerts_not_sent": 0})

    secret: str | None
    """The signing secret that was made for it, in this answer only; null where none was made. The
    receiver needs it."""

    open_alerts_not_sent: int
    """Open alerts of rules that name the channel that were not sent to it; `POST …/notifications` sends
    them."""


class OpenAlertsIn(In):
    """The open alerts to send. Without it: those that were not sent to the channel before."""

    model_config = example({"again": False})

    again: bool = False
    """Send also those that were sent to it before."""


class OpenAlertsSentOut(Out):
    """The result of sending the open alerts: a notification `opened` for each deployment, with the alerts as
    they are now.
    """

    model_config = example({"queued": 2, "sent_before": 1, "left": 0})

    queued: int
    """Alerts that were queued."""

    sent_before: int
    """Open alerts that were left out, because a notification of them was queued or sent before."""

    left: int
    """Open alerts that wait for the next request: one queues at most 500 for a channel."""

    @classmethod
    def sum(cls, results: Sequence["OpenAlertsSentOut"]) -> "OpenAlertsSentOut":
        return cls(
            queued=sum(result.queued for result in results),
            sent_before=sum(result.sent_before for result in results),
            left=sum(result.left for result in results),
        )


class AlertChannelPage(PageOut):
    """Some channels, oldest first."""

    channels: list[AlertChannelOut]
    next_cursor: NextPageCursor


class NotificationOut(Out):
    """One notification and the state of its delivery."""

    model_config = example(_NOTIFICATION)

    id: str
    """Also the idempotency key that a webhook is sent, and part of the Message-ID of an e-mail."""

    event: Event
    alerts: list[str] = read_from("alert_ids")
    """Ids of the alerts that it is about, also of those that it only counts; none of a test."""

    state: NotificationState
    """`waiting` and `refused` (the receiver finds fault with the content) are still tried; `sent` and
    `given_up` are final."""

    attempts: int
    last_error: str | None
    """The fault of the last attempt."""

    next_attempt_at: datetime | None
    created_at: datetime
    sent_at: datetime | None


class NotificationPage(PageOut):
    """Some notifications, newest first."""

    notifications: list[NotificationOut]
    next_cursor: NextPageCursor
