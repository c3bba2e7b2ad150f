"""An ASGI middleware: logs requests to a model server and its answers as they are; the service reads their format."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any

from .client import EXIT_SECONDS, Evenhand
from .identifiers import new_id

MAX_BODY_BYTES = 4 * 1024 * 1024
"""Max bytes of a request or an answer that is logged; larger ones pass, and count as dropped."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

_OK = 200


class EvenhandMiddleware:
    """Logs each POST to one of the paths that was answered with 200, after the answer was sent.

    A path may be given without the prefix under which a server has the application (`root_path`: of uvicorn's `--root-path`, a mount, or a
    route prefix).

    Both bodies must be JSON of a form that Evenhand reads as a pair: `fields` and `values`, or MLflow's. The answer is passed on unchanged
    but for one header, `evenhand-id`: row n of the request is the record `<evenhand-id>-<n>`, for its label. What the application raises
    is raised. When the server ends the application (the shutdown of ASGI's lifespan), the client is flushed.
    """

    def __init__(self, app: App, *, client: Evenhand, paths: Collection[str] = ("/invocations",), header: str = "evenhand-id") -> None:
        self._app = app
        self._client = client
        self._paths = frozenset(paths)
        self._header = header.lower().encode("ascii")

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, self._flush_at_shutdown(send))
            return
        is_wanted = scope["type"] == "http" and scope["method"] == "POST" and not self._paths.isdisjoint(_paths_of(scope))
        if not is_wanted or not self._client.is_enabled:
            await self._app(scope, receive, send)
            return
        request, answer = _Body(), _Body()
        pair_id = new_id(time.time_ns())
        status = 0

        async def receive_too() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                request.add(message.get("body", b""))
            return message

        async def send_too(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if status == _OK:
                    message = {**message, "headers": [*message.get("headers", ()), (self._header, pair_id.encode("ascii"))]}
            elif message["type"] == "http.response.body" and status == _OK:
                answer.add(message.get("body", b""))
            await send(message)
            if status == _OK and message["type"] == "http.response.body" and not message.get("more_body", False):
                self._log(pair_id, request, answer)

        await self._app(scope, receive_too, send_too)

    def _flush_at_shutdown(self, send: Send) -> Send:
        async def send_flushed(message: Message) -> None:
            # uvicorn, and gunicorn with its worker, end by the signal itself: what runs at the exit of Python never runs there.
            if message["type"].startswith("lifespan.shutdown"):
                self._client.flush(EXIT_SECONDS)
            await send(message)

        return send_flushed

    def _log(self, pair_id: str, request: _Body, answer: _Body) -> None:
        try:
            decoded, result = request.load(), answer.load()
        except ValueError:
            self._client.count_dropped()
            return
        self._client.log_pair(decoded, result, pair_id)


def _paths_of(scope: MutableMapping[str, Any]) -> tuple[str, str]:
    """Returns the path as it was called, and the one that the application's own routes are compared with."""
    path, prefix = str(scope["path"]), str(scope.get("root_path", "")).rstrip("/")
    # By ASGI the path begins with the prefix; some servers have taken it off already.
    return path, path[len(prefix) :] if prefix and path.startswith(f"{prefix}/") else path


class _Body(bytearray):
    def add(self, part: bytes) -> None:
        self.extend(part[: MAX_BODY_BYTES + 1 - len(self)])

    def load(self) -> Any:  # noqa: ANN401 - JSON
        if len(self) > MAX_BODY_BYTES:
            raise ValueError("too large")
        return json.loads(self)
