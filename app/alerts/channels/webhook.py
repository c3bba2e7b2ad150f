"""Webhooks, signed as Standard Webhooks says."""

import base64
import hmac
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

import msgspec

from .notification import Attempt, Delivered, Undelivered, post_json
from .protocol import ChannelProtocol

SECRET_PREFIX = "whsec_"  # noqa: S105 - the form of a signing secret, none itself
"""Of a secret, before the base64 of its bytes, by Standard Webhooks."""

MIN_SECRET_BYTES = 24
MAX_SECRET_BYTES = 64


class Webhook(ChannelProtocol):
    label = "webhook, signed"
    example: ClassVar[dict[str, Any]] = {
        "name": "On-call",
        "kind": "webhook",
        "url": "https://alerts.example.com/evenhand",
    }
    sealed_field = "secret"

    def find_secret_problem(self, secret: str) -> str | None:
        try:
            key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
        except ValueError:
            key = b""
        if secret.startswith(SECRET_PREFIX) and MIN_SECRET_BYTES <= len(key) <= MAX_SECRET_BYTES:
            return None
        return (
            f"must be {SECRET_PREFIX} and the base64 of {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} random "
            "bytes, or left out to have one made"
        )

    def make_secret(self) -> str:
        return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(MIN_SECRET_BYTES)).decode()

    def send(self, attempt: Attempt) -> Delivered | Undelivered:
        body = write_webhook_body(attempt.body)
        headers = build_webhook_headers(attempt.id, body, secret=attempt.secret, now=attempt.now)
        return post_json(attempt.url or "", body, headers, attempt.egress())


def write_webhook_body(body: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(body, order="deterministic")


def build_webhook_headers(
    message_id: str, body: bytes, *, secret: str, now: datetime
) -> list[tuple[str, str]]:
    timestamp = int(now.timestamp())
    return [
        ("Idempotency-Key", message_id),
        ("webhook-id", message_id),
        ("webhook-timestamp", str(timestamp)),
        ("webhook-signature", sign_message(message_id, timestamp, body, secret=secret)),
    ]


def sign_message(message_id: str, timestamp: int, body: bytes, *, secret: str) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    digest = hmac.digest(key, f"{message_id}.{timestamp}.".encode() + body, "sha256")
    return f"v1,{base64.b64encode(digest).decode()}"
