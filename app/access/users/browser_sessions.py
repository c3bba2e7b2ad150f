"""Log-ins of browsers: a random token in a cookie that no script can read, its hash in the database."""

import hashlib
import re
import secrets
from datetime import timedelta

from sqlalchemy.orm import Session

from ...base.errors import Forbidden, Unauthenticated
from ...database.engine import Database, current_time
from ..audit.activity_queries import record_activity
from ..issuer.issuer_configuration import Identity
from ..keys.key_text import hash_key, key_refusal, read_key_id
from ..keys.queries import find_key, note_key_use
from ..passwords import is_password
from ..principals import USER, Permission, Principal
from . import queries as users
from . import session_queries as sessions
from .user_rules import NAME, admit_user

LASTS = timedelta(hours=12)
"""Using a session does not make it last longer."""

COOKIE = "evenhand_session"
"""Over HTTPS `__Host-` precedes it: browsers let no other host, no subdomain and no plain HTTP set or see
it.
"""

_TOKEN_BYTES = 32
TOKEN = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)

STARTED, ENDED = "session.started", "session.ended"
PASSWORD, KEY, OIDC = "password", "key", "oidc"


_REFUSED = "That user name and password do not go together."


def log_in_with_password(database: Database, name: str, password: str, *, address: str) -> str:
    """Returns a new session's token for the user of that name. Holds no connection while it compares the
    password, which takes long.

    Raises:
    Unauthenticated: the name or the password is wrong, or the user is disabled; the message does not say
    which.
    """
    with database.transaction() as session:
        stored_hash = _password_hash(session, name)
    if not is_password(password, stored_hash):
        raise Unauthenticated(_REFUSED)
    token = _new_token()
    with database.transaction() as session:
        # Changed or disabled meanwhile, which has ended every session but this.
        if _password_hash(session, name) != stored_hash:
            raise Unauthenticated(_REFUSED)
        sessions.start(session, token_hash(token), lasts=LASTS, user_no=users.get(session, name).no)
        record_activity(session, f"user:{name}", STARTED, details={"method": PASSWORD, "address": address})
    return token


def log_in_with_key(session: Session, text: str, *, address: str) -> str:
    """Returns a new session's token for an API key.

    Raises:
    Unauthenticated: the key is unknown or revoked, or has expired.
    Forbidden: it is a key for logging only, which can read nothing.
    """
    key_id = read_key_id(text)
    key = find_key(session, key_id) if key_id else None
    if key is None or not secrets.compare_digest(key.secret_hash, hash_key(text)):
        raise Unauthenticated("This API key is not known here.")
    refusal = key_refusal(key, now := current_time(session))
    if refusal is not None:
        raise Unauthenticated(refusal)
    note_key_use(session, key, now=now)
    if Permission.READ not in key.role.permissions:
        raise Forbidden("This key is for logging records only. Log in with one that may read.")
    token = _new_token()
    sessions.start(session, token_hash(token), lasts=LASTS, key_no=key.no)
    record_activity(session, key.id, STARTED, details={"method": KEY, "address": address})
    return token


def log_out(session: Session, token: str, principal: Principal, *, address: str) -> None:
    sessions.end(session, token_hash(token))
    record_activity(session, principal.actor, ENDED, details={"address": address})


def log_in_at_issuer(
    session: Session, identity: Identity, *, lasts: timedelta, sealed_id_token: bytes, address: str
) -> str:
    """Returns a new session's token for a person that the issuer has just named.

    Raises:
    Unauthenticated: the user is disabled here.
    Forbidden: the identity's deployment does not exist.
    """
    user = admit_user(session, identity, is_log_in=True)
    token = _new_token()
    sessions.start(session, token_hash(token), lasts=lasts, user_no=user.no, id_token=sealed_id_token)
    record_activity(session, f"{USER}{user.name}", STARTED, details={"method": OIDC, "address": address})
    return token


def log_out_everywhere(session: Session, token: str, principal: Principal, *, address: str) -> int:
    """Ends the session of that token and all others of its user or key; returns how many others there
    were.
    """
    ended = sessions.end_other_sessions(session, token_hash(token))
    sessions.end(session, token_hash(token))
    record_activity(session, principal.actor, ENDED, details={"address": address, "other_sessions": ended})
    return ended


def token_hash(token: str) -> bytes:
    """Returns the hash that is stored of a token. A slow hash would add nothing: it holds 256 random bits."""
    return hashlib.sha256(f"session {token}".encode()).digest()


def _password_hash(session: Session, name: str) -> str | None:
    user = users.find(session, name) if NAME.fullmatch(name) else None
    return None if user is None or user.disabled_at else user.password_hash


def _new_token() -> str:
    return secrets.token_urlsafe(_TOKEN_BYTES)
