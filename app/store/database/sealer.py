"""Interface by which stored secrets are encrypted."""

from typing import Protocol


class Sealer(Protocol):
    """Encrypts secrets that must be stored but never shown."""

    def seal(self, plain: bytes) -> bytes:
        """Returns the encrypted form."""

    def unseal(self, sealed: bytes) -> bytes:
        """Returns what was sealed; raises SetupError for another key."""
