"""Encryption of data that must be stored but never shown."""

import os
import secrets
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from ..base.errors import SetupError
from ..base.settings import Settings

KEY_FILE = "secret.key"
"""One key a line. The first encrypts, the others are accepted."""

_WRONG_KEY = (
    "The stored endpoint credentials were encrypted with another secret key. Start with the "
    "EVENHAND_SECRET_KEY (or the secret.key in the data folder) that they were stored with, or add it to "
    "EVENHAND_OLD_SECRET_KEYS. If the key is lost, discard what it encrypted: docs/operations/security.md "
    "says how, under When the key is lost."
)
_VERSION = b"\x01"
_NONCE_BYTES = 12
# Every process on one database must derive the same key from the same words, so the salt is a constant of the
# product.
_SALT = b"evenhand endpoint credentials v1"


class SecretBox:
    """Seals with AES-256-GCM under a key derived (scrypt) from `secret`, any text but an empty one.

    Data that was sealed with one of the `old` secrets is opened, too.
    """

    def __init__(self, secret: str, *old: str) -> None:
        self._set_keys((secret, *old))

    def seal(self, plain: bytes) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._ciphers[0].encrypt(nonce, plain, _VERSION)

    def unseal(self, sealed: bytes) -> bytes:
        """Raises SetupError if the data was sealed with another key, or is damaged."""
        for cipher in self._ciphers:
            plain = _decrypt(cipher, sealed)
            if plain is not None:
                return plain
        raise SetupError(_WRONG_KEY)

    def is_current(self, sealed: bytes) -> bool:
        return _decrypt(self._ciphers[0], sealed) is not None

    def _set_keys(self, keys: Sequence[str]) -> None:
        if not keys or not all(key.strip() for key in keys):
            raise SetupError(
                "EVENHAND_SECRET_KEY is empty: give it a long random text, or leave it out to have one "
                "generated."
            )
        self._ciphers = tuple(AESGCM(_derive_key(key)) for key in keys)


class KeyFileBox(SecretBox):
    def __init__(self, path: Path) -> None:
        self._path = path
        self._file_state: tuple[int, ...] | None = None
        self._read_if_replaced()

    def seal(self, plain: bytes) -> bytes:
        self._read_if_replaced()
        return super().seal(plain)

    def unseal(self, sealed: bytes) -> bytes:
        try:
            return super().unseal(sealed)
        except SetupError:
            if not self._read_if_replaced():
                raise
        return super().unseal(sealed)

    def _read_if_replaced(self) -> bool:
        try:
            status = self._path.stat()
            state = (status.st_ino, status.st_mtime_ns, status.st_size)
            if state == self._file_state:
                return False
            keys = read_key_file(self._path)
        except OSError:
            if self._file_state is None:
                raise
            return False  # a process that runs keeps the keys that it has
        self._set_keys(keys)
        self._file_state = state
        return True


# Some milliseconds and 16 MB each: checks, and threads of a server, open the same box again and again.
@lru_cache(maxsize=16)
def _derive_key(secret: str) -> bytes:
    return Scrypt(salt=_SALT, length=32, n=2**14, r=8, p=1).derive(secret.encode())


def _decrypt(cipher: AESGCM, sealed: bytes) -> bytes | None:
    nonce = sealed[1 : 1 + _NONCE_BYTES]
    encrypted = sealed[1 + _NONCE_BYTES :]
    try:
        return cipher.decrypt(nonce, encrypted, sealed[:1])
    except (InvalidTag, ValueError):
        return None


def find_secret_box(settings: Settings) -> SecretBox | None:
    """None if no key is set or generated. Raises SetupError."""
    if settings.secret_key is None and not (settings.data_dir / KEY_FILE).exists():
        return None
    return open_secret_box(settings)


def open_secret_box(settings: Settings) -> SecretBox:
    """If no key is set, generates one into a file that only its owner can read. Raises SetupError."""
    if settings.secret_key is not None:
        return SecretBox(settings.secret_key.get_secret_value(), *settings.accepted_keys)
    path = settings.data_dir / KEY_FILE
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = _write_draft(path, [generate_key()])
            try:
                # A hard link appears with its content or not at all, and never replaces the key of a process
                # that was faster.
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        return KeyFileBox(path)
    except OSError as error:
        raise SetupError(
            f"The secret key {path} cannot be read or made ({error.strerror}). Set EVENHAND_SECRET_KEY "
            "instead."
        ) from error


def read_key_file(path: Path) -> list[str]:
    """The first one encrypts. Raises OSError."""
    return [line.strip() for line in path.read_text().splitlines() if line.strip()]


def write_key_file(path: Path, keys: Sequence[str]) -> None:
    """Replaces the keys, so that a reader sees either all before or all after. Raises OSError."""
    draft = _write_draft(path, keys)
    try:
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def generate_key() -> str:
    return secrets.token_urlsafe(32)


def _write_draft(path: Path, keys: Sequence[str]) -> Path:
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:  # noqa: PTH123 - pathlib cannot open with a mode
        file.write("\n".join(keys))
        # A key that seals rows must be on the disk before they are.
        file.flush()
        os.fsync(file.fileno())
    return draft
