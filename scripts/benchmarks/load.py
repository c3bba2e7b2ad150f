"""A cheap HTTP load client: prepared requests, a few keep-alive connections, one request in flight on each."""

import asyncio
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import uvloop

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


@dataclass
class Load:
    """Results of a run: answers in the order of arrival, latencies in milliseconds."""

    requests: int
    rate: float | None = None
    began: float = 0.0
    seconds: float = 0.0
    bodies: list[bytes] = field(default_factory=list)
    latencies_ms: list[float] = field(default_factory=list)

    def require(self, beginning: bytes) -> None:
        """Ends the program unless every answer begins like this."""
        wrong = [answer for answer in self.bodies if not answer.startswith(beginning)]
        if wrong:
            sys.exit(f"{len(wrong)} of {self.requests} requests were not accepted; one answer: {wrong[0][:500]!r}")


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def make_post(path: str, body: bytes, key: str = "", headers: str = "") -> bytes:
    """Returns the bytes of a request; each line of `headers` ends with a line break."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n{headers}"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def drive(port: int, requests: list[bytes], connections: int, rate: float | None = None) -> Load:
    """Sends every request once, as fast as they are answered; with a rate, that many a second: latencies count from when each was due."""
    return uvloop.run(_drive(port, requests, connections, rate))


async def _drive(port: int, requests: list[bytes], connections: int, rate: float | None) -> Load:
    load = Load(len(requests), rate=rate)
    queue = deque(requests)
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    opened = [await loop.create_connection(lambda: _Client(queue, load, done), "127.0.0.1", port) for _ in range(connections)]
    load.began = time.perf_counter()
    for _, client in opened:
        client.send_next()
    await done.wait()
    load.seconds = time.perf_counter() - load.began
    for transport, _ in opened:
        transport.close()
    return load


class _Client(asyncio.Protocol):
    def __init__(self, queue: deque[bytes], load: Load, done: asyncio.Event) -> None:
        self._queue = queue
        self._load = load
        self._done = done
        self._received = b""
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def send_next(self) -> None:
        if not self._queue:
            return
        request = self._queue.popleft()
        if self._load.rate is None:
            self._sent_at = time.perf_counter()
            self._transport.write(request)
            return
        self._sent_at = self._load.began + (self._load.requests - len(self._queue) - 1) / self._load.rate
        delay = self._sent_at - time.perf_counter()
        asyncio.get_running_loop().call_later(max(0.0, delay), self._transport.write, request)

    def data_received(self, data: bytes) -> None:
        self._received = self._received + data if self._received else data
        end = self._received.find(_HEAD_END)
        if end < 0:
            return
        start = self._received.lower().find(_LENGTH, 0, end) + len(_LENGTH)
        length = int(self._received[start : self._received.find(b"\r\n", start)])
        body = self._received[end + len(_HEAD_END) :]
        if len(body) < length:
            return
        self._received = b""
        self._load.latencies_ms.append((time.perf_counter() - self._sent_at) * 1000)
        self._load.bodies.append(body)
        if len(self._load.bodies) == self._load.requests:
            self._done.set()
        self.send_next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.is_set():
            raise ConnectionError(f"the service closed a connection: {exc}")
