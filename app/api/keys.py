"""Routes of API keys."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Path

from ..domain.changes import changes_between
from ..domain.texts import name_problem
from ..errors import InvalidInput, NotFound
from ..security.keys import create_key, key_facts, key_id_of, rotate_key, rotation_facts
from ..store.people.activities import record_activity
from ..store.people.api_keys import ApiKeys
from ..web.access import Admin, DeploymentsIn, SessionIn
from ..web.paging import ShortNumberPaging
from ..web.times import in_utc
from .answers import CONFLICT, NOT_FOUND
from .schemas.keys import KeyIn, KeyOut, KeyPage, NewKeyOut, RotationIn, RotationOut

router = APIRouter(prefix="/v1/api-keys", tags=["API keys"])

KeyId = Annotated[str, Path(description="The key's id: the public part of its text.", pattern=r"^[a-z2-7]{8}$", examples=["k3v7m2qa"])]


@router.post("", status_code=201)
def create_api_key(body: KeyIn, admin: Admin, session: SessionIn, deployments: DeploymentsIn) -> NewKeyOut:
    """Creates a key. Its text is in this answer only; Evenhand stores just a hash."""
    problem = name_problem(body.name)
    if problem:
        raise InvalidInput.of("name", problem)
    # The only place that has the text; the database gets its hash.
    bound = bound_to(body.deployment_id, deployments)
    text = create_key(session, role=body.role, name=body.name, deployment_no=bound, expires_at=in_utc("expires_at", body.expires_at))
    stored = ApiKeys(session).get(str(key_id_of(text)))
    record_activity(session, admin.actor, "api_key.created", subject=stored.id, details=changes_between(None, key_facts(stored)))
    return NewKeyOut.from_object(stored, key=text)


@router.get("")
def list_api_keys(_admin: Admin, session: SessionIn, paging: ShortNumberPaging) -> KeyPage:
    """Returns all keys, also those revoked or expired, oldest first."""
    return KeyPage.of(ApiKeys(session).page(paging), paging)


@router.post("/{key_id}/rotations", status_code=201, responses=NOT_FOUND | CONFLICT)
def rotate_api_key(key_id: KeyId, body: RotationIn, admin: Admin, session: SessionIn) -> RotationOut:
    """Creates a key with the name, role and deployment of this one, which stays valid for the overlap. A key is rotated once."""
    expires_at = in_utc("expires_at", body.expires_at)
    rotated = rotate_key(session, key_id, overlap=timedelta(hours=body.overlap_hours), expires_at=expires_at)
    record_activity(session, admin.actor, "api_key.rotated", subject=key_id, details=rotation_facts(rotated))
    return RotationOut(old=KeyOut.from_object(rotated.old), new=NewKeyOut.from_object(rotated.new, key=rotated.text))


@router.delete("/{key_id}", status_code=204, responses=NOT_FOUND)
def revoke_api_key(key_id: KeyId, admin: Admin, session: SessionIn) -> None:
    """Revokes a key. Processes that have just seen it refuse it after 5 seconds at the latest."""
    if ApiKeys(session).revoke(key_id):
        record_activity(session, admin.actor, "api_key.revoked", subject=key_id)


def bound_to(deployment_id: str | None, deployments: DeploymentsIn) -> int | None:
    """Number of the deployment that a new key or user is bound to; None for all."""
    if deployment_id is None:
        return None
    try:
        return deployments.get(deployment_id).no
    except NotFound as error:
        raise InvalidInput.of("deployment_id", str(error)) from error
