"""Log-in of people at the issuer, and log-out there.

A log-in that was begun is sealed into the browser's own cookie: the service remembers none.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import urlencode

import msgspec

from ...base.clock import utc_now
from ...base.errors import EvenhandError, Forbidden, SetupError, Unauthenticated
from ...base.turns import Turns
from ...base.values import frozen_by_name
from ...calls.egress_policy import EgressPolicy
from ...calls.pinned_transport import PinnedTransport
from ...database.engine import Database
from ..audit.activity_queries import record_activity
from ..failed_log_ins import FailedLogIns
from ..secret_box import SecretBox
from ..users import browser_sessions as sessions
from ..users import user_rules as users
from .issuer import Issuer
from .verify_token import (
    LEEWAY_SECONDS,
    Identity,
    OidcConfiguration,
    identify,
    require_id_token,
    require_logout_token,
)

MAX_CONNECTIONS = 4

PENDING_LIFETIME = timedelta(minutes=10)

PENDING_COOKIE = "evenhand_login"

PENDING_FORM = re.compile(r"[A-Za-z0-9_-]{100,8000}", re.ASCII)

_PURPOSE = b"evenhand log-in 1"
_FOREIGN_LOG_IN = "This log-in was not begun in this browser, or lasted longer than 10 minutes. Log in again."


class PendingLogIn(msgspec.Struct, frozen=True, array_like=True):
    """Log-in that was begun; `next` is the path that it leads to."""

    state: str
    nonce: str
    verifier: str
    next: str
    begun_at: datetime

    @property
    def challenge(self) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()

    @property
    def state_hash(self) -> bytes:
        return hashlib.sha256(f"state {self.state}".encode()).digest()


def begin_log_in(next_path: str, now: datetime) -> PendingLogIn:
    return PendingLogIn(
        secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(48), next_path, now
    )


def seal_log_in(pending: PendingLogIn, box: SecretBox) -> str:
    return base64.urlsafe_b64encode(box.seal(_PURPOSE + msgspec.json.encode(pending))).rstrip(b"=").decode()


def unseal_log_in(cookie: str | None, state: str, box: SecretBox, *, now: datetime) -> PendingLogIn:
    """Raises Unauthenticated without a cookie, and if it is made up, of another state, or too old."""
    if cookie is None or not PENDING_FORM.fullmatch(cookie):
        raise Unauthenticated(_FOREIGN_LOG_IN)
    try:
        plain = box.unseal(base64.urlsafe_b64decode(cookie + "=" * (-len(cookie) % 4)))
        # The box seals other things, too, such as the credentials of endpoints.
        if not plain.startswith(_PURPOSE):
            raise Unauthenticated(_FOREIGN_LOG_IN)
        pending = msgspec.json.decode(plain[len(_PURPOSE) :], type=PendingLogIn)
    except (SetupError, binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise Unauthenticated(_FOREIGN_LOG_IN) from error
    if (
        not hmac.compare_digest(pending.state.encode(), state.encode("utf-8", "replace"))
        or not timedelta(0) <= now - pending.begun_at < PENDING_LIFETIME
    ):
        raise Unauthenticated(_FOREIGN_LOG_IN)
    return pending


MAX_CONCURRENT_LOG_INS = 8
MAX_LOG_INS_WAITING = 80
MAX_LOG_INS_OF_CLIENT = 4

_CLOCK_LEEWAY = timedelta(seconds=LEEWAY_SECONDS)

_MAX_NOTICE_LIFETIME = timedelta(days=366)


@frozen_by_name
class CallbackIn:
    """Parameters with which the issuer sends the browser back."""

    code: str
    state: str
    error: str
    issuer: str


@dataclass
class OidcLogIns:
    """Log-ins and log-outs at the issuer. Belongs to one event loop."""

    configuration: OidcConfiguration
    issuer: Issuer
    database: Database
    box: SecretBox
    failed: FailedLogIns
    _turns: Turns = field(
        default_factory=lambda: Turns(
            MAX_CONCURRENT_LOG_INS,
            waiting=MAX_LOG_INS_WAITING,
            waiting_each=MAX_LOG_INS_OF_CLIENT,
            busy="Many people try to log in at this moment. Wait a few seconds and try again.",
        )
    )

    @property
    def session_seconds(self) -> int:
        return int(self.configuration.session.total_seconds())

    async def begin(self, next_path: str, *, now: datetime) -> tuple[str, str]:
        """Returns the issuer's address, and the cookie for the way back. Raises Unavailable."""
        discovery = await self.issuer.read_discovery()
        log_in = begin_log_in(next_path, now)
        configuration = self.configuration
        parameters = {
            "response_type": "code",
            "client_id": configuration.client_id,
            "redirect_uri": configuration.redirect_uri,
            "scope": configuration.scopes,
            "state": log_in.state,
            "nonce": log_in.nonce,
            "code_challenge": log_in.challenge,
            "code_challenge_method": "S256",
        }
        return _append_query(discovery.authorization_endpoint, parameters), seal_log_in(log_in, self.box)

    async def end(
        self, callback: CallbackIn, cookie: str | None, *, now: datetime, address: str, client: str
    ) -> tuple[str, str]:
        """Returns a new session's token, and the path to continue at.

        Raises Unauthenticated, Forbidden (no role), Unavailable.
        """
        try:
            async with self._turns.turn(client):
                return await self._end(callback, cookie, now=now, address=address)
        except (Unauthenticated, Forbidden):
            await asyncio.to_thread(self.failed.note, "", method=sessions.OIDC, address=address)
            raise

    async def _end(
        self, callback: CallbackIn, cookie: str | None, *, now: datetime, address: str
    ) -> tuple[str, str]:
        log_in = unseal_log_in(cookie, callback.state, self.box, now=now)
        if callback.issuer and callback.issuer != self.configuration.issuer:
            raise Unauthenticated("The answer is of another issuer. Log in again.")
        if callback.error or not callback.code:
            raise Unauthenticated(
                "The issuer has not logged you in. Try again, or ask an admin whether you may use this "
                "service."
            )
        id_token = await self.issuer.redeem(callback.code, verifier=log_in.verifier)
        claims = await self.issuer.verify(id_token, audience=self.configuration.client_id)
        require_id_token(claims, client_id=self.configuration.client_id, nonce=log_in.nonce)
        try:
            identity = identify(claims, self.configuration, for_pages=True)
            return await asyncio.to_thread(
                self._start_session, identity, log_in, id_token, address
            ), log_in.next
        except Forbidden:
            # Sessions of a role that was taken away must not outlast this.
            await asyncio.to_thread(self._end_sessions, str(claims["sub"]))
            raise

    async def find_log_out_address(self, token: str) -> str | None:
        sealed = await asyncio.to_thread(self._find_id_token, token)
        if sealed is None:
            return None
        try:
            # Where the secret key was changed since, the issuer asks the person.
            id_token = self.box.unseal(sealed).decode()
            end = (await self.issuer.read_discovery()).end_session_endpoint
        except EvenhandError:
            return None
        parameters = {
            "id_token_hint": id_token,
            "client_id": self.configuration.client_id,
            "post_logout_redirect_uri": f"{self.configuration.public_url}/login",
        }
        return None if end is None else _append_query(end, parameters)

    async def end_by_issuer(self, logout_token: str, *, address: str, client: str) -> None:
        """Ends a person's sessions; each notice is accepted once. Raises Unauthenticated, Unavailable."""
        try:
            async with self._turns.turn(client):
                claims = await self.issuer.verify(logout_token, audience=self.configuration.client_id)
                jti = require_logout_token(claims)
                remaining = min(_MAX_NOTICE_LIFETIME.total_seconds(), claims["exp"] - utc_now().timestamp())
                lasts = timedelta(seconds=max(0.0, remaining)) + _CLOCK_LEEWAY
                await asyncio.to_thread(self._end_noticed_sessions, str(claims["sub"]), jti, lasts, address)
        except Unauthenticated:
            await asyncio.to_thread(self.failed.note, "", method=sessions.OIDC, address=address)
            raise

    def _end_noticed_sessions(self, subject: str, jti: str, lasts: timedelta, address: str) -> None:
        with self.database.transaction() as session:
            # With a mark, so that it never equals the state of a log-in.
            if not sessions.use_state(
                session, hashlib.sha256(f"log-out {jti}".encode()).digest(), lasts=lasts
            ):
                raise Unauthenticated("This notice of a log-out came before.")
            user = users.find_of_issuer(session, self.configuration.issuer, subject)
            if user is not None:
                users.end_sessions(session, user)
                record_activity(
                    session,
                    f"user:{user.name}",
                    sessions.ENDED,
                    details={"address": address, "method": sessions.OIDC},
                )

    def _start_session(self, identity: Identity, log_in: PendingLogIn, id_token: str, address: str) -> str:
        sealed = self.box.seal(id_token.encode())
        with self.database.transaction() as session:
            # Each state is accepted once.
            if not sessions.use_state(session, log_in.state_hash, lasts=PENDING_LIFETIME * 2):
                raise Unauthenticated("This log-in has ended before. Log in again.")
            return sessions.log_in_at_issuer(
                session, identity, lasts=self.configuration.session, sealed_id_token=sealed, address=address
            )

    def _end_sessions(self, subject: str) -> None:
        with self.database.transaction() as session:
            user = users.find_of_issuer(session, self.configuration.issuer, subject)
            if user is not None:
                users.end_sessions(session, user)

    def _find_id_token(self, token: str) -> bytes | None:
        with self.database.transaction() as session:
            return sessions.find_id_token(session, token)


def make_transport() -> PinnedTransport:
    """Makes a transport that refuses only metadata services: the operator names the issuer."""
    return PinnedTransport(EgressPolicy(), connections=MAX_CONNECTIONS)


def _append_query(address: str, parameters: dict[str, str]) -> str:
    return f"{address}{'&' if '?' in address else '?'}{urlencode(parameters)}"
