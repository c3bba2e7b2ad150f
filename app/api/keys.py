"""Routes of API keys: create, list, revoke. For admins only."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from ..domain.changes import changes_between
from ..domain.texts import name_problem
from ..errors import InvalidInput, NotFound
from ..security.keys import create_key, key_id_of
from ..store.people.activities import record_activity
from ..store.people.api_keys import ApiKeys
from ..web.access import Admin, DeploymentsIn, SessionIn
from ..web.paging import Limit, cut, read_short_number_cursor
from .answers import problems, problems_with_body
from .schemas.keys import KeyIn, KeyOut, KeyPage, NewKeyOut

router = APIRouter(prefix="/v1/api-keys", tags=["API keys"])

KeyId = Annotated[str, Path(description="The key's id: the public part of its text.", pattern=r"^[a-z2-7]{8}$", examples=["k3v7m2qa"])]


@router.post("", status_code=201, operation_id="createApiKey", responses=problems_with_body())
def create_api_key(body: KeyIn, admin: Admin, session: SessionIn, deployments: DeploymentsIn) -> NewKeyOut:
    """Creates a key. Its text is in this answer only; Evenhand stores just a hash."""
    problem = name_problem(body.name)
    if problem:
        raise InvalidInput.of("name", problem)
    # The only place that has the text; the database gets its hash.
    text = create_key(session, role=body.role, name=body.name, deployment_no=bound_to(body.deployment_id, deployments))
    stored = ApiKeys(session).get(str(key_id_of(text)))
    about = {"name": stored.name, "role": stored.role, "deployment": stored.deployment_id}
    record_activity(session, admin.actor, "api_key.created", subject=stored.id, details=changes_between(None, about))
    return NewKeyOut.from_object(stored, key=text)


@router.get("", operation_id="listApiKeys", responses=problems())
def list_api_keys(
    _admin: Admin, session: SessionIn, after_no: Annotated[int, Depends(read_short_number_cursor)], limit: Limit = 100
) -> KeyPage:
    """Returns all keys, revoked ones too, oldest first."""
    page, next_cursor = cut(ApiKeys(session).page(after_no=after_no, limit=limit + 1), limit, lambda key: key.no)
    return KeyPage(keys=[KeyOut.from_object(key) for key in page], next_cursor=next_cursor)


@router.delete("/{key_id}", status_code=204, operation_id="revokeApiKey", responses=problems(NotFound))
def revoke_api_key(key_id: KeyId, admin: Admin, session: SessionIn) -> None:
    """Revokes a key. Processes that have just seen it refuse it after 5 seconds at the latest."""
    if ApiKeys(session).revoke(key_id):
        record_activity(session, admin.actor, "api_key.revoked", subject=key_id)


def bound_to(deployment_id: str | None, deployments: DeploymentsIn) -> int | None:
    """Returns the number of the deployment that a new key or user is bound to; None for all.

    Raises:
        InvalidInput: there is no such deployment.
    """
    if deployment_id is None:
        return None
    try:
        return deployments.get(deployment_id).no
    except NotFound as error:
        raise InvalidInput.of("deployment_id", str(error)) from error
