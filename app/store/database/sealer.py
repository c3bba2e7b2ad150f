"""The interface by which stored secrets are encrypted; the implementation is passed in."""

from typing import Protocol


class Sealer(Protocol):
    """Encrypts secrets that must be stored but never shown."""

    def seal(self, plain: bytes) -> bytes:
        """Returns the encrypted form."""

    def unseal(self, sealed: bytes) -> bytes:
        """Returns what was sealed; SetupError if it was sealed with another key."""
