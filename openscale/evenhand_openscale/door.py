"""The way in: one spelling of the addresses, and answers to errors in the form that the SDK shows to its user."""

import json
import re
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..web.problems import MEDIA_TYPE

BASE = "/openscale"
"""Beginning of every address of the API itself, without the instance id that the SDK puts after it."""

MAX_REASON_CHARACTERS = 500
"""Max characters of a reason that is given in a header."""

OUTSIDE = (
    "/v2/fairness/heartbeat",
    "/v1/entitlements",
    "/v1/preauth/validateAuth",
    "/v1/ml_instances/",
    "/icp4d-api/v1/authorize",
    "/identity/token",
)
"""Addresses of this face that the SDK asks next to the API."""

_INSTANCE = re.compile(r"/openscale/[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12,16}(?=/)")


def is_openscale(path: str) -> bool:
    """Returns whether the address belongs to this face."""
    return path == BASE or path.startswith((f"{BASE}/", *OUTSIDE))


class OpenScaleDoor:
    """Passes every request on; those of this face with the instance id taken out of the address, and errors in IBM's envelope."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on."""
        if scope["type"] != "http" or not is_openscale(scope["path"]):
            await self._app(scope, receive, send)
            return
        # There is one instance; which id a script gives for it makes no difference.
        path = _INSTANCE.sub(BASE, scope["path"])
        await self._app(
            {**scope, "path": path, "raw_path": path.encode()}, receive, _Envelope(send, is_head=scope["method"] == "HEAD").send
        )


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
            if headers.get("content-type", "").startswith(MEDIA_TYPE):
                self._start = message
                return
        if self._start is None:
            await self._send(message)
            return
        # Problem documents are small: nothing large is held back.
        self._body += message.get("body", b"")
        if message.get("more_body", False):
            return
        envelope = envelope_of(json.loads(self._body))
        content = json.dumps(envelope).encode("ascii")
        headers = MutableHeaders(scope=self._start)
        if self._is_head:
            # No body reaches the SDK, which then says "Unknown error" and this header: the only place for the reason.
            reason = ascii(envelope["errors"][0]["message"])[1:-1]
            headers["x-global-transaction-id"] = f"{headers['x-global-transaction-id']} ({reason[:MAX_REASON_CHARACTERS]})"
        headers["content-type"], headers["content-length"] = "application/json", str(len(content))
        await self._send(self._start)
        await self._send({"type": "http.response.body", "body": content})


def envelope_of(problem: dict[str, Any]) -> dict[str, Any]:
    """Returns a problem document as IBM's error envelope. The SDK shows the first message, so that holds everything."""
    code = str(problem["type"]).rpartition(":")[2]
    first = {"code": code, "message": problem["detail"]}
    fields = [
        {"code": code, "message": f"{one['field']}: {one['message']}", "target": {"type": "field", "name": one["field"]}}
        for one in problem.get("errors", ())
    ]
    return {"trace": problem.get("request_id"), "errors": [first, *fields]}
