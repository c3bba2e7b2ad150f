"""A server of Postgres on this machine, whose sessions can have the priority of the process that they work for.

Postgres gives its sessions no priority, but each is a process. Those that work for a worker would keep the service's records waiting.
"""

import os
import socket
import struct
from contextlib import suppress
from pathlib import Path

import psycopg

from ...priority import lower_session
from .engine import libpq_url

_CREDENTIALS = struct.Struct("3i")
"""Process, user and group at the other end of a socket in a folder."""


class LocalServer:
    """The server with that address. On another machine, in another container or without /proc, its sessions keep their priority."""

    def __init__(self, url: str) -> None:
        self._url = libpq_url(url)
        self._postmaster: int | None = None

    def lower_session(self, process: int) -> None:
        """Gives a session, named by the number of its process in Postgres, the niceness of this process; raises nothing."""
        if not self._is_session(process):
            return
        with suppress(OSError):  # it has ended, or is another user's
            os.setpriority(os.PRIO_PROCESS, process, os.nice(0))
            lower_session(process)

    def _is_session(self, process: int) -> bool:
        # A server elsewhere has numbers of its own, so this machine may have another process of that number.
        parent = _parent_of(process)
        if parent is not None and parent != self._postmaster:
            self._postmaster = _postmaster_at(self._url)  # the first time, and when the server has started again
        return parent is not None and parent == self._postmaster


def _parent_of(process: int) -> int | None:
    try:
        # pid (name) state parent …; a name may hold anything, parentheses as well
        return int(Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    except OSError:
        return None


def _postmaster_at(url: str) -> int | None:
    """Returns the process that listens on the socket, by the number that it has here; None if it is none of this machine that we see."""
    try:
        with (
            psycopg.connect(url, connect_timeout=5) as connection,
            socket.socket(fileno=os.dup(connection.pgconn.socket)) as ours,
        ):
            if ours.family != socket.AF_UNIX:
                return None
            process, _, _ = _CREDENTIALS.unpack(ours.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    except (psycopg.Error, OSError):
        return None
    return process or None  # 0: in another container
