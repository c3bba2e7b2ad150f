"""From an Authorization header, or a browser's session, to its principal."""

import asyncio
import base64
import binascii
import hmac
from collections.abc import Callable
from datetime import datetime

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..base.clock import monotonic_seconds, utc_now
from ..base.errors import Unauthenticated, Unavailable
from ..database.engine import Database, current_time
from .issuer.bearer_tokens import BearerTokens, is_of_issuer
from .issuer.token_claims import Identity
from .keys.key_text import hash_key, key_refusal, read_key_id
from .keys.queries import USE_NOTED_EVERY, ApiKey, ApiKeys
from .principals import USER, Principal, Role
from .users.browser_sessions import TOKEN, build_principal, token_hash
from .users.session_queries import find_holder
from .users.user_rules import admit_user, bound_number

CACHE_SECONDS = 5.0
"""Seconds for which a valid key is trusted without asking again: a revoked key is refused after this at
the latest.
"""

_CACHE_LIMIT = 10_000

log = structlog.get_logger("evenhand.security")


class Authenticator:
    """Authenticates the keys and sessions of one database. Safe to share between threads."""

    def __init__(
        self,
        database: Database,
        *,
        bearers: BearerTokens | None = None,
        clock: Callable[[], float] = monotonic_seconds,
    ) -> None:
        self._bearers = bearers
        self._database = database
        self._clock = clock
        self._known: dict[bytes, tuple[Principal, float]] = {}
        self._under_way: dict[bytes, tuple[asyncio.Task[Principal], float]] = {}

    def authenticate(self, authorization: str | None) -> Principal:
        """Returns the principal of `Bearer <key>`, or of `Basic` with the key as the password and any user
        name.

        Raises:
        Unauthenticated: no key was sent, or it is unknown or revoked.
        Unavailable: the database does not answer.
        """
        text, secret_hash = _parse_key(authorization)
        return self._recall(secret_hash) or self._look_up(text, secret_hash)

    async def authenticate_async(self, authorization: str | None) -> Principal:
        """Does the same on the event loop: a key seen lately costs no thread, and callers who wait for the
        same key share one look-up.

        A program that logged in sends the token of its session instead of a key.
        """
        sent = _read_text(authorization)
        if TOKEN.fullmatch(sent):
            return await self.authenticate_session(sent)
        if self._bearers is not None and is_of_issuer(sent):
            return await self._authenticate_bearer(sent, self._bearers)
        text, secret_hash = _parse_key(authorization)
        recalled = self._recall(secret_hash)
        if recalled is not None:
            return recalled

        # An answer to a question asked too long ago is not current.
        task, current_until = self._under_way.get(secret_hash, (None, 0.0))
        if task is None or self._clock() >= current_until:
            task = asyncio.create_task(asyncio.to_thread(self._look_up, text, secret_hash))
            self._under_way[secret_hash] = task, self._clock() + CACHE_SECONDS
            task.add_done_callback(lambda ended: self._end_look_up(secret_hash, ended))
        # A caller who goes away must not cancel it for the others.
        return await asyncio.shield(task)

    async def authenticate_session(self, token: str) -> Principal:
        """Returns the principal of a browser's session. One ended here is refused at once, one ended
        elsewhere after `CACHE_SECONDS`.

        Raises:
        Unauthenticated: the session is over, or its user or key may no longer log in.
        Unavailable: the database does not answer.
        """
        hashed = token_hash(token)
        recalled = self._recall(hashed)
        return recalled if recalled is not None else await asyncio.to_thread(self._look_up_session, hashed)

    async def _authenticate_bearer(self, token: str, bearers: BearerTokens) -> Principal:
        hashed = hash_key(token)
        recalled = self._recall(hashed)
        if recalled is not None:
            return recalled
        asked_at = self._clock()
        identity, expires_at = await bearers.read(token)
        principal = await asyncio.to_thread(self._look_up_identity, identity, expires_at)
        return self._remember(hashed, principal, asked_at)

    def _look_up_identity(self, identity: Identity, expires_at: datetime) -> Principal:
        with self._database.transaction() as session:
            user = admit_user(session, identity, is_log_in=False)
            no = bound_number(session, identity)
        role = identity.grant.role
        return Principal(
            actor=f"{USER}{user.name}", role=role, deployment_no=no, name=user.name, expires_at=expires_at
        )

    def forget_session(self, token: str) -> None:
        """Makes the next request ask the database."""
        self._known.pop(token_hash(token), None)

    def _look_up_session(self, hashed: bytes) -> Principal:
        asked_at = self._clock()
        with self._database.transaction() as session:
            holder = find_holder(session, hashed)
        if holder is None:
            raise Unauthenticated("You are not logged in, or your session is over. Log in again.")
        return self._remember(hashed, build_principal(holder), asked_at)

    def _recall(self, secret_hash: bytes) -> Principal | None:
        cached = self._known.get(secret_hash)
        return cached[0] if cached and self._clock() < cached[1] else None

    def _end_look_up(self, secret_hash: bytes, task: "asyncio.Task[Principal]") -> None:
        if not task.cancelled():
            task.exception()  # also where every caller that waited has gone
        if self._under_way.get(secret_hash, (None,))[0] is task:
            del self._under_way[secret_hash]

    def _look_up(self, text: str, secret_hash: bytes) -> Principal:
        asked_at = (
            self._clock()
        )  # before the question: a key revoked while it is answered must not live longer
        with self._database.transaction() as session:
            key, now = ApiKeys(session).find(str(read_key_id(text))), current_time(session)
        if key is None or not hmac.compare_digest(key.secret_hash, secret_hash):
            raise Unauthenticated("This API key is not known here.")
        refusal = key_refusal(key, now)
        if refusal is not None:
            raise Unauthenticated(refusal)
        self._note_use(key, now)
        principal = Principal(
            actor=key.id,
            role=Role(key.role),
            deployment_no=key.deployment_no,
            name=key.name,
            expires_at=key.expires_at,
        )
        return self._remember(secret_hash, principal, asked_at)

    def _note_use(self, key: ApiKey, now: datetime) -> None:
        if key.last_used_at is not None and abs(now - key.last_used_at) < USE_NOTED_EVERY:
            return
        try:
            with self._database.transaction() as session:
                ApiKeys(session).note_use(key, now=now)
        except (Unavailable, SQLAlchemyError) as error:
            # A database that takes no writes, such as one that fails over, must not lock out those who only
            # read.
            log.warning("key_use_not_stored", key=key.id, error=type(error).__name__)

    def _remember(self, hashed: bytes, principal: Principal, asked_at: float) -> Principal:
        if len(self._known) >= _CACHE_LIMIT:
            self._known = {}
        lasts = CACHE_SECONDS
        if principal.expires_at is not None:
            lasts = min(lasts, (principal.expires_at - utc_now()).total_seconds())
        self._known[hashed] = (principal, asked_at + lasts)
        return principal


def _parse_key(authorization: str | None) -> tuple[str, bytes]:
    """Returns the key's text and its hash. A text that cannot be a key is refused without asking the
    database.
    """
    text = _read_text(authorization)
    if not text:
        raise Unauthenticated(
            "Send an API key as `Authorization: Bearer evk_…`, or as the password of HTTP Basic."
        )
    if read_key_id(text) is None:
        raise Unauthenticated("This is no API key: one begins with evk_ and has 56 characters.")
    return text, hash_key(text)


def _read_text(authorization: str | None) -> str:
    """Returns the secret of `Bearer`, or the password of `Basic`; nothing where there is none."""
    scheme, _, credentials = (authorization or "").strip().partition(" ")
    text = credentials.strip() if scheme.lower() in {"bearer", "basic"} else ""
    if scheme.lower() == "basic":
        try:
            text = base64.b64decode(text, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError, ValueError):
            text = ""
    return text
