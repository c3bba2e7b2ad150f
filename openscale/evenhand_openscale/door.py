"""The way in: addresses, tokens that are keys, and errors in the form that the SDK shows to its user."""

import base64
import json
import re
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .refused import PROBLEM, printable

BASE = "/openscale"
"""Beginning of every address of the API itself, without the instance id that the SDK puts after it."""

OPEN = frozenset({"/v2/fairness/heartbeat", "/icp4d-api/v1/authorize", "/v1/preauth/validateAuth", "/identity/token"})

PREFIXES = (f"{BASE}/", "/v2/fairness/", "/v1/entitlements", "/v1/preauth/validateAuth", "/v1/ml_instances/", "/icp4d-api/", "/identity/")

MAX_REASON_CHARACTERS = 500

_INSTANCE = re.compile(r"/openscale/[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12,16}(?=/)")
_UPLOAD = re.compile(r"/openscale/v2/(data_sets/[^/]+/records|subscriptions/[^/]+/predictions)")
_TOKEN_HEAD = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT","kid":"evenhand-key"}').decode()


def is_upload(scope: Scope) -> bool:
    """Returns whether the request's body goes to REST v1 as it comes."""
    return scope["method"] == "POST" and _UPLOAD.fullmatch(scope["path"]) is not None


TOKEN_SECONDS = 3600
"""Seconds after which the SDK asks for a token again. It is the key, and ends with it."""


def token_of_key(key: str, expires: int) -> str:
    """Returns the key in the form of a token, which the IAM authenticator of the SDK decodes. It is as secret as the key."""
    claims = json.dumps({"key": key, "iat": expires - TOKEN_SECONDS, "exp": expires}).encode()
    return f"{_TOKEN_HEAD}.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.none"


class OpenScaleDoor:
    """Takes the instance id out of addresses of this face, and puts errors in IBM's envelope; passes on all other requests."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PREFIXES):
            await self._app(scope, receive, send)
            return
        path = _INSTANCE.sub(BASE, scope["path"])
        headers = [(name, _with_key(value) if name == b"authorization" else value) for name, value in scope["headers"]]
        envelope = _Envelope(send, is_head=scope["method"] == "HEAD")
        await self._app({**scope, "path": path, "raw_path": path.encode(), "headers": headers}, receive, envelope.send)


def _with_key(authorization: bytes) -> bytes:
    scheme, _, token = authorization.decode("latin-1").partition(" ")
    head, _, rest = token.strip().partition(".")
    claims = rest.partition(".")[0]
    if head != _TOKEN_HEAD:
        return authorization
    try:
        key = str(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["key"])
        return f"{scheme} {key}".encode("latin-1")
    except (ValueError, KeyError, TypeError):
        return authorization


class _Envelope:
    """Passes an answer on. A problem document is held back until it is complete, and rewritten."""

    def __init__(self, send: Send, *, is_head: bool) -> None:
        self._send = send
        self._is_head = is_head
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["x-global-transaction-id"] = headers.get("x-request-id", "")
            if headers.get("content-type", "").startswith(PROBLEM):
                self._start = message
                return
        if self._start is None:
            await self._send(message)
            return
        self._body += message.get("body", b"")
        if message.get("more_body", False):
            return
        envelope = envelope_of(json.loads(self._body))
        content = json.dumps(envelope).encode("ascii")
        headers = MutableHeaders(scope=self._start)
        if self._is_head:
            # No body reaches the SDK, which then says "Unknown error" and this header: the only place for the reason.
            reason = printable(envelope["errors"][0]["message"], MAX_REASON_CHARACTERS)
            headers["x-global-transaction-id"] = f"{headers['x-global-transaction-id']} ({reason})"
        headers["content-type"], headers["content-length"] = "application/json", str(len(content))
        await self._send(self._start)
        await self._send({"type": "http.response.body", "body": content})


def envelope_of(problem: dict[str, Any]) -> dict[str, Any]:
    """Returns a problem document as IBM's error envelope. The SDK shows the first message, so that holds everything."""
    code = str(problem["type"]).rpartition(":")[2]
    first = {"code": code, "message": problem["detail"]}
    fields = [
        {"code": code, "message": f"{error['field']}: {error['message']}", "target": {"type": "field", "name": error["field"]}}
        for error in problem.get("errors") or ()
    ]
    return {"trace": problem.get("request_id"), "errors": [first, *fields]}
