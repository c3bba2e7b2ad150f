"""Record ids: UUIDs of version 7, and the choice of a sample by them."""

from __future__ import annotations

import os
import random
from hashlib import blake2b

_RANDOM = random.Random(os.urandom(32))  # noqa: S311 - ids are unique, not secret; of its own, because programs seed the global one
_getrandbits = _RANDOM.getrandbits
_LOW_62_BITS = (1 << 62) - 1
_FIXED_BITS = (7 << 76) | (2 << 62)
"""Version and variant (RFC 9562)."""


def new_id(nanoseconds: int) -> str:
    """Returns a new UUID of version 7 for that time since 1970."""
    bits = _getrandbits(74)
    text = f"{(nanoseconds // 1_000_000) << 80 | (bits >> 62) << 64 | bits & _LOW_62_BITS | _FIXED_BITS:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_in_sample(record_id: str, rate: float) -> bool:
    """Returns whether a sample of that rate has the record: the same answer for the same id, in every process and on every machine."""
    digest = blake2b(record_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") < rate * 2**64


def _reseed() -> None:
    _RANDOM.seed(os.urandom(32))


# A forked process would go on with the numbers of its parent, and with the same ids.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reseed)
