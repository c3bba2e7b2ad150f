"""Record ids: UUIDs of version 7, and the choice of a sample by them."""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import Any

from .values import plain_parts

MOST_EXACT = 2**53
"""From here on a float may be another whole number than the one that it was made of."""

_NUMBERS = [f"{number:03x}" for number in range(4095, -1, -1)]
"""The 12 bits after the version, as text; the last is taken first."""


class _Block:
    """The ids that share one random part of 62 bits; each takes one of the numbers."""

    __slots__ = ("numbers", "tail")

    def __init__(self) -> None:
        self.numbers = _NUMBERS.copy()
        random = int.from_bytes(os.urandom(8), "big") & (1 << 62) - 1 | 2 << 62  # with the variant of RFC 9562
        text = f"{random:016x}"
        self.tail = f"{text[:4]}-{text[4:]}"


_block = _Block()


def new_id(nanoseconds: int) -> str:
    """Returns a new UUID of version 7 for that time since 1970."""
    block = _block
    try:
        # Taking from a list is atomic, so that threads need no lock, in a third of the time of a random number for each.
        number = block.numbers.pop()
    except IndexError:
        block = _renew()
        number = block.numbers.pop()
    milliseconds = nanoseconds // 1_000_000
    return f"{milliseconds >> 16:08x}-{milliseconds & 0xFFFF:04x}-7{number}-{block.tail}"


def id_text(value: Any) -> str | None:  # noqa: ANN401 - an id of any library
    """Returns an id as text; None if it is missing.

    Raises:
        TypeError, ValueError: it is neither text nor a whole number nor a UUID.
    """
    plain = plain_parts(value, "id")
    if isinstance(plain, float) and plain.is_integer() and abs(plain) < MOST_EXACT:
        plain = int(plain)  # a column of whole numbers in which one is missing is of floats
    if plain is None:
        return None
    if isinstance(plain, str):
        return str.__str__(plain)  # of an Enum that is a text str() may be its name
    if isinstance(plain, int) and not isinstance(plain, bool):
        return str(int(plain))
    raise TypeError(f"id: expected text, a whole number or a UUID, found {value!r:.50}")


def is_in_sample(record_id: str, rate: float) -> bool:
    """Returns whether a sample of that rate has the record: the same for the same id in every process and on every machine."""
    digest = blake2b(record_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") < rate * 2**64


def _renew() -> _Block:
    # Two threads may make one each: both are used, neither twice.
    global _block  # noqa: PLW0603 - one for the process
    _block = block = _Block()
    return block


# A forked process would go on with the same ids as its parent.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
