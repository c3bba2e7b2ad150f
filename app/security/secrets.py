"""Encryption of data that must be stored but never shown: the credentials of model endpoints."""

import os
import secrets
from functools import lru_cache
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from ..errors import SetupError
from ..settings import Settings

KEY_FILE = "secret.key"

_WRONG_KEY = (
    "The stored endpoint credentials were encrypted with another secret key. Start with the EVENHAND_SECRET_KEY (or the "
    "secret.key in the data folder) that they were stored with. If it is lost, forget them with "
    "`UPDATE deployments SET credentials = NULL` and set them again."
)
_VERSION = b"\x01"
_NONCE_BYTES = 12
# Every process on one database must derive the same key from the same words, so the salt is a constant of the product.
_SALT = b"evenhand endpoint credentials v1"


class SecretBox:
    """Seals bytes with AES-256-GCM under a key derived (scrypt) from `secret`, which may be any text but an empty one."""

    def __init__(self, secret: str) -> None:
        if not secret.strip():
            raise SetupError("EVENHAND_SECRET_KEY is empty: give it a long random text, or leave it out to have one generated.")
        self._cipher = AESGCM(_derive_key(secret))
        self._signing_key = HKDF(SHA256(), 32, salt=None, info=b"evenhand access tokens v1").derive(_derive_key(secret))

    @property
    def signing_key(self) -> bytes:
        """Returns the key that short-lived access tokens are signed with: every process of the installation derives the same."""
        return self._signing_key

    def seal(self, plain: bytes) -> bytes:
        """Returns the encrypted form, a different one each time."""
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._cipher.encrypt(nonce, plain, _VERSION)

    def unseal(self, sealed: bytes) -> bytes:
        """Returns the bytes that were sealed.

        Raises:
            SetupError: it was sealed with another key, or is damaged.
        """
        nonce, encrypted = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        try:
            return self._cipher.decrypt(nonce, encrypted, sealed[:1])
        except (InvalidTag, ValueError) as error:
            raise SetupError(_WRONG_KEY) from error


@lru_cache(maxsize=1)
def _derive_key(secret: str) -> bytes:
    return Scrypt(salt=_SALT, length=32, n=2**14, r=8, p=1).derive(secret.encode())


def find_secret_box(settings: Settings) -> SecretBox | None:
    """Returns the box of the key that is set or was generated, or None where there is neither. Makes none.

    Raises:
        SetupError: the key file cannot be read, or the key is empty.
    """
    if settings.secret_key is None and not (settings.data_dir / KEY_FILE).exists():
        return None
    return open_secret_box(settings)


def open_secret_box(settings: Settings) -> SecretBox:
    """Returns the box of this installation: from the settings, or from a key file made at the first start (readable by its owner only).

    Raises:
        SetupError: the key file can be neither read nor made.
    """
    if settings.secret_key is not None:
        return SecretBox(settings.secret_key.get_secret_value())
    path = settings.data_dir / KEY_FILE
    try:
        return SecretBox(_read_or_make_key(path))
    except OSError as error:
        raise SetupError(f"The secret key {path} cannot be read or made ({error.strerror}). Set EVENHAND_SECRET_KEY instead.") from error


def _read_or_make_key(path: Path) -> str:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:  # noqa: PTH123 - pathlib cannot open with a mode
            file.write(secrets.token_urlsafe(32))
        try:
            # A hard link appears with its content or not at all, and never replaces the key of a process that was faster.
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()
