"""Routes of API keys: create, list, revoke. For admins only."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from app.api.answers import problems, problems_with_body
from app.api.schemas.keys import KeyIn, KeyOut, KeyPage, NewKeyOut
from app.domain.texts import name_problem
from app.errors import InvalidInput, NotFound
from app.security.keys import create_key, key_id_of
from app.store.api_keys import ApiKeys
from app.web.access import Admin, DeploymentsIn, SessionIn
from app.web.paging import Limit, cut, number_behind

router = APIRouter(prefix="/v1/api-keys", tags=["API keys"])

KeyId = Annotated[str, Path(description="The key's id: the public part of its text.", pattern=r"^[a-z2-7]{8}$", examples=["k3v7m2qa"])]


@router.post("", status_code=201, operation_id="createApiKey", responses=problems_with_body())
def create_api_key(body: KeyIn, _admin: Admin, session: SessionIn, deployments: DeploymentsIn) -> NewKeyOut:
    """Creates a key. Its text is in this answer only; just a hash is stored."""
    problem = name_problem(body.name)
    if problem:
        raise InvalidInput.of("name", problem)
    text = create_key(session, role=body.role, name=body.name, deployment_no=_bound_to(body.deployment_id, deployments))
    stored = ApiKeys(session).get(str(key_id_of(text)))
    return NewKeyOut(key=text, **KeyOut.of(stored).model_dump())


@router.get("", operation_id="listApiKeys", responses=problems())
def list_api_keys(_admin: Admin, session: SessionIn, after_no: Annotated[int, Depends(number_behind)], limit: Limit = 100) -> KeyPage:
    """All keys, revoked ones too, oldest first."""
    page, next_cursor = cut(ApiKeys(session).page(after_no=after_no, limit=limit + 1), limit, lambda key: key.no)
    return KeyPage(keys=[KeyOut.of(key) for key in page], next_cursor=next_cursor)


@router.delete("/{key_id}", status_code=204, operation_id="revokeApiKey", responses=problems(NotFound))
def revoke_api_key(key_id: KeyId, _admin: Admin, session: SessionIn) -> None:
    """Revokes a key. Processes that have just seen it refuse it after 5 seconds at the latest."""
    ApiKeys(session).revoke(key_id)


def _bound_to(deployment_id: str | None, deployments: DeploymentsIn) -> int | None:
    if deployment_id is None:
        return None
    try:
        return deployments.get(deployment_id).no
    except NotFound as error:
        raise InvalidInput.of("deployment_id", str(error)) from error
