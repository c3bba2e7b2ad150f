"""The principal of an Authorization header, or of a browser's session.

A browser adds the session's cookie, and a key typed into its prompt (HTTP Basic), to every request, whichever
page caused it. So a change with the cookie must say that a page of this service sent it, and one with Basic,
which curl sends too, must not say that a page of another host did.
"""

import asyncio
import base64
import binascii
import hashlib
import threading
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
from .audit.activity_queries import record_activity
from .issuer.issuer import Issuer, is_of_issuer
from .issuer.verify_token import Identity
from .keys.queries import USE_NOTE_INTERVAL, ApiKey, note_key_use, read_key_id, require_key
from .principals import USER_PREFIX, Principal
from .users.browser_sessions import TOKEN_FORM, find_holder
from .users.user_rules import NAME_FORM, admit_user, find_bound_number, find_user

REFUSED = "session.refused"
UNKNOWN = "unknown"
"""Actor of a failed log-in with a name that no user has: it may be a password in the wrong field."""

MAX_NOTED_FAILURES = 60
NOTE_WINDOW_SECONDS = 3600.0


class FailureBudget:
    """Bounds the failures that are noted in `NOTE_WINDOW_SECONDS`. Safe to share between threads."""

    def __init__(self, *, clock: Callable[[], float] = monotonic_seconds) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._began = clock()
        self._noted = 0
        self._left_out = 0

    def admit(self) -> int | None:
        """The number of failures left out before, if this one may be noted; else None."""
        with self._lock:
            if self._clock() - self._began >= NOTE_WINDOW_SECONDS:
                self._began, self._noted = self._clock(), 0
            if self._noted >= MAX_NOTED_FAILURES:
                self._left_out += 1
                return None
            self._noted += 1
            left_out, self._left_out = self._left_out, 0
            return left_out


class FailedLogIns:
    """Notes failed log-ins as activities. Safe to share between threads."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = monotonic_seconds) -> None:
        self._database = database
        self._budget = FailureBudget(clock=clock)

    def note(self, name: str, *, method: str, address: str) -> None:
        left_out = self._budget.admit()
        if left_out is None:
            return
        details = {"method": method, "address": address} | (
            {"failures_left_out": left_out} if left_out else {}
        )
        with self._database.transaction() as session:
            is_user = NAME_FORM.fullmatch(name) is not None and find_user(session, name) is not None
            record_activity(session, f"user:{name}" if is_user else UNKNOWN, REFUSED, details=details)


CACHE_SECONDS = 5.0

READING = frozenset({"GET", "HEAD", "OPTIONS"})

_MAX_REMEMBERED = 10_000

log = structlog.get_logger("evenhand.security")


@dataclass
class Authenticator:
    """Finds principals, and remembers them for `CACHE_SECONDS`. Safe to share between threads."""

    database: Database
    bearers: Issuer | None = None
    clock: Callable[[], float] = monotonic_seconds
    _remembered: dict[bytes, tuple[Principal, float]] = field(default_factory=dict)
    _look_ups: dict[bytes, tuple[asyncio.Task[Principal], float]] = field(default_factory=dict)

    async def authenticate(self, authorization: str | None) -> Principal:
        """Finds the principal of a header. `Basic` has the key as the password and any user name; a session's
        token may replace a key.

        A key seen lately costs no thread, and callers who wait for the same key share one look-up. A session
        that was ended here is refused at once, one ended elsewhere after `CACHE_SECONDS`. Raises
        Unauthenticated and Unavailable.
        """
        text = _read_text(authorization)
        digest = _digest(text)
        cached = self._remembered.get(digest)
        if cached is not None and self.clock() < cached[1]:
            return cached[0]
        if TOKEN_FORM.fullmatch(text):
            return await asyncio.to_thread(self._look_up_session, text, digest)
        if self.bearers is not None and is_of_issuer(text):
            asked_at = self.clock()
            identity, expires_at = await self.bearers.identify(text)
            principal = await asyncio.to_thread(self._look_up_identity, identity, expires_at)
            return self._remember(digest, principal, asked_at)
        if not text:
            raise Unauthenticated(
                "Send an API key as `Authorization: Bearer evk_…`, or as the password of HTTP Basic."
            )
        if read_key_id(text) is None:
            raise Unauthenticated("This is no API key: one begins with evk_ and has 56 characters.")

        # The answer to a question that was asked too long ago is not current.
        task, current_until = self._look_ups.get(digest, (None, 0.0))
        if task is None or self.clock() >= current_until:
            task = asyncio.create_task(asyncio.to_thread(self._look_up, text, digest))
            self._look_ups[digest] = task, self.clock() + CACHE_SECONDS
            task.add_done_callback(lambda ended: self._end_look_up(digest, ended))
        # A caller who goes away must not cancel it for the others.
        return await asyncio.shield(task)

    def _look_up_identity(self, identity: Identity, expires_at: datetime) -> Principal:
        with self.database.transaction() as session:
            user = admit_user(session, identity, is_log_in=False)
            no = find_bound_number(session, identity)
        return Principal(f"{USER_PREFIX}{user.name}", identity.grant.role, no, user.name, expires_at)

    def forget_session(self, token: str) -> None:
        self._remembered.pop(_digest(token), None)

    def _look_up_session(self, token: str, digest: bytes) -> Principal:
        asked_at = self.clock()
        with self.database.transaction() as session:
            holder = find_holder(session, token)
        if holder is None:
            raise Unauthenticated("You are not logged in, or your session is over. Log in again.")
        return self._remember(digest, holder, asked_at)

    def _end_look_up(self, digest: bytes, task: "asyncio.Task[Principal]") -> None:
        if not task.cancelled():
            task.exception()  # also where every caller that waited has gone
        if self._look_ups.get(digest, (None,))[0] is task:
            del self._look_ups[digest]

    def _look_up(self, text: str, digest: bytes) -> Principal:
        # The time before the question: a key that is revoked meanwhile must not live longer.
        asked_at = self.clock()
        with self.database.transaction() as session:
            now = current_time(session)
            key = require_key(session, text, now)
        self._note_use(key, now)
        return self._remember(digest, read_row(Principal, key, actor=key.id), asked_at)

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
    if is_typed and scope["method"] not in READING and is_from_own_page(Headers(scope=scope)) is False:
        raise Forbidden(
            "A page of another host sent this. A browser may change things here only from a page of this "
            "service."
        )


def is_from_own_page(headers: Headers) -> bool | None:
    """None if the browser does not say."""
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


def _digest(text: str) -> bytes:
    """Hashes keys and tokens, which are in memory for no longer than a request."""
    return hashlib.sha256(text.encode()).digest()


def _read_text(authorization: str | None) -> str:
    scheme, _, credentials = (authorization or "").strip().partition(" ")
    text = credentials.strip() if scheme.lower() in {"bearer", "basic"} else ""
    if scheme.lower() == "basic":
        try:
            text = base64.b64decode(text, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError, ValueError):
            text = ""
    return text
