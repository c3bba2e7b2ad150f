"""Log-ins of browsers. Only a hash of the cookie's token is stored."""

from datetime import timedelta

from sqlalchemy import delete, func, insert, or_, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session

from ...database.binary_rows import read_row
from ...database.tables import ApiKeyRow, SessionRow, UsedLogInRow, UserRow
from ..principals import USER, Principal

_LIVES = or_(ApiKeyRow.expires_at.is_(None), ApiKeyRow.expires_at > func.now())


def start(session: Session, token_hash: bytes, *, lasts: timedelta, **holder: object) -> None:
    session.execute(delete(SessionRow).where(SessionRow.expires_at < func.now()))
    values = {"token_hash": token_hash, "expires_at": func.now() + lasts, **holder}
    session.execute(insert(SessionRow).values(values))


def find_holder(session: Session, token_hash: bytes) -> Principal | None:
    """None if the session is over, or its holder no longer has access."""
    row = session.scalars(
        select(SessionRow).where(SessionRow.token_hash == token_hash, SessionRow.expires_at > func.now())
    ).one_or_none()
    if row is None:
        return None
    if row.user_no is not None:
        user = session.scalars(
            select(UserRow).where(UserRow.no == row.user_no, UserRow.disabled_at.is_(None))
        ).one_or_none()
        if user is None:
            return None
        return read_row(Principal, user, actor=f"{USER}{user.name}", expires_at=None)
    key = session.scalars(
        select(ApiKeyRow).where(ApiKeyRow.no == row.key_no, ApiKeyRow.revoked_at.is_(None), _LIVES)
    ).one_or_none()
    return None if key is None else read_row(Principal, key, actor=key.id, expires_at=None)


def end(session: Session, token_hash: bytes) -> None:
    session.execute(delete(SessionRow).where(SessionRow.token_hash == token_hash))


def find_id_token(session: Session, token_hash: bytes) -> bytes | None:
    """Encrypted; None if the session is over or not an issuer's."""
    return session.scalar(select(SessionRow.id_token).where(SessionRow.token_hash == token_hash))


def end_other_sessions(session: Session, token_hash: bytes) -> int:
    present = (
        select(SessionRow.user_no, SessionRow.key_no).where(SessionRow.token_hash == token_hash).subquery()
    )
    is_same = or_(SessionRow.user_no == present.c.user_no, SessionRow.key_no == present.c.key_no)
    tokens = select(SessionRow.token_hash).where(is_same, SessionRow.token_hash != token_hash)
    return len(
        session.scalars(
            delete(SessionRow).where(SessionRow.token_hash.in_(tokens)).returning(SessionRow.token_hash)
        ).all()
    )


def use_state(session: Session, state_hash: bytes, *, lasts: timedelta) -> bool:
    session.execute(delete(UsedLogInRow).where(UsedLogInRow.expires_at < func.now()))
    values = {"state_hash": state_hash, "expires_at": func.now() + lasts}
    added = (
        postgresql.insert(UsedLogInRow)
        .values(values)
        .on_conflict_do_nothing()
        .returning(UsedLogInRow.state_hash)
    )
    return session.scalar(added) is not None
