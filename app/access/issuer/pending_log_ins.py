"""A log-in that was begun, sealed into the browser's own cookie: the service remembers none."""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from datetime import datetime, timedelta

import msgspec

from ...base.errors import SetupError, Unauthenticated
from ..secret_box import SecretBox

LASTS = timedelta(minutes=10)

COOKIE = "evenhand_login"

COOKIE_FORM = re.compile(r"[A-Za-z0-9_-]{100,8000}", re.ASCII)

_PURPOSE = b"evenhand log-in 1"
_STRANGE = "This log-in was not begun in this browser, or lasted longer than 10 minutes. Log in again."


class PendingLogIn(msgspec.Struct, frozen=True, array_like=True):
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


def begin(next_path: str, now: datetime) -> PendingLogIn:
    return PendingLogIn(
        secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(48), next_path, now
    )


def seal(pending: PendingLogIn, box: SecretBox) -> str:
    return base64.urlsafe_b64encode(box.seal(_PURPOSE + msgspec.json.encode(pending))).rstrip(b"=").decode()


def unseal(cookie: str | None, state: str, box: SecretBox, *, now: datetime) -> PendingLogIn:
    """Raises Unauthenticated without a cookie, and if it is not ours, of another state, or too old."""
    if cookie is None or not COOKIE_FORM.fullmatch(cookie):
        raise Unauthenticated(_STRANGE)
    try:
        plain = box.unseal(base64.urlsafe_b64decode(cookie + "=" * (-len(cookie) % 4)))
        # The box seals other things, too, such as the credentials of endpoints.
        if not plain.startswith(_PURPOSE):
            raise Unauthenticated(_STRANGE)
        pending = msgspec.json.decode(plain[len(_PURPOSE) :], type=PendingLogIn)
    except (SetupError, binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise Unauthenticated(_STRANGE) from error
    if (
        not hmac.compare_digest(pending.state.encode(), state.encode("utf-8", "replace"))
        or not timedelta(0) <= now - pending.begun_at < LASTS
    ):
        raise Unauthenticated(_STRANGE)
    return pending
