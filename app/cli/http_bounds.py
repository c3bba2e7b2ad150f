"""Bounds of connections, and of the bytes they send, before any key is read."""

import resource
from collections import Counter
from dataclasses import dataclass, field, replace

import structlog

from ..clock import monotonic_seconds
from ..settings import Network, Settings
from ..web.addresses import client_of, is_within
from .connection_counts import ConnectionCounts

MAX_HEAD_BYTES = 65_536
"""Max bytes of a request's head: its address and its headers."""

MAX_HEADERS = 100
"""Max headers of a request."""

MAX_PIPELINED = 32
"""Max requests of one connection that wait for the answer to an earlier one."""

RESERVED_FILES = 128
"""Open files that are not connections of clients: those to the database and to models, uploads, the log."""

_LOG_SECONDS = 60.0
"""Seconds between two log lines about refused connections."""

_ENOUGH_FILES = 65_536
"""Number of open files that suffices for any setting."""

log = structlog.get_logger("evenhand.http")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpBounds:
    """Seconds and numbers; the settings of the same names explain them."""

    head_seconds: float = 10.0
    body_seconds: float = 10.0
    body_bytes_per_second: int = 1000
    max_connections: int = 2000
    max_connections_per_address: int = 500
    trusted_proxies: tuple[Network, ...] = ()

    @staticmethod
    def of(settings: Settings) -> "HttpBounds":
        """Returns the bounds of the settings."""
        return HttpBounds(
            head_seconds=settings.request_head_seconds,
            body_seconds=settings.request_body_seconds,
            body_bytes_per_second=settings.request_body_bytes_per_second,
            max_connections=settings.max_connections,
            max_connections_per_address=settings.max_connections_per_address,
            trusted_proxies=settings.trusted_networks,
        )

    def within(self, open_files: int) -> "HttpBounds":
        """Returns the bounds for a process that may have `open_files` files open."""
        most = max(1, open_files - RESERVED_FILES)
        if most >= self.max_connections:
            return self
        log.warning(
            "fewer connections than EVENHAND_MAX_CONNECTIONS: raise the limit of open files", connections=most, open_files=open_files
        )
        return replace(self, max_connections=most)


@dataclass(slots=True)
class Connections:
    """The open connections of a process, counted in total and by address. Belongs to one event loop.

    `shared` is where other processes see the total, if there are any.
    """

    bounds: HttpBounds
    shared: ConnectionCounts | None = None
    _total: int = 0
    _by_address: Counter[str] = field(default_factory=Counter)
    _refused: int = 0
    _logged_at: float = float("-inf")

    def enter(self, host: str) -> bool:
        """Counts a connection from that host; returns False, and does not count it, if there are too many already."""
        address = client_of(host)
        is_full = self._total >= self.bounds.max_connections
        if self._by_address[address] >= self.bounds.max_connections_per_address:
            # All callers behind a proxy share its address. A socket of this machine has no host.
            is_full = is_full or (bool(host) and not is_within(host, self.bounds.trusted_proxies))
        if is_full:
            self._refused += 1
            now = monotonic_seconds()
            # Rarely, so that a flood of connections is no flood of the log.
            if now >= self._logged_at + _LOG_SECONDS:
                log.warning(
                    "connections turned away",
                    count=self._refused,
                    newest_from=host,
                    open=self._total,
                    of_address=self._by_address[address],
                )
                self._logged_at, self._refused = now, 0
            return False

        self._set_total(self._total + 1)
        self._by_address[address] += 1
        return True

    def leave(self, host: str) -> None:
        """Removes a counted connection."""
        address = client_of(host)
        self._set_total(self._total - 1)
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def _set_total(self, total: int) -> None:
        self._total = total
        if self.shared is not None:
            self.shared.set(total)


def raise_open_file_limit() -> int:
    """Raises this process's limit of open files as far as the system allows, and returns it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _ENOUGH_FILES
    wanted = _ENOUGH_FILES if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH_FILES)
    if wanted <= soft:
        return soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (ValueError, OSError):  # macOS reports "no limit" and still has one
        return soft
    return wanted
