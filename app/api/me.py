"""The route that tells callers who they are."""

from fastapi import APIRouter

from app.api.answers import problems
from app.api.schemas.me import MeOut
from app.errors import NotFound
from app.web.access import AnyKey, DeploymentsIn

router = APIRouter(prefix="/v1/me", tags=["API keys"])


@router.get("", operation_id="readMe", responses=problems(NotFound))
def read_me(principal: AnyKey, deployments: DeploymentsIn) -> MeOut:
    """Who is calling and what they may do. Any key may read it."""
    bound_to = principal.deployment_no
    return MeOut(
        actor=principal.actor,
        role=principal.role,
        permissions=sorted(principal.role.permissions),
        deployment_id=None if bound_to is None else deployments.by_no(bound_to).id,
    )
