"""Pseudonyms of protected columns' values, and encryption of calls that wait for their other half.

Their key is random and sealed by the service's secret key, so that rotating the secret leaves pseudonyms as
they are.
"""

import hashlib
import hmac
import os
from base64 import urlsafe_b64encode

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ..base.errors import SetupError
from ..base.values import Scalar, canonical

_PSEUDONYM_BYTES = 16
_NONCE_BYTES = 12


def make_pseudonym(key: bytes, column: str, value: Scalar) -> str:
    """Makes a pseudonym of the first 128 bits of an HMAC-SHA256. Equal values of a column (1 and 1.0 are
    equal) have equal pseudonyms; those of two columns differ.
    """
    # The length of the name first, so that no other name and value give the same text.
    kind = type(value).__name__[0] if isinstance(value, str | bool) else "n"
    text = f"{len(column)}:{column}{kind}{canonical(value)}"
    digest = hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
    return "p_" + urlsafe_b64encode(digest[:_PSEUDONYM_BYTES]).rstrip(b"=").decode()


def seal_body(key: bytes, body: bytes) -> bytes:
    """Encrypts a body by AES-256-GCM; the nonce comes first."""
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(_derive_body_key(key)).encrypt(nonce, body, None)


def open_body(key: bytes, sealed: bytes) -> bytes:
    """Decrypts a body of `seal_body`. Raises SetupError if it was encrypted with another key, or is damaged."""
    try:
        return AESGCM(_derive_body_key(key)).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None)
    except (InvalidTag, ValueError) as error:
        raise SetupError(
            "A stored half of a call cannot be decrypted: it is damaged, or its deployment has another key of "
            "columns now."
        ) from error


def _derive_body_key(key: bytes) -> bytes:
    # Another key than that of pseudonyms: one key, one use.
    return hmac.new(key, b"halves of calls", hashlib.sha256).digest()
