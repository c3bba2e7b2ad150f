"""Sends one claimed notification. Stores nothing."""

import asyncio
import base64
import hmac
import re
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from typing import Any

import httpx
import msgspec

from ...base.errors import EndpointRefused, SetupError
from ...base.frozen import frozen
from ...base.settings import Settings
from ...calls.call_failures import excerpt, failure_of_error, failure_of_status
from ...calls.egress_policy import EgressPolicy, parse_url
from ...calls.pinned_transport import PinnedTransport, Resolver, resolve
from ...database.sealer import Sealer
from ..words import facts, headline, sentence
from .attempt import Delivered, Undelivered
from .channel import ChannelKind, secret_bytes
from .email import alert_mail, send_mail
from .mail_server import MailServer, read_mail_server
from .notification_queries import ClaimedNotification

TIMEOUT_SECONDS = 10.0

_MOST_ANSWER_BYTES = 4096
_CONTENT_AT_FAULT = frozenset({400, 409, 411, 413, 415, 422})
_LEAST_SECRET_CHARACTERS = 6


def post_json(
    url: str,
    body: bytes,
    headers: list[tuple[str, str]],
    policy: EgressPolicy,
    *,
    resolver: Resolver = resolve,
) -> Delivered | Undelivered:
    """Sends the body. Blocks: do not call it from a running event loop."""
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
    reason, answer = outcome.reason, outcome.answer
    for piece in sorted(
        (piece for piece in pieces if len(piece) >= _LEAST_SECRET_CHARACTERS), key=len, reverse=True
    ):
        reason, answer = reason.replace(piece, "[redacted]"), answer.replace(piece, "[redacted]")
    return replace(outcome, reason=reason, answer=answer)


async def _post(
    url: httpx.URL, body: bytes, headers: list[tuple[str, str]], transport: PinnedTransport, *, quotes: bool
) -> Delivered | Undelivered:
    every = [
        ("Content-Type", "application/json"),
        ("Accept-Encoding", "identity"),
        ("User-Agent", "evenhand"),
        *headers,
    ]
    host = url.netloc.decode("ascii")
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS), transport:
            response = await transport.handle_async_request(
                httpx.Request("POST", url, headers=every, content=body)
            )
            async with aclosing(response):
                if response.is_success:
                    return Delivered()
                answer = b""
                async for chunk in response.aiter_raw():
                    answer += chunk
                    if len(answer) >= _MOST_ANSWER_BYTES:
                        break
    except TimeoutError:
        return Undelivered(reason=f"The receiver {host} did not answer within {TIMEOUT_SECONDS:g} seconds.")
    except httpx.RequestError as error:
        return Undelivered(reason=f"The receiver {host} {failure_of_error(error).what}.")

    failure = failure_of_status(response, answer, quotes=quotes)
    return Undelivered(
        reason=f"The receiver {host} {failure.what}.",
        answer=excerpt(answer[:_MOST_ANSWER_BYTES].decode(errors="replace")) if quotes else "",
        is_refused=response.status_code in _CONTENT_AT_FAULT,
        retry_after=response.headers.get("retry-after"),
    )


_FIELDS_PER_SECTION = 10
_MOST_TEXT = 2900
"""Max characters: Slack takes 3,000, escapes counted."""

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_ACTIVE = re.compile(r"@(?=\w)|\](?=\()")
"""Mattermost turns these into mentions and links: @all, [text](address)."""

_ZERO_WIDTH_SPACE = "\u200b"


def slack_body(body: Mapping[str, Any]) -> bytes:
    texts = [f"*{_escaped(headline(body))}*", _escaped(sentence(body))]
    lines = [(name, _escaped(value)) for name, value in facts(body)]
    fields = [_markdown(f"*{name}*\n{value}") for name, value in lines]
    blocks: list[dict[str, Any]] = [{"type": "section", "text": _markdown(text)} for text in texts if text]
    blocks += [
        {"type": "section", "fields": fields[start : start + _FIELDS_PER_SECTION]}
        for start in range(0, len(fields), _FIELDS_PER_SECTION)
    ]
    text = "\n".join([*texts, *(f"{name}: {value}" for name, value in lines)])
    return msgspec.json.encode({"text": text, "blocks": blocks})


def _markdown(text: str) -> dict[str, Any]:
    # Verbatim: an address or person in a group's name stays text.
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _escaped(text: str) -> str:
    escaped = _ACTIVE.sub(lambda match: match.group() + _ZERO_WIDTH_SPACE, text).translate(_ESCAPES)
    # A cut escape would show as text.
    return escaped if len(escaped) <= _MOST_TEXT else re.sub(r"&\w*$", "", escaped[:_MOST_TEXT]) + "…"


def webhook_body(body: Mapping[str, Any]) -> bytes:
    """Returns the bytes to send and sign, the same for each attempt."""
    return msgspec.json.encode(body, order="deterministic")


def webhook_headers(message_id: str, body: bytes, *, secret: str, now: datetime) -> list[tuple[str, str]]:
    timestamp = int(now.timestamp())
    return [
        ("Idempotency-Key", message_id),
        ("webhook-id", message_id),
        ("webhook-timestamp", str(timestamp)),
        ("webhook-signature", signature(message_id, timestamp, body, secret=secret)),
    ]


def signature(message_id: str, timestamp: int, body: bytes, *, secret: str) -> str:
    digest = hmac.digest(secret_bytes(secret), f"{message_id}.{timestamp}.".encode() + body, "sha256")
    return f"v1,{base64.b64encode(digest).decode()}"


_WRONG_KEY = Undelivered(
    reason=(
        "The channel's secret was encrypted with another secret key. Give all processes the key it was "
        "stored with, "
        "or send the secret (of Slack: the URL) again."
    )
)
_NO_MAIL_SERVER = Undelivered(
    reason="This worker has no mail server: set EVENHAND_SMTP_URL and EVENHAND_SMTP_SENDER where it runs."
)


@frozen
class Sender:
    egress: Callable[[], EgressPolicy]
    sealer: Sealer
    mail_server: MailServer | None

    @classmethod
    def of(cls, settings: Settings, sealer: Sealer, egress: Callable[[], EgressPolicy]) -> "Sender":
        """Returns the sender; `egress` says at every attempt which addresses may be called."""
        return cls(egress, sealer, read_mail_server(settings))

    def send(self, claimed: ClaimedNotification, *, now: datetime) -> Delivered | Undelivered:
        channel, body = claimed.channel, claimed.notification.body
        if channel.kind is ChannelKind.EMAIL:
            if self.mail_server is None:
                return _NO_MAIL_SERVER
            return send_mail(
                alert_mail(body, sender=self.mail_server.sender, to=channel.to), self.mail_server
            )
        try:
            secret = self.sealer.unseal(channel.sealed or b"").decode()
        except SetupError:
            return _WRONG_KEY
        if channel.kind is ChannelKind.SLACK:
            return post_json(secret, slack_body(body), [], self.egress())
        content = webhook_body(body)
        headers = webhook_headers(claimed.notification.id, content, secret=secret, now=now)
        return post_json(channel.url or "", content, headers, self.egress())
