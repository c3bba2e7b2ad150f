"""A quick look at a body that nearly always shows that it is strict JSON.

Decoders keep the last of two members of one name, and read 1e-400 as 0: the text has more members than the
value.
"""

import re
from typing import Any

from ...base.strict_json import require_strict

_WHITESPACE = b" \t\n\r"
_SPACES = (b" ", b"\t", b"\n", b"\r")
_ZEROS = b"0" * 200
"""A number with fewer zeros in a row and an exponent above -100 does not vanish."""

_TINY_EXPONENTS = {
    b"e": re.compile(rb"e-0*[1-9][0-9]{2,}[\s,\]}]"),
    b"E": re.compile(rb"E-0*[1-9][0-9]{2,}[\s,\]}]"),
}
"""The end of a number that may vanish; a UUID holds `e-412` too, but not before what follows a number.

Two expressions, because the search for one that begins with fixed characters is eight times as fast.
"""


def is_evidently_strict(body: bytes, members: int, times: int) -> bool:
    """Whether a quick look shows that no member was named twice and no number vanished.

    `members` were decoded; `times` of their values have two colons or more.
    """
    # A count of one byte takes a third of the time of a count of two. Escapes could hide colons of a time
    # (`12\u003a00`).
    if b"\\" not in body and body.count(b":") == members + 2 * times:
        return not _may_hold_vanished(body)
    return _most_members(body) == members


def require_strict_body(body: bytes, decoded: Any) -> None:  # noqa: ANN401 - whatever JSON holds
    limit = _most_members(body)
    if limit is None or _members(decoded, limit) < limit:
        require_strict(body)


def _most_members(body: bytes) -> int | None:
    """Quotes before a colon: members, and lookalikes in texts. None where a number may have vanished."""
    # The search for a single byte is the fastest by far.
    if _may_hold_vanished(body):
        return None
    if any(space in body and space + b":" in body for space in _SPACES):
        body = body.translate(None, _WHITESPACE)
    return body.count(b'":')


def _may_hold_vanished(body: bytes) -> bool:
    return _ZEROS in body or any(
        sign in body and tiny.search(body) is not None for sign, tiny in _TINY_EXPONENTS.items()
    )


def _members(decoded: Any, enough: int) -> int:  # noqa: ANN401 - as above
    count, layer = 0, [decoded]
    while layer and count < enough:
        deeper: list[Any] = []
        for node in layer:
            if isinstance(node, dict):
                count += len(node)
                deeper += node.values()
            elif isinstance(node, list):
                deeper += node
        layer = [node for node in deeper if type(node) in (dict, list)]
    return count
