"""The text of an API key: `evk_`, 8 public characters (the key's id), `_`, and a secret of 43 characters.

Only the SHA-256 of the whole text is stored. A slow hash would add nothing: the secret holds 256 random bits.
"""

import hashlib
import re
import secrets

from sqlalchemy.orm import Session

from ..errors import InvalidInput
from ..store.people.api_keys import ApiKeys
from .principals import Role

KEY_PATTERN = re.compile(r"evk_([a-z2-7]{8})_[A-Za-z0-9_-]{43}", re.ASCII)

_ID_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_ID_LENGTH = 8
_SECRET_BYTES = 32


def make_key() -> str:
    """Returns the text of a new key."""
    public = "".join(secrets.choice(_ID_ALPHABET) for _ in range(_ID_LENGTH))
    return f"evk_{public}_{secrets.token_urlsafe(_SECRET_BYTES)}"


def key_id_of(text: str) -> str | None:
    """Returns the public part of a key's text, or None if it cannot be a key."""
    match = KEY_PATTERN.fullmatch(text)
    return match[1] if match else None


def hash_key(text: str) -> bytes:
    """Returns the hash that is stored of a key."""
    return hashlib.sha256(text.encode()).digest()


def create_key(session: Session, *, role: Role, name: str, deployment_no: int | None = None) -> str:
    """Stores a new key and returns its text, which cannot be read again.

    Raises:
        InvalidInput: an admin key was to be bound to a deployment, which would only look like a limit.
    """
    if role is Role.ADMIN and deployment_no is not None:
        raise InvalidInput.of("deployment", "an admin key cannot be bound to a deployment; use the role manage")
    text = make_key()
    ApiKeys(session).add(str(key_id_of(text)), name=name, role=role.value, deployment_no=deployment_no, secret_hash=hash_key(text))
    return text
