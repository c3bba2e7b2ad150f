"""Servers that accept from one socket. Here all run in one event loop, so both see each connection at the same time, whatever else runs."""

import asyncio
import errno
import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import pytest
import uvicorn
import uvloop

from app.cli import shared_listener
from app.cli.connection_counts import SLACK, ConnectionCounts, make_counts_file
from app.cli.http_bounds import Connections, HttpBounds
from app.cli.http_protocol import HttpProtocol
from app.cli.shared_listener import SharingServer


@dataclass
class _Process:
    """One of them, with its own descriptor of the socket."""

    server: SharingServer
    listener: socket.socket
    counts: ConnectionCounts
    is_running: bool = False

    async def start(self) -> None:
        """Starts to accept."""
        self.is_running = True
        await self.server.startup([self.listener])

    async def stop(self) -> None:
        """Ends, if it runs."""
        if self.is_running:
            self.is_running = False
            await self.server.shutdown([self.listener])
        self.listener.close()


@dataclass
class _Address:
    """Where the processes listen, and the clients that are connected to it."""

    address: tuple[str, int]
    processes: list[_Process]
    clients: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = field(default_factory=list)

    @property
    def counts(self) -> list[int]:
        """How many connections each process has."""
        return [len(process.server.server_state.connections) for process in self.processes]

    async def connect(self, count: int = 1) -> None:
        """Adds clients, one after the other has got the answer to its first request."""
        for _ in range(count):
            self.clients.append(await asyncio.open_connection(*self.address))
            assert await _request(*self.clients[-1])

    async def tick(self, times: int) -> None:
        """Does, at once, what each running process does ten times a second."""
        for _ in range(times):
            for process in self.processes:
                if process.is_running:
                    await process.server.on_tick(1)

    async def request_once_each(self) -> int:
        """Lets every client send a request, and connect again if its connection ends with the answer; returns how many did."""
        moved = 0
        for place, (reader, writer) in enumerate(self.clients):
            if not await _request(reader, writer):
                assert await reader.read() == b""
                writer.close()
                self.clients[place] = await asyncio.open_connection(*self.address)
                assert await _request(*self.clients[place])
                moved += 1
        return moved


