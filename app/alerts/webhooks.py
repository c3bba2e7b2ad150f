"""Webhooks signed by Standard Webhooks (https://www.standardwebhooks.com)."""

import base64
import hmac
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from ..domain.channels import secret_bytes


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
