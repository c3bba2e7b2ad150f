"""Passwords of people: hashed by Argon2id, never stored or logged."""

import threading
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

MIN_CHARACTERS = 12
MAX_CHARACTERS = 200
"""Bounds the work of a try. There is no rule about kinds of characters, as NIST SP 800-63B advises."""

MAX_CONCURRENT_HASHES = 2
"""Hashes that are computed at the same time: each takes 64 MiB and a processor for some 50 ms."""

_HASHER = PasswordHasher()
_TURNS = threading.BoundedSemaphore(MAX_CONCURRENT_HASHES)


def hash_password(password: str) -> str:
    with _TURNS:
        return _HASHER.hash(password)


def is_password(password: str, stored: str | None) -> bool:
    """Compares a password; takes as long without a hash, so that names cannot be guessed by time."""
    try:
        with _TURNS:
            return _HASHER.verify(stored or _hash_unguessable(), password) and stored is not None
    except (VerificationError, InvalidHashError):
        return False


@cache
def _hash_unguessable() -> str:
    return _HASHER.hash("nobody has this password")


def find_password_problem(password: str, *, name: str) -> str | None:
    if not MIN_CHARACTERS <= len(password) <= MAX_CHARACTERS:
        return f"must have {MIN_CHARACTERS} to {MAX_CHARACTERS} characters"
    if name.lower() in password.lower():
        return "must not contain the user's name"
    if len(set(password)) < MIN_CHARACTERS // 3:
        return "must not be a few characters repeated"
    return None
