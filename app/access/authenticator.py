"""The principal of an Authorization header, and the rule that only own pages change things by a browser.

A browser adds the session's cookie, and a key typed into its prompt (HTTP Basic), to every request, whichever
page caused it. So a change with the cookie must say that a page of this service sent it, and one with Basic,
which curl sends too, must not say that a page of another host did.
"""

import asyncio
import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlsplit

import structlog
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import Headers
from starlette.types import Scope

from ..base.clock import monotonic_seconds, utc_now
from ..base.errors import Forbidden, Unauthenticated, Unavailable
from ..database.binary_rows import read_row
from ..database.engine import Database, current_time
from .issuer.issuer import Issuer, is_of_issuer
from .issuer.verify_token import Identity
from .keys.queries import USE_NOTE_INTERVAL, ApiKey, note_key_use, read_key_id, require_key
from .principals import USER_PREFIX, Principal
from .users.browser_sessions import TOKEN_FORM, find_holder
from .users.user_rules import admit_user, find_bound_number

CACHE_SECONDS = 5.0
"""For which a principal is remembered, and a look-up is shared."""

READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods of requests that change nothing."""

_MAX_REMEMBERED = 10_000

log = structlog.get_logger("evenhand.security")


@dataclass
class Authenticator:
    """Finds principals, and remembers them for `CACHE_SECONDS`. Belongs to one event loop."""

    database: Database
    issuer: Issuer | None = None
    clock: Callable[[], float] = monotonic_seconds
    _remembered: dict[bytes, tuple[Principal, float]] = field(default_factory=dict)
    _look_ups: dict[bytes, tuple[asyncio.Task[Principal], float]] = field(default_factory=dict)
    _ended_sessions: set[bytes] = field(default_factory=set)

    async def authenticate(self, authorization: str | None) -> Principal:
        """Finds the principal of a header. `Basic` has the key as the password and any user name; a session's
        token may replace a key.

        A key seen lately costs no thread, and callers who wait for the same key share one look-up. A session
        that `forget_session` named is refused at once, another that ended after `CACHE_SECONDS`. Raises
        Unauthenticated and Unavailable.
        """
        credential = _read_credential(authorization)
        digest = _hash_credential(credential)
        principal, current_until = self._remembered.get(digest, (None, 0.0))
        if principal is not None and self.clock() < current_until:
            return principal
        if TOKEN_FORM.fullmatch(credential):
            return await self._find_session(credential, digest)
        if self.issuer is not None and is_of_issuer(credential):
            asked_at = self.clock()
            identity, expires_at = await self.issuer.identify(credential)
            principal = await asyncio.to_thread(self._look_up_identity, identity, expires_at)
            return self._remember(digest, principal, asked_at)
        if not credential:
            raise Unauthenticated(
                "Send an API key as `Authorization: Bearer evk_…`, or as the password of HTTP Basic."
            )
        if read_key_id(credential) is None:
            raise Unauthenticated("This is no API key: one begins with evk_ and has 56 characters.")

        # The answer to a question that was asked too long ago is not current.
        task, current_until = self._look_ups.get(digest, (None, 0.0))
        if task is None or self.clock() >= current_until:
            task = asyncio.create_task(asyncio.to_thread(self._look_up_key, credential, digest))
            self._look_ups[digest] = task, self.clock() + CACHE_SECONDS
            task.add_done_callback(lambda ended: self._end_look_up(digest, ended))
        # A caller who goes away must not cancel it for the others.
        return await asyncio.shield(task)

    def forget_session(self, token: str) -> None:
        """Refuses a session from now on, also where a look-up found it before it ended."""
        digest = _hash_credential(token)
        self._remembered.pop(digest, None)
        if len(self._ended_sessions) >= _MAX_REMEMBERED:
            self._ended_sessions.clear()
        self._ended_sessions.add(digest)

    async def _find_session(self, token: str, digest: bytes) -> Principal:
        asked_at = self.clock()
        holder = await asyncio.to_thread(self._look_up_session, token)
        # In the thread of `forget_session`, so that it cannot come between this line and the next.
        if holder is None or digest in self._ended_sessions:
            raise Unauthenticated("You are not logged in, or your session is over. Log in again.")
        return self._remember(digest, holder, asked_at)

    def _look_up_session(self, token: str) -> Principal | None:
        with self.database.transaction() as session:
            return find_holder(session, token)

    def _look_up_identity(self, identity: Identity, expires_at: datetime) -> Principal:
        with self.database.transaction() as session:
            no = find_bound_number(session, identity)
            user = admit_user(session, identity, no, is_log_in=False)
        return Principal(f"{USER_PREFIX}{user.name}", identity.grant.role, no, user.name, expires_at)

    def _look_up_key(self, key_text: str, digest: bytes) -> Principal:
        # The time before the question: a key that is revoked meanwhile must not live longer.
        asked_at = self.clock()
        with self.database.transaction() as session:
            now = current_time(session)
            key = require_key(session, key_text, now)
        self._note_use(key, now)
        return self._remember(digest, read_row(Principal, key, actor=key.id), asked_at)

    def _end_look_up(self, digest: bytes, task: "asyncio.Task[Principal]") -> None:
        if not task.cancelled():
            # Read, or asyncio logs an error that no caller is left to see.
            task.exception()
        if self._look_ups.get(digest, (None,))[0] is task:
            del self._look_ups[digest]

    def _note_use(self, key: ApiKey, now: datetime) -> None:
        if key.last_used_at is not None and abs(now - key.last_used_at) < USE_NOTE_INTERVAL:
            return
        try:
            with self.database.transaction() as session:
                note_key_use(session, key, now=now)
        except (Unavailable, SQLAlchemyError) as error:
            # A database that takes no writes, such as one that fails over, must not lock out those who only
            # read.
            log.warning("key_use_not_stored", key=key.id, error=type(error).__name__)

    def _remember(self, digest: bytes, principal: Principal, asked_at: float) -> Principal:
        if len(self._remembered) >= _MAX_REMEMBERED:
            self._remembered = {}
        seconds = CACHE_SECONDS
        if principal.expires_at is not None:
            seconds = min(seconds, (principal.expires_at - utc_now()).total_seconds())
        self._remembered[digest] = (principal, asked_at + seconds)
        return principal


def require_own_page(scope: Scope, authorization: str | None) -> None:
    """Raises Forbidden if a page of another host sent a change with HTTP Basic."""
    is_typed = (authorization or "").lstrip()[:5].lower() == "basic"
    if (
        is_typed
        and scope["method"] not in READING_METHODS
        and is_from_own_page(Headers(scope=scope)) is False
    ):
        raise Forbidden(
            "A page of another host sent this. A browser may change things here only from a page of this "
            "service."
        )


def is_from_own_page(headers: Headers) -> bool | None:
    """Says whether a page of this service caused the request; None if the browser does not say."""
    site = headers.get("sec-fetch-site")
    origin = headers.get("origin")
    if site is not None:
        return None if site == "none" else site == "same-origin"
    if origin is None:
        return None
    try:
        return urlsplit(origin).netloc == headers.get("host")
    except ValueError:
        return False


def _read_credential(authorization: str | None) -> str:
    """Reads the key or token of a header; empty if there is none that can be read."""
    scheme, _, credential = (authorization or "").strip().partition(" ")
    match scheme.lower():
        case "bearer":
            return credential.strip()
        case "basic":
            try:
                return base64.b64decode(credential.strip(), validate=True).decode().partition(":")[2]
            except ValueError:
                return ""
        case _:
            return ""


def _hash_credential(credential: str) -> bytes:
    """Hashes keys and tokens, which are in memory for no longer than a request."""
    return hashlib.sha256(credential.encode()).digest()