async def _request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Sends a request, and returns whether the connection stays open after the answer."""
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 204")
    return b"\r\nconnection: close\r\n" not in head


async def _answer(scope: dict[str, Any], _receive: object, send: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def _run(work: Callable[[_Address], Awaitable[None]], *, places: int = 2, started: int = 2) -> None:
    """Does the work with processes of which the first ones are started."""

    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener, make_counts_file(places) as file:
            processes = []
            for place in range(places):
                counts = ConnectionCounts(file.fileno(), place)
                protocol = partial(HttpProtocol, connections=Connections(HttpBounds(), counts))
                config = uvicorn.Config(
                    _answer, http=cast("type[asyncio.Protocol]", protocol), lifespan="off", log_config=None, timeout_keep_alive=3600
                )
                config.load()
                server = SharingServer(config, counts)
                server.lifespan = config.lifespan_class(config)
                processes.append(_Process(server, listener.dup(), counts))
            for process in processes[:started]:
                await process.start()
            here = _Address(listener.getsockname(), processes)
            try:
                await work(here)
            finally:
                for _, client in here.clients:
                    client.close()
                for process in processes:
                    await process.stop()

    uvloop.run(run())


def test_connections_that_stay_open_are_spread_evenly() -> None:
    async def work(here: _Address) -> None:
        await here.connect(20)
        # One whose wait just ended may take a connection that is new, so they need not be quite even.
        assert min(here.counts) >= 7
        assert sum(here.counts) == 20

    _run(work)


def test_a_process_that_begins_later_gets_the_next_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_listener, "LEAVE_SECONDS", 3600)

    async def work(here: _Address) -> None:
        later, early = here.processes
        await early.start()
        await here.connect(10)
        await later.start()
        await here.connect(10 - SLACK - 1)
        assert here.counts == [10 - SLACK - 1, 10]

    _run(work, started=0)


def test_open_connections_move_to_a_process_that_has_far_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_listener, "LEAVE_SECONDS", 3600)

    async def work(here: _Address) -> None:
        early, later = here.processes
        await early.start()
        await here.connect(20)
        await here.tick(20)
        assert await here.request_once_each() == 0
        await later.start()
        await here.tick(1)
        assert await here.request_once_each() == 1
        await here.tick(20)
        assert await here.request_once_each() == 8
        assert here.counts == [11, 9]
        await here.tick(20)
        assert await here.request_once_each() == 0

    _run(work, started=0)


def test_a_connection_stays_where_others_have_as_many_before_its_next_request() -> None:
    async def work(here: _Address) -> None:
        early, later = here.processes
        await early.start()
        await here.connect(20)
        later.counts.is_accepting = True
        await here.tick(20)
        later.counts.set(20)
        await here.tick(1)
        assert await here.request_once_each() == 0

    _run(work, started=0)


def test_a_client_that_sends_several_requests_at_once_gets_every_answer() -> None:
    async def work(here: _Address) -> None:
        await here.connect()
        (connection,) = here.processes[0].server.server_state.connections
        cast("HttpProtocol", connection).is_leaving = True
        ((reader, writer),) = here.clients
        request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        writer.write(2 * request + request[:9])
        for _ in range(2):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
        writer.write(request[9:])
        assert b"\r\nconnection: close\r\n" in await reader.read()

    _run(work, places=1, started=1)


def test_a_connection_that_is_leaving_ends_with_the_server_though_another_request_has_come() -> None:
    async def work(here: _Address) -> None:
        await here.connect()
        (connection,) = here.processes[0].server.server_state.connections
        protocol = cast("HttpProtocol", connection)
        protocol.is_leaving = True
        protocol.data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        protocol.shutdown()
        protocol.data_received(b"GET / HTTP/1.1\r\n")
        ((reader, _),) = here.clients
        assert b"\r\nconnection: close\r\n" in await reader.readuntil(b"\r\n\r\n")

    _run(work, places=1, started=1)


def test_what_another_with_fewer_does_not_accept_is_accepted_after_a_moment() -> None:
    async def work(here: _Address) -> None:
        here.processes[1].counts.is_accepting = True  # as one that was stopped or killed in the middle leaves it
        await here.connect(10)
        assert here.counts == [10, 0]

    _run(work, started=1)


@pytest.mark.parametrize(("error", "pause_seconds"), [(errno.EMFILE, 0.01), (errno.ECONNABORTED, 3600)])
def test_it_accepts_again_after_a_pause_where_the_system_lacks_something_else_at_once(
    error: int, pause_seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_listener, "RETRY_SECONDS", pause_seconds)

    async def work(here: _Address) -> None:
        failing = _FailingOnce(here.processes[0].listener, error)
        here.processes[0].listener = cast("socket.socket", failing)
        await here.processes[0].start()
        await here.connect()
        assert failing.attempts == 2

    _run(work, places=1, started=0)


def test_it_does_not_try_again_at_once_after_the_system_refused_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_listener, "RETRY_SECONDS", 3600)

    async def work(here: _Address) -> None:
        failing = _FailingOnce(here.processes[0].listener, errno.EMFILE)
        here.processes[0].listener = cast("socket.socket", failing)
        await here.processes[0].start()
        with socket.create_connection(here.address):
            await failing.has_failed.wait()
            for _ in range(20):  # passes of the loop
                await asyncio.sleep(0)
            assert failing.attempts == 1
            assert not here.processes[0].counts.is_accepting  # others leave it none meanwhile

    _run(work, places=1, started=0)


def test_a_process_that_ends_accepts_no_more_and_leaves_the_address_to_the_others() -> None:
    async def work(here: _Address) -> None:
        await here.processes[0].stop()
        await here.connect(5)
        assert here.counts == [0, 5]
        assert not here.processes[1].counts.has_more_than_another()  # so it waits for none of them

    _run(work)


class _FailingOnce:
    """A listener to which the system refuses the first connection."""

    def __init__(self, listener: socket.socket, error: int) -> None:
        self._listener = listener
        self._error = error
        self.attempts = 0
        self.has_failed = asyncio.Event()
        self.fileno = listener.fileno
        self.setblocking = listener.setblocking
        self.close = listener.close

    def accept(self) -> tuple[socket.socket, object]:
        """As the socket's."""
        self.attempts += 1
        if self.attempts == 1:
            self.has_failed.set()
            raise OSError(self._error, os.strerror(self._error))
        return self._listener.accept()
