"""Log-ins of browsers: a random token in a cookie that no script can read, its hash in the database."""

import hashlib
import re
import secrets
from datetime import timedelta

from sqlalchemy import and_, delete, func, insert, or_, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session, aliased

from ...base.errors import Forbidden, Unauthenticated
from ...database.binary_rows import read_row
from ...database.engine import Database, current_time
from ...database.tables import ApiKeyRow, SessionRow, UsedLogInRow, UserRow
from ..audit.activity_queries import record_activity
from ..issuer.verify_token import Identity
from ..keys.queries import note_key_use, require_key
from ..passwords import is_password
from ..principals import USER_PREFIX, Permission, Principal
from . import user_rules as users

SESSION_LIFETIME = timedelta(hours=12)

SESSION_COOKIE = "evenhand_session"
"""Over HTTPS `__Host-` precedes it: no other host, no subdomain and no plain HTTP can set or see the cookie.
"""

_TOKEN_BYTES = 32
TOKEN_FORM = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)

STARTED, ENDED = "session.started", "session.ended"
PASSWORD, KEY, OIDC = "password", "key", "oidc"


_REFUSED = "That user name and password do not go together."


def log_in_with_password(database: Database, name: str, password: str, *, address: str) -> str:
    """Returns a new session's token. Holds no connection while it compares the password, which takes long.

    Raises Unauthenticated, which does not say which is wrong, also for a disabled user.
    """
    with database.transaction() as session:
        stored_hash = _find_password_hash(session, name)
    if not is_password(password, stored_hash):
        raise Unauthenticated(_REFUSED)
    with database.transaction() as session:
        # A change of the password or of the user meanwhile has ended every session but this.
        if _find_password_hash(session, name) != stored_hash:
            raise Unauthenticated(_REFUSED)
        return _start_session(
            session, f"{USER_PREFIX}{name}", PASSWORD, address, user_no=users.get_user(session, name).no
        )


def log_in_with_key(session: Session, text: str, *, address: str) -> str:
    """Returns a new session's token. Raises Unauthenticated, and Forbidden for a key for logging only."""
    now = current_time(session)
    key = require_key(session, text, now)
    note_key_use(session, key, now=now)
    if Permission.READ not in key.role.permissions:
        raise Forbidden("This key is for logging records only. Log in with one that may read.")
    return _start_session(session, key.id, KEY, address, key_no=key.no)


def log_out(session: Session, token: str, principal: Principal, *, address: str) -> None:
    session.execute(delete(SessionRow).where(SessionRow.token_hash == hash_token(token)))
    record_activity(session, principal.actor, ENDED, details={"address": address})


def log_in_at_issuer(
    session: Session, identity: Identity, *, lasts: timedelta, sealed_id_token: bytes, address: str
) -> str:
    """Returns a new session's token for a person that the issuer has just named.

    Raises Unauthenticated if disabled here, Forbidden without the identity's deployment.
    """
    deployment_no = users.find_bound_number(session, identity)
    user = users.admit_user(session, identity, deployment_no, is_log_in=True)
    holder = {"user_no": user.no, "id_token": sealed_id_token}
    return _start_session(session, f"{USER_PREFIX}{user.name}", OIDC, address, lasts=lasts, **holder)


def log_out_everywhere(session: Session, token: str, principal: Principal, *, address: str) -> None:
    present = aliased(SessionRow)
    is_same = or_(SessionRow.user_no == present.user_no, SessionRow.key_no == present.key_no)
    deletion = delete(SessionRow).where(present.token_hash == hash_token(token), is_same)
    ended = session.scalars(deletion.returning(SessionRow.token_hash)).all()
    details = {"address": address, "other_sessions": len(ended) - 1}
    record_activity(session, principal.actor, ENDED, details=details)


def hash_token(token: str) -> bytes:
    """Hashes a token. A slow hash would add nothing: a token holds 256 random bits."""
    return hashlib.sha256(f"session {token}".encode()).digest()


def _find_password_hash(session: Session, name: str) -> str | None:
    user = users.find_user(session, name) if users.NAME_FORM.fullmatch(name) else None
    return None if user is None or user.disabled_at else user.password_hash


def _start_session(
    session: Session,
    actor: str,
    method: str,
    address: str,
    *,
    lasts: timedelta = SESSION_LIFETIME,
    **holder: object,
) -> str:
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    session.execute(delete(SessionRow).where(SessionRow.expires_at < func.now()))
    values = {"token_hash": hash_token(token), "expires_at": func.now() + lasts, **holder}
    session.execute(insert(SessionRow).values(values))
    record_activity(session, actor, STARTED, details={"method": method, "address": address})
    return token


def find_holder(session: Session, token: str) -> Principal | None:
    """None if the session is over, or the holder no longer has access."""
    is_unexpired = or_(ApiKeyRow.expires_at.is_(None), ApiKeyRow.expires_at > func.now())
    statement = (
        select(UserRow, ApiKeyRow)
        .select_from(SessionRow)
        .outerjoin(UserRow, and_(UserRow.no == SessionRow.user_no, UserRow.disabled_at.is_(None)))
        .outerjoin(
            ApiKeyRow, and_(ApiKeyRow.no == SessionRow.key_no, ApiKeyRow.revoked_at.is_(None), is_unexpired)
        )
        .where(SessionRow.token_hash == hash_token(token), SessionRow.expires_at > func.now())
    )
    user, key = session.execute(statement).one_or_none() or (None, None)
    if user is not None:
        return read_row(Principal, user, actor=f"{USER_PREFIX}{user.name}", expires_at=None)
    return None if key is None else read_row(Principal, key, actor=key.id, expires_at=None)


def find_id_token(session: Session, token: str) -> bytes | None:
    """None if the session is over or not an issuer's."""
    return session.scalar(select(SessionRow.id_token).where(SessionRow.token_hash == hash_token(token)))


def use_state(session: Session, state_hash: bytes, *, lasts: timedelta) -> bool:
    """False if the state was used before."""
    session.execute(delete(UsedLogInRow).where(UsedLogInRow.expires_at < func.now()))
    values = {"state_hash": state_hash, "expires_at": func.now() + lasts}
    insertion = (
        postgresql.insert(UsedLogInRow)
        .values(values)
        .on_conflict_do_nothing()
        .returning(UsedLogInRow.state_hash)
    )
    return session.scalar(insertion) is not None
