"""Routes of API keys, their limits, log-ins with a password, and of who the caller is."""

from dataclasses import asdict
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Request
from sqlalchemy.orm import Session

from ...base.errors import InvalidInput, NotFound, TooManyTries
from ...base.values import name_problem
from ...web.route_declarations import CONFLICT, NOT_FOUND, ShortNumberPaging, answers, in_utc
from ..audit.activity_queries import changes_between, record_activity
from ..gate.caller import Admin, AnyKey, NowIn, ServicesIn, SessionIn
from ..users.browser_sessions import SESSION_LIFETIME
from ..users.user_rules import find_deployment_no, name_deployment
from .bodies import (
    KeyIn,
    KeyLimitsIn,
    KeyLimitsOut,
    KeyOut,
    KeyPage,
    KeyUseOut,
    KeyUsePage,
    LogInIn,
    LogInOut,
    MeOut,
    NewKeyOut,
    RotationIn,
    RotationOut,
)
from .queries import (
    KeyLimits,
    build_key_facts,
    build_rotation_facts,
    create_key,
    find_key_limits,
    get_key,
    page_keys,
    put_limits,
    read_key_id,
    read_key_use,
    revoke_key,
    rotate_key,
)

router = APIRouter(prefix="/v1", tags=["API keys"])

KeyId = Annotated[
    str,
    Path(
        description="The key's id: the public part of its text.",
        pattern=r"^[a-z2-7]{8}$",
        examples=["k3v7m2qa"],
    ),
]


@router.post("/api-keys", status_code=201)
def create_api_key(body: KeyIn, admin: Admin, session: SessionIn) -> NewKeyOut:
    """Creates a key. Its text is in this answer only; Evenhand stores just a hash."""
    problem = name_problem(body.name)
    if problem:
        raise InvalidInput("name", problem)
    bound_no = require_deployment_no(body.deployment_id, session)
    text = create_key(
        session,
        role=body.role,
        name=body.name,
        deployment_no=bound_no,
        expires_at=in_utc("expires_at", body.expires_at),
    )
    stored = get_key(session, str(read_key_id(text)))
    record_activity(
        session,
        admin.actor,
        "api_key.created",
        subject=stored.id,
        details=changes_between(None, build_key_facts(stored)),
    )
    return NewKeyOut.from_object(stored, key=text)


@router.get("/api-keys")
def list_api_keys(_admin: Admin, session: SessionIn, paging: ShortNumberPaging) -> KeyPage:
    """Returns all keys, also those revoked or expired, oldest first."""
    return KeyPage.of(page_keys(session, paging), paging)


@router.post("/api-keys/{key_id}/rotations", status_code=201, responses=NOT_FOUND | CONFLICT)
def rotate_api_key(key_id: KeyId, body: RotationIn, admin: Admin, session: SessionIn) -> RotationOut:
    """Creates a key with the name, role and deployment of this one, which stays valid for the overlap. A
    key is rotated once.
    """
    expires_at = in_utc("expires_at", body.expires_at)
    rotated = rotate_key(session, key_id, overlap=timedelta(hours=body.overlap_hours), expires_at=expires_at)
    record_activity(
        session, admin.actor, "api_key.rotated", subject=key_id, details=build_rotation_facts(rotated)
    )
    return RotationOut(
        old=KeyOut.from_object(rotated.old), new=NewKeyOut.from_object(rotated.new, key=rotated.text)
    )


@router.delete("/api-keys/{key_id}", status_code=204, responses=NOT_FOUND)
def revoke_api_key(key_id: KeyId, admin: Admin, session: SessionIn) -> None:
    """Revokes a key. Processes that have just seen it refuse it after 5 seconds at the latest."""
    if revoke_key(session, key_id):
        record_activity(session, admin.actor, "api_key.revoked", subject=key_id)


def require_deployment_no(deployment_id: str | None, session: Session) -> int | None:
    if deployment_id is None:
        return None
    no = find_deployment_no(session, deployment_id)
    if no is None:
        raise InvalidInput("deployment_id", str(NotFound("deployment", deployment_id)))
    return no


@router.get("/api-keys/{key_id}/limits", responses=NOT_FOUND)
def read_key_limits(key_id: KeyId, _admin: Admin, session: SessionIn) -> KeyLimitsOut:
    """Returns the limits of a key."""
    return KeyLimitsOut.from_object(find_key_limits(session, get_key(session, key_id).id))


@router.put("/api-keys/{key_id}/limits", responses=NOT_FOUND)
def put_key_limits(key_id: KeyId, body: KeyLimitsIn, admin: Admin, session: SessionIn) -> KeyLimitsOut:
    """Sets the limits of a key on logging records. They apply within 5 seconds; callers beyond them get
    429 or 507 with `Retry-After`.
    """
    stored = get_key(session, key_id)
    before = find_key_limits(session, stored.id)
    after = body.read_as(KeyLimits)
    put_limits(session, stored.id, after)
    if before != after:
        details = changes_between(asdict(before), asdict(after))
        record_activity(session, admin.actor, "api_key.limited", subject=stored.id, details=details)
    return KeyLimitsOut.from_object(after)


@router.get("/key-use")
def list_key_use(_admin: Admin, session: SessionIn) -> KeyUsePage:
    """Returns what the keys used of the routes that log records, next to their limits; some seconds old."""
    return KeyUsePage(
        keys=[
            KeyUseOut.from_object(
                key_use.use, key_id=key_use.key_id, name=key_use.name, limits=key_use.limits
            )
            for key_use in read_key_use(session)
        ]
    )


@router.post("/log-ins", status_code=201, responses=answers(TooManyTries))
async def log_in(body: LogInIn, request: Request, services: ServicesIn, now: NowIn) -> LogInOut:
    """Returns a token for a user's name and password, to be sent like an API key. It ends with the session,
    and with a new password.

    For people at a script. Programs that run by themselves have API keys. Failures count by name and
    address, as on the log-in page.
    """
    token = await services.log_in(body.name, body.password, address=request.state.client_address)
    return LogInOut(token=token, expires_at=now + SESSION_LIFETIME)


@router.get("/me", responses=NOT_FOUND)
def read_me(principal: AnyKey, session: SessionIn) -> MeOut:
    """Returns the caller and the caller's permissions. Any key may read it."""
    bound_no = principal.deployment_no
    return MeOut(
        actor=principal.actor,
        role=principal.role,
        permissions=sorted(principal.role.permissions),
        deployment_id=None if bound_no is None else name_deployment(session, bound_no),
    )
