"""Log-in as the SDK does it, the entitlements that it asks for, and the call by which it finds out where it is."""

import asyncio
import base64
import hmac
from typing import Annotated

from fastapi import APIRouter, Form, Request
from pydantic import Field

from ..clock import utc_now
from ..errors import InvalidInput, Unauthenticated
from ..security.access_tokens import LASTS
from ..security.keys import hash_key, key_id_of, key_refusal
from ..security.sessions import KEY
from ..services import Services
from ..services.logging_in import log_in_with_password
from ..store.openscale.marts import DEFAULT_MART
from ..store.people.api_keys import ApiKeys
from ..web.access import AnyKey, NowIn, ServicesIn
from ..web.addresses import client_of
from ..web.media import takes
from .bodies import Answer, Sent, read_as

router = APIRouter(tags=["log-in"])


class AuthorizeIn(Sent):
    """A user name with a password, or an API key."""

    username: str | None = Field(default=None, max_length=500)
    password: str | None = Field(default=None, max_length=500)
    api_key: str | None = Field(default=None, max_length=500)


@router.get("/v2/fairness/heartbeat")
async def read_heartbeat() -> Answer:
    """Says that this is no cloud: then the SDK needs no instance id."""
    return {"is_cloud": False}


@router.post("/icp4d-api/v1/authorize")
async def authorize(body: AuthorizeIn, request: Request, services: ServicesIn) -> Answer:
    """Returns a token for a user name and password, or for an API key whatever the user name."""
    address = _address(request)
    if body.api_key:
        return {"token": await _token_of_key(services, body.api_key, address), "_messageCode_": "success", "message": "Success"}
    if not body.username or not body.password:
        raise InvalidInput.of("password", "send `username` and `password`, or an Evenhand API key as `api_key`")
    token = await log_in_with_password(services, body.username, body.password, address=address, client=client_of(address))
    # The session's own token: it ends with the session, and with a change of the password.
    return {"token": token, "_messageCode_": "success", "message": "Success"}


@router.get("/v1/preauth/validateAuth")
async def validate(request: Request, services: ServicesIn) -> Answer:
    """Returns a token for the name and password, or key, of HTTP Basic: so scripts log in that make calls without the SDK."""
    name, password = _basic_of(request.headers.get("authorization", ""))
    sent = {"username": name, "api_key" if key_id_of(password) else "password": password}
    found = await authorize(read_as(AuthorizeIn, sent), request, services)
    return {**found, "accessToken": found["token"], "username": name}


@router.post("/identity/token")
@takes("application/x-www-form-urlencoded")
async def issue_token(request: Request, services: ServicesIn, now: NowIn, apikey: Annotated[str, Form(max_length=500)]) -> Answer:
    """Returns a short-lived access token for an API key."""
    seconds = int(LASTS.total_seconds())
    return {
        "access_token": await _token_of_key(services, apikey, _address(request)),
        "refresh_token": "not_supported",
        "token_type": "Bearer",
        "expires_in": seconds,
        "expiration": int(now.timestamp()) + seconds,
        "scope": "evenhand",
    }


@router.get("/v1/entitlements")
async def list_entitlements(_principal: AnyKey) -> Answer:
    """Returns the one instance that there is, under the id that scripts give as `service_instance_id`."""
    instance = {"id": DEFAULT_MART, "name": "Evenhand", "zenInstanceName": "Evenhand", "service_instance_guid": DEFAULT_MART}
    return {"entitlements": {"ai_openscale": [{**instance, "plan_name": "standard"}]}}


async def _token_of_key(services: Services, text: str, address: str) -> str:
    """Returns an access token for an API key.

    Raises:
        Unauthenticated: the key is unknown or revoked, or has expired.
    """
    key_id = key_id_of(text)
    # A key cannot be guessed, so failures are noted but not counted against the address.
    known = key_id is not None and await asyncio.to_thread(_is_valid, services, key_id, text)
    if not known or key_id is None:
        await asyncio.to_thread(services.failed_log_ins.note, "", method=KEY, address=address)
        raise Unauthenticated("This API key is not known here, was revoked or has expired.")
    return services.access_tokens.issue(key_id, now=utc_now())


def _is_valid(services: Services, key_id: str, text: str) -> bool:
    with services.database.transaction() as session:
        key = ApiKeys(session).find(key_id)
    return key is not None and key_refusal(key, utc_now()) is None and hmac.compare_digest(key.secret_hash, hash_key(text))


def _basic_of(authorization: str) -> tuple[str, str]:
    """Returns the name and the password of HTTP Basic.

    Raises:
        Unauthenticated: the header holds none.
    """
    scheme, _, sent = authorization.partition(" ")
    try:
        name, has_password, password = base64.b64decode(sent, validate=True).decode().partition(":")
    except ValueError:
        has_password = ""
    # The database takes no NUL character.
    if scheme.lower() != "basic" or not has_password or "\0" in name:
        raise Unauthenticated("Send a user name and a password, or any name and an API key, by HTTP Basic.")
    return name, password


def _address(request: Request) -> str:
    address: str = request.state.client_address
    return address
