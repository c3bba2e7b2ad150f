"""A server that accepts from a socket that other processes accept from, too: about as many connections as each of them."""

import asyncio
import errno
import random
import socket
from collections.abc import Callable
from functools import partial
from typing import cast

import structlog
import uvicorn

from .connection_counts import ConnectionCounts
from .http_protocol import HttpProtocol

LEAVE_SECONDS = 0.001
"""Seconds for which a process leaves a new connection to another that has fewer. No longer: the other may be busy, stopped or dead."""

RETRY_SECONDS = 1.0
"""Seconds until a process accepts again after the system lacked what a connection needs. Others accept meanwhile."""

_LACKS = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
"""Errors after which the connection still waits: too many open files, or no memory. After others it is gone, as accept(2) has it."""

log = structlog.get_logger("evenhand.http")


class SharingServer(uvicorn.Server):
    """The server of one of several processes (ADR 111)."""

    def __init__(self, config: uvicorn.Config, counts: ConnectionCounts) -> None:
        super().__init__(config)
        self._counts = counts
        self._pause: asyncio.TimerHandle | None = None
        self._beginning: set[asyncio.Task[None]] = set()
        self._leaving: set[HttpProtocol] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Called by `run`, with the one socket that it is given."""
        await super().startup([])
        self._listener = (sockets or [])[0]
        self._listener.setblocking(False)
        self._loop = asyncio.get_running_loop()
        make = cast("Callable[..., asyncio.Protocol]", self.config.http_protocol_class)
        self._make_protocol = partial(make, config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
        self._watch()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Called by `run`."""
        self._counts.is_accepting = False
        self._loop.remove_reader(self._listener)
        if self._pause is not None:
            self._pause.cancel()
        # The server ends the connections that it knows of.
        await asyncio.gather(*self._beginning, return_exceptions=True)
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second. Chooses a connection that is to end, if others have far fewer: its client then connects to them."""
        # By chance, not by who asks next: else those with the most requests would all leave.
        here = cast("set[HttpProtocol]", self.server_state.connections)
        self._leaving &= here
        if not self._counts.has_far_more_than_its_share(leaving=0):
            for connection in self._leaving:
                connection.is_leaving = False
            self._leaving.clear()
        elif self._counts.has_far_more_than_its_share(leaving=len(self._leaving)) and (staying := list(here - self._leaving)):
            chosen = random.choice(staying)  # noqa: S311 - nothing is secret about it
            chosen.is_leaving = True
            self._leaving.add(chosen)
        return await super().on_tick(counter)

    def _watch(self) -> None:
        self._pause = None
        self._counts.is_accepting = True
        self._loop.add_reader(self._listener, self._on_arrival)

    def _look_away(self, seconds: float, then: Callable[[], None]) -> None:
        # The socket stays readable, so the loop would call again at once.
        self._loop.remove_reader(self._listener)
        self._pause = self._loop.call_later(seconds, then)

    def _on_arrival(self) -> None:
        if self._counts.has_more_than_another():
            self._look_away(LEAVE_SECONDS, self._accept_if_left)
        else:
            self._accept()

    def _accept_if_left(self) -> None:
        self._watch()
        self._accept()

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return  # another process has it
        except OSError as error:
            if error.errno in _LACKS:
                log.warning("connection not accepted", reason=str(error), next_attempt_seconds=RETRY_SECONDS)
                self._counts.is_accepting = False
                self._look_away(RETRY_SECONDS, self._watch)
            return
        task = self._loop.create_task(self._begin(connection))
        self._beginning.add(task)
        task.add_done_callback(self._beginning.discard)

    async def _begin(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(self._make_protocol, connection)
        except OSError as error:  # the client is gone again
            log.info("connection not begun", reason=str(error))
            connection.close()
