"""A real API process, and connections to it that are as rude as a test wants."""

import contextlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.access.keys.queries import create_key
from app.access.principals import Role
from app.database.engine import Database

REPOSITORY = Path(__file__).resolve().parents[3]
PATIENCE_SECONDS = 100
"""How long a socket waits before a test is broken rather than slow."""


@dataclass(frozen=True)
class Door:
    """Where the process listens, and an admin key."""

    port: int
    key: str

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        """A new connection, from that address of this machine."""
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE_SECONDS, source_address=(source, 0))

    def ask(self, request: bytes) -> bytes:
        """All that comes back on a connection of its own until the process ends it."""
        with self.connect() as connection:
            connection.sendall(request)
            return rest(connection)

    def me(self, *, ending: bool = True) -> bytes:
        """A good request."""
        end = b"connection: close\r\n" if ending else b""
        return b"GET /v1/me HTTP/1.1\r\nhost: a\r\nauthorization: Bearer %b\r\n%b\r\n" % (self.key.encode(), end)


def rest(connection: socket.socket) -> bytes:
    """What comes until the other side ends the connection, in whatever way."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


def one_answer(connection: socket.socket) -> bytes:
    """The next answer, which announces its length; the connection stays."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        assert byte, head
        head += byte
    announced = re.search(rb"content-length: (\d+)", head)
    assert announced is not None, head
    body = b""
    while len(body) < int(announced[1]):
        part = connection.recv(int(announced[1]) - len(body))
        assert part, head + body
        body += part
    return head + body


def statuses(answers: bytes) -> list[int]:
    """The statuses of the answers, in order."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d\d\d) ", answers)]


@contextmanager
def api_process(database: Database, folder: Path, **settings: object) -> Iterator[Door]:
    """The API on that database, as the supervisor starts it, with settings by name."""
    with database.transaction() as session:
        key = create_key(session, role=Role.ADMIN, name="doors")
    values = {f"EVENHAND_{name.upper()}": str(value) for name, value in settings.items()}
    environment = {**os.environ, "DATABASE_URL": database.url, "EVENHAND_DATA_DIR": str(folder), "EVENHAND_LOG_LEVEL": "ERROR", **values}
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        process = subprocess.Popen(
            [sys.executable, "-m", "app.cli.service.api_process", str(listener.fileno())],
            cwd=REPOSITORY,
            env=environment,
            pass_fds=(listener.fileno(),),
        )
        try:
            door = Door(listener.getsockname()[1], key)
            assert statuses(door.ask(door.me())) == [200]  # connections wait in the queue until it accepts them
            yield door
        finally:
            process.terminate()
            process.wait()
