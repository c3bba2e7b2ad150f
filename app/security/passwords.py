"""Passwords of people: hashed by Argon2id, never stored or logged."""

import threading

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from app.errors import Unavailable

SHORTEST, LONGEST = 12, 200
"""Characters: no rule about their kinds, as NIST SP 800-63B advises. Bounded above because a try costs work in proportion."""

AT_ONCE = 2
"""Hashes that are worked out at the same time: each takes 64 MiB and a processor for some 50 ms."""

MOST_TRIES = 8
"""Passwords that are compared or wait for it. Each keeps a thread that the API needs, so who comes on top is refused at once."""

_HASHER = PasswordHasher()
_TURNS = threading.BoundedSemaphore(AT_ONCE)
_TRIES = threading.BoundedSemaphore(MOST_TRIES)
_NOBODY = _HASHER.hash("nobody has this password")


def hash_password(password: str) -> str:
    """What is stored of a password."""
    with _TURNS:
        return _HASHER.hash(password)


def is_password(password: str, stored: str | None) -> bool:
    """Whether it is the password behind the stored hash. Without one it takes as long, so that names cannot be guessed by time.

    Raises:
        Unavailable: too many are being compared.
    """
    if not _TRIES.acquire(blocking=False):
        raise Unavailable("Many people try to log in at this moment. Wait a few seconds and try again.")
    try:
        with _TURNS:
            return _HASHER.verify(stored or _NOBODY, password) and stored is not None
    except (VerificationError, InvalidHashError):
        return False
    finally:
        _TRIES.release()


def password_problem(password: str, *, name: str) -> str | None:
    """What is wrong with a new password; None if nothing is."""
    if not SHORTEST <= len(password) <= LONGEST:
        return f"must have {SHORTEST} to {LONGEST} characters"
    if name.lower() in password.lower():
        return "must not contain the user's name"
    if len(set(password)) < SHORTEST // 3:
        return "must not be a few characters repeated"
    return None
