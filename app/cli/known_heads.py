"""Heads of requests that were sent before, with the routes that take further bodies under them directly."""

from dataclasses import dataclass, field

from ..web.repeats import Repeatable

LONGEST_HEAD = 2048
"""Max bytes of a head that is remembered."""

LONGEST_BODY = 16_384
"""Max bytes of a body that is given to a route directly: each connection may have one such request under way."""

_MOST_HEADS = 2048
_END = b"\r\n\r\n"


@dataclass(slots=True)
class _Known:
    route: Repeatable
    length: int


@dataclass(slots=True)
class KnownHeads:
    """Heads by their bytes, of one process. Only heads that were answered with success are here, so only callers with a key fill it."""

    _known: dict[bytes, _Known] = field(default_factory=dict)

    def find(self, data: bytes) -> tuple[Repeatable, bytes | None] | None:
        """Returns the route and the body, if the data is exactly one request of a known head; None for the body of such a head alone."""
        end = data.find(_END, 0, LONGEST_HEAD)
        if end < 0:
            return None
        body_at = end + len(_END)
        known = self._known.get(data[:body_at])
        if known is None:
            return None
        if len(data) - body_at == known.length:
            return known.route, data[body_at:]
        return (known.route, None) if len(data) == body_at else None

    def remember(self, data: bytes, body_bytes: int, route: Repeatable) -> None:
        """Remembers the head of a request that was parsed in the ordinary way: `data` is all of it, and its body had so many bytes."""
        end = data.find(_END, 0, LONGEST_HEAD)
        # The parser must have seen the end of the head in the same place.
        if end < 0 or not 0 < body_bytes <= LONGEST_BODY or len(data) - end - len(_END) != body_bytes:
            return
        if len(self._known) >= _MOST_HEADS:
            self._known.clear()
        self._known[data[: end + len(_END)]] = _Known(route, body_bytes)
