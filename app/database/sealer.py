"""Interface by which stored secrets are encrypted."""

from typing import Protocol


class Sealer(Protocol):
    def seal(self, plain: bytes) -> bytes: ...

    def unseal(self, sealed: bytes) -> bytes:
        """Returns what was sealed; raises SetupError for another key."""
