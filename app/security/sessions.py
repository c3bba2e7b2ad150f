"""Log-ins of browsers: a random token in a cookie that no script can read, its hash in the database."""

import hashlib
import re
import secrets
from datetime import timedelta

from sqlalchemy.orm import Session

from app.errors import Forbidden, Unauthenticated
from app.security.keys import hash_key, key_id_of
from app.security.passwords import is_password
from app.security.principals import Permission, Principal, Role
from app.security.users import NAME
from app.store import sessions, users
from app.store.api_keys import ApiKeys
from app.store.engine import Database
from app.store.sessions import Holder

LASTS = timedelta(hours=12)
"""A working day. Using a session does not make it last longer."""

COOKIE = "evenhand_session"
SECURE_COOKIE = f"__Host-{COOKIE}"
"""Its name over HTTPS: browsers let no other host, no subdomain and no plain HTTP set or see it."""

_TOKEN_BYTES = 32
TOKEN = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
"""What the text of a token looks like."""

_REFUSED = "That user name and password do not go together."


def log_in_with_password(database: Database, name: str, password: str) -> str:
    """A new session's token, for the user of that name. No connection is held while the password is compared, which takes long.

    Raises:
        Unauthenticated: the name or the password is wrong, or the user is disabled; the message does not say which.
        Unavailable: too many log in at the same time.
    """
    with database.transaction() as session:
        asked = _password_hash(session, name)
    if not is_password(password, asked):
        raise Unauthenticated(_REFUSED)
    token = _new_token()
    with database.transaction() as session:
        if _password_hash(session, name) != asked:  # changed or disabled meanwhile, which has ended every session but this
            raise Unauthenticated(_REFUSED)
        sessions.start(session, token_hash(token), lasts=LASTS, user_no=users.get(session, name).no)
    return token


def log_in_with_key(session: Session, text: str) -> str:
    """A new session's token, for an API key.

    Raises:
        Unauthenticated: the key is unknown or revoked.
        Forbidden: it is a key for logging only, which can read nothing.
    """
    key_id = key_id_of(text)
    key = ApiKeys(session).find(key_id) if key_id else None
    if key is None or not secrets.compare_digest(key.secret_hash, hash_key(text)) or key.revoked_at:
        raise Unauthenticated("This API key is not known here, or was revoked.")
    if Permission.READ not in Role(key.role).permissions:
        raise Forbidden("This key is for logging records only. Log in with one that may read.")
    token = _new_token()
    sessions.start(session, token_hash(token), lasts=LASTS, key_no=key.no)
    return token


def principal_of(holder: Holder) -> Principal:
    """The principal behind a session."""
    actor = f"user:{holder.id}" if holder.is_user else holder.id
    return Principal(actor=actor, role=Role(holder.role), deployment_no=holder.deployment_no, name=holder.name)


def token_hash(token: str) -> bytes:
    """What is stored of a token. A slow hash would add nothing: it holds 256 random bits."""
    return hashlib.sha256(f"session {token}".encode()).digest()


def _password_hash(session: Session, name: str) -> str | None:
    """Of a user who may come in."""
    user = users.find(session, name) if NAME.fullmatch(name) else None
    return None if user is None or user.disabled_at else user.password_hash


def _new_token() -> str:
    return secrets.token_urlsafe(_TOKEN_BYTES)
