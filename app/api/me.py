"""The route that returns the caller's identity."""

from fastapi import APIRouter

from ..web.access import AnyKey, DeploymentsIn
from .answers import NOT_FOUND
from .schemas.me import MeOut

router = APIRouter(prefix="/v1/me", tags=["API keys"])


@router.get("", responses=NOT_FOUND)
def read_me(principal: AnyKey, deployments: DeploymentsIn) -> MeOut:
    """Returns the caller and the caller's permissions. Any key may read it."""
    bound_to = principal.deployment_no
    return MeOut(
        actor=principal.actor,
        role=principal.role,
        permissions=sorted(principal.role.permissions),
        deployment_id=None if bound_to is None else deployments.by_no(bound_to).id,
    )
