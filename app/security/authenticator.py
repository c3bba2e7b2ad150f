"""From an Authorization header, or a browser's session, to the principal behind it."""

import asyncio
import base64
import binascii
import hmac
from collections.abc import Callable

from app.clock import monotonic_seconds
from app.errors import Unauthenticated
from app.security.keys import hash_key, key_id_of
from app.security.principals import Principal, Role
from app.security.sessions import principal_of, token_hash
from app.store.api_keys import ApiKeys
from app.store.engine import Database
from app.store.sessions import holder_of

CACHE_SECONDS = 5.0
"""How long a key that was found good is believed without asking again: a revoked key is refused after this at the latest."""

_CACHE_LIMIT = 10_000


class Authenticator:
    """Knows the keys of one database. Safe to share between threads."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = monotonic_seconds) -> None:
        self._database = database
        self._clock = clock
        self._known: dict[bytes, tuple[Principal, float]] = {}
        self._under_way: dict[bytes, tuple[asyncio.Task[Principal], float]] = {}

    def authenticate(self, authorization: str | None) -> Principal:
        """The principal of `Bearer <key>`, or of `Basic` with the key as the password and any user name.

        Raises:
            Unauthenticated: no key was sent, or it is unknown or revoked.
            Unavailable: the database does not answer.
        """
        text, secret_hash = _sent_key(authorization)
        return self._remembered(secret_hash) or self._looked_up(text, secret_hash)

    async def authenticate_async(self, authorization: str | None) -> Principal:
        """The same for the event loop: a key seen lately costs no thread, and those who wait for the same key share one look-up.

        Raises:
            Unauthenticated: no key was sent, or it is unknown or revoked.
            Unavailable: the database does not answer.
        """
        text, secret_hash = _sent_key(authorization)
        known = self._remembered(secret_hash)
        return known if known is not None else await asyncio.shield(self._looking_up(text, secret_hash))

    async def authenticate_session(self, token: str) -> Principal:
        """The principal of a browser's session. One that ended here is refused at once, one that ended elsewhere after `CACHE_SECONDS`.

        Raises:
            Unauthenticated: the session is over, or its user or key may come in no more.
            Unavailable: the database does not answer.
        """
        hashed = token_hash(token)
        known = self._remembered(hashed)
        return known if known is not None else await asyncio.to_thread(self._session_found, hashed)

    def forget_session(self, token: str) -> None:
        """Believes a session no longer that was found good before."""
        self._known.pop(token_hash(token), None)

    def _session_found(self, hashed: bytes) -> Principal:
        asked_at = self._clock()
        with self._database.transaction() as session:
            holder = holder_of(session, hashed)
        if holder is None:
            raise Unauthenticated("You are not logged in, or your session is over. Log in again.")
        return self._believed(hashed, principal_of(holder), asked_at)

    def _remembered(self, secret_hash: bytes) -> Principal | None:
        found = self._known.get(secret_hash)
        return found[0] if found and self._clock() < found[1] else None

    def _looking_up(self, text: str, secret_hash: bytes) -> "asyncio.Task[Principal]":
        """The look-up of that key: the one under way, or a new one where that began so long ago that its answer would be too old."""
        found = self._under_way.get(secret_hash)
        if found is not None and self._clock() < found[1]:
            return found[0]
        task = asyncio.create_task(asyncio.to_thread(self._looked_up, text, secret_hash))
        self._under_way[secret_hash] = task, self._clock() + CACHE_SECONDS
        task.add_done_callback(lambda ended: self._has_ended(secret_hash, ended))
        return task

    def _has_ended(self, secret_hash: bytes, task: "asyncio.Task[Principal]") -> None:
        if not task.cancelled():
            task.exception()  # seen, also where everyone who waited has gone
        if self._under_way.get(secret_hash, (None,))[0] is task:
            del self._under_way[secret_hash]

    def _looked_up(self, text: str, secret_hash: bytes) -> Principal:
        asked_at = self._clock()  # before the question: a key revoked while it is answered must not live longer
        with self._database.transaction() as session:
            key = ApiKeys(session).find(str(key_id_of(text)))
        if key is None or not hmac.compare_digest(key.secret_hash, secret_hash):
            raise Unauthenticated("This API key is not known here.")
        if key.revoked_at is not None:
            raise Unauthenticated("This API key was revoked.")
        principal = Principal(actor=key.id, role=Role(key.role), deployment_no=key.deployment_no, name=key.name)
        return self._believed(secret_hash, principal, asked_at)

    def _believed(self, hashed: bytes, principal: Principal, asked_at: float) -> Principal:
        if len(self._known) >= _CACHE_LIMIT:
            self._known = {}
        self._known[hashed] = (principal, asked_at + CACHE_SECONDS)
        return principal


def _sent_key(authorization: str | None) -> tuple[str, bytes]:
    """The key's text and its hash; what cannot be a key never reaches the database."""
    text = _key_text((authorization or "").strip())
    if not text:
        raise Unauthenticated("Send an API key as `Authorization: Bearer evk_…`, or as the password of HTTP Basic.")
    if key_id_of(text) is None:
        raise Unauthenticated("This is no API key: one begins with evk_ and has 56 characters.")
    return text, hash_key(text)


def _key_text(authorization: str) -> str:
    scheme, _, rest = authorization.partition(" ")
    match scheme.lower():
        case "bearer":
            return rest.strip()
        case "basic":
            return _basic_password(rest.strip())
        case _:
            return ""


def _basic_password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""
