"""Bounds of connections, and of the bytes they send, before any key is read."""

import asyncio
import resource
from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from ..base.clock import monotonic_seconds
from ..base.settings import Settings
from .middleware import is_within, name_client

MAX_HEAD_BYTES = 65_536

MAX_HEADERS = 100

MAX_PIPELINED = 32

RESERVED_FILES = 128

SWEEP_SECONDS = 1.0

_GRACE_SECONDS = 0.05

_LOG_SECONDS = 60.0

_MAX_OPEN_FILES = 65_536

log = structlog.get_logger("evenhand.http")


def count_allowed_connections(settings: Settings, open_files: int) -> int:
    limit = max(1, open_files - RESERVED_FILES)
    if limit >= settings.max_connections:
        return settings.max_connections
    log.warning(
        "fewer connections than EVENHAND_MAX_CONNECTIONS: raise the limit of open files",
        connections=limit,
        open_files=open_files,
    )
    return limit


class Connection(Protocol):
    def end_if_late(self, now: float) -> None:
        """Ends what has taken too long, by the event loop's clock."""


@dataclass
class Connections:
    """Counts in total and by address. Belongs to one event loop."""

    settings: Settings
    _max_connections: int
    _open: set[Connection] = field(default_factory=set)
    _is_sweeping: bool = False
    _by_address: Counter[str] = field(default_factory=Counter)
    _refused: int = 0
    _logged_at: float = float("-inf")

    def enter(self, connection: Connection, host: str) -> bool:
        address = name_client(host)
        is_full = len(self._open) >= self._max_connections
        if self._by_address[address] >= self.settings.max_connections_per_address:
            # All callers behind a proxy share its address. A socket of this machine has no host.
            is_full = is_full or (bool(host) and not is_within(host, self.settings.trusted_networks))
        if is_full:
            self._refused += 1
            now = monotonic_seconds()
            if now >= self._logged_at + _LOG_SECONDS:
                log.warning(
                    "connections turned away",
                    count=self._refused,
                    newest_from=host,
                    open=len(self._open),
                    of_address=self._by_address[address],
                )
                self._logged_at, self._refused = now, 0
            return False

        self._open.add(connection)
        self._by_address[address] += 1
        if not self._is_sweeping:
            self._is_sweeping = True
            self._sweep_later()
        return True

    def leave(self, connection: Connection, host: str) -> None:
        address = name_client(host)
        self._open.remove(connection)
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def _sweep_later(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + min(SWEEP_SECONDS, self.settings.request_head_seconds / 4)
        loop.call_at(due, self._sweep, due)

    def _sweep(self, due: float | None) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if due is not None and now > due + _GRACE_SECONDS:
            # After a pause of this process, timers fire before data that arrived long ago is read. So that is
            # read first.
            loop.call_later(_GRACE_SECONDS, self._sweep, None)
            return
        self._is_sweeping = bool(self._open)
        if self._is_sweeping:
            self._sweep_later()
        for connection in tuple(self._open):
            connection.end_if_late(now)


def raise_open_file_limit() -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _MAX_OPEN_FILES
    target = _MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_OPEN_FILES)
    if target <= soft:
        return soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    except (ValueError, OSError):  # macOS reports "no limit" and still has one
        return soft
    return target
