"""Bounds that follow from the limit of open files, and looks at connections."""

import asyncio
import resource
import socket
import subprocess
import sys
import time

import pytest
import uvloop

from app.base.settings import Settings
from app.web.http_bounds import RESERVED_FILES, Connections, count_allowed_connections

RAISING = """
import resource
from app.web.http_bounds import raise_open_file_limit
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
print(raise_open_file_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""

HARD = 4096


@pytest.mark.parametrize("soft", [256, HARD])
@pytest.mark.nightly
def test_the_limit_of_open_files_is_raised_as_far_as_the_system_allows(soft: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard == resource.RLIM_INFINITY or hard >= HARD
    # In a process of its own, which cannot raise its hard limit again.
    command = [sys.executable, "-c", RAISING.format(soft=soft, hard=HARD)]

    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert printed.split() == [str(HARD)] * 3


def test_fewer_files_allow_fewer_connections() -> None:
    settings = Settings(max_connections=2000)

    assert count_allowed_connections(settings, 1000) == 1000 - RESERVED_FILES
    assert count_allowed_connections(settings, 2000 + RESERVED_FILES) == 2000
    assert count_allowed_connections(settings, 10) == 1


class _Connection:
    """One that notes when it is looked at."""

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes

    def end_if_late(self, _now: float) -> None:
        self._notes.append("look")


def test_after_a_pause_of_the_process_what_came_meanwhile_is_read_before_a_connection_is_looked_at() -> None:
    notes: list[str] = []

    async def pause() -> None:
        loop = asyncio.get_running_loop()
        near, far = socket.socketpair()

        def read() -> None:
            notes.append(near.recv(10).decode())
            if notes == ["first"]:
                far.send(b"second")
                time.sleep(0.3)  # in a reader: the loop runs timers before it reads again

        with near, far:
            loop.add_reader(near, read)
            assert Connections(Settings(request_head_seconds=0.4), 2000).enter(_Connection(notes), "a")
            far.send(b"first")
            while "look" not in notes:  # noqa: ASYNC110 - nothing tells when
                await asyncio.sleep(0.001)
            loop.remove_reader(near)

    uvloop.run(pause())

    assert notes == ["first", "second", "look"]


def test_connections_are_looked_at_again_and_again_while_they_are_open() -> None:
    left: list[str] = []
    stayed: list[str] = []

    async def look() -> None:
        connections = Connections(Settings(request_head_seconds=0.01), 2000)
        leaving, staying = _Connection(left), _Connection(stayed)
        for connection in (leaving, staying):
            assert connections.enter(connection, "a")
        connections.leave(leaving, "a")
        while len(stayed) < 3:  # noqa: ASYNC110 - nothing tells when
            await asyncio.sleep(0.001)

    asyncio.run(look())

    assert left == []
