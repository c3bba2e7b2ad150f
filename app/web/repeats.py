"""Requests whose head was sent before and answered: the server gives the next body under the same head straight to the route.

The server (`app/cli/repeating_protocol.py`) remembers the bytes of such a head, the route (`app/api/single_posts.py`) what they said. The
same bytes would be parsed into the same request, so parser, scope and a task of its own are left out. See ADR 0080.
"""

from typing import Protocol

REPEATABLE = "evenhand.repeatable"
"""Member of a request's scope in which a route places a `Repeatable`, if more requests of this head may come to it directly."""


class WaitingClient(Protocol):
    """A connection whose client waits for the answer to a request. Exactly one of its methods is called, once."""

    def head_of_answers(self) -> bytes:
        """Returns the header lines that every answer of the server has, each with its end of line."""

    def answer(self, content: bytes) -> None:
        """Sends a whole answer: status line, headers and body. The connection stays open unless it is to be closed anyway."""

    def hand_back(self) -> None:
        """Has the request answered in the ordinary way, as if it had not been taken."""


class Repeatable(Protocol):
    """All that a route has to know of a head."""

    def take(self, body: bytes, sender: WaitingClient) -> bool:
        """Returns whether the route answers this request; if not, nothing was done with it. Called on the event loop."""
