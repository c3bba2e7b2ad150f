"""Log-in as the SDK does it, and the calls by which it finds out where it is."""

import base64
import time
from typing import Annotated

from fastapi import APIRouter, Form

from .bodies import Sent, read_as
from .door import TOKEN_SECONDS, token_of_key
from .marts import THE_MART
from .refused import invalid, unauthenticated
from .v1 import V1, Json, V1In, answered

router = APIRouter(tags=["log-in"])


class AuthorizeIn(Sent):
    username: str | None = None
    password: str | None = None
    api_key: str | None = None


@router.get("/v2/fairness/heartbeat")
async def read_heartbeat() -> Json:
    """Says that this is no cloud: then the SDK needs no instance id."""
    return {"is_cloud": False}


@router.post("/icp4d-api/v1/authorize")
async def authorize(body: AuthorizeIn, v1: V1In) -> Json:
    """Returns a token for a user name and password, or for an API key whatever the user name."""
    if body.api_key:
        await _require_key(v1, body.api_key)
        token = body.api_key
    elif body.username and body.password:
        log_in = await v1.ask("POST", "/v1/log-ins", body={"name": body.username, "password": body.password})
        # The session's own token: it ends with the session, and with a change of the password.
        token = log_in["token"]
    else:
        raise invalid("password", "send `username` and `password`, or an Evenhand API key as `api_key`")
    return {"token": token, "_messageCode_": "success", "message": "Success"}


@router.get("/v1/preauth/validateAuth")
async def validate(v1: V1In) -> Json:
    """Returns a token for the name and password, or key, of HTTP Basic: so scripts log in that make calls without the SDK."""
    scheme, _, sent = v1.request.headers.get("authorization", "").partition(" ")
    try:
        name, has_password, password = base64.b64decode(sent, validate=True).decode().partition(":")
    except ValueError:
        has_password = ""
    if scheme.lower() != "basic" or not has_password:
        raise unauthenticated("Send a user name and a password, or any name and an API key, by HTTP Basic.")
    kind = "api_key" if password.startswith("evk_") else "password"
    answer = await authorize(read_as(AuthorizeIn, {"username": name, kind: password}), v1)
    return {**answer, "accessToken": answer["token"], "username": name}


@router.post("/identity/token")
async def issue_token(v1: V1In, apikey: Annotated[str, Form(max_length=500)]) -> Json:
    await _require_key(v1, apikey)
    expiration = int(time.time()) + TOKEN_SECONDS
    return {
        "access_token": token_of_key(apikey, expiration),
        "refresh_token": "not_supported",
        "token_type": "Bearer",
        "expires_in": TOKEN_SECONDS,
        "expiration": expiration,
        "scope": "evenhand",
    }


@router.get("/v1/entitlements")
async def list_entitlements() -> Json:
    """Returns the one instance that there is, under the id that scripts give as `service_instance_id`."""
    instance = {"id": THE_MART, "name": "Evenhand", "zenInstanceName": "Evenhand", "service_instance_guid": THE_MART}
    return {"entitlements": {"ai_openscale": [{**instance, "plan_name": "standard"}]}}


async def _require_key(v1: V1, key: str) -> None:
    if not key.isascii() or not key.isprintable():
        raise unauthenticated("This is no API key.")
    answered(await v1.entry.call(v1.request, "GET", "/v1/me", headers={"authorization": f"Bearer {key}"}))
