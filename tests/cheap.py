"""Makes cheap in this process what protects nothing in tests. The commands that tests start keep the product's costs."""

import os
from pathlib import Path

import certifi
from argon2 import PasswordHasher

from app.security import passwords


def hash_passwords_cheaply() -> None:
    """Takes a thousandth of the memory and time for a hash. A hash holds its own costs, so any process can verify it."""
    passwords._HASHER = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)  # noqa: SLF001 - no setting of the product may weaken it


def trust_one_authority(folder: Path) -> None:
    """Reads one certificate authority instead of some 140 for each client of httpx: 60 ms. Tests call no server of the Internet."""
    if "SSL_CERT_FILE" in os.environ:
        return
    end = "-----END CERTIFICATE-----\n"
    first, _, _ = Path(certifi.where()).read_text(encoding="utf-8").partition(end)
    file = folder / "one-authority.pem"
    file.write_text(first + end, encoding="utf-8")
    os.environ["SSL_CERT_FILE"] = str(file)
