"""Routes of the four views of a check."""

from fastapi import APIRouter

from ..store.checks.checks import get
from ..views.check_views import ViewKind
from ..views.viewing import check_view, views_of
from ..web.access import ReadableDeployment, SessionIn
from .checks import CheckId
from .schemas.check_views import CheckViewOut, ViewStateOut, ViewStatesOut

router = APIRouter(prefix="/v1/deployments/{deployment_id}/checks/{check_id}/views", tags=["checks"])


@router.get("")
def list_check_views(deployment: ReadableDeployment, check_id: CheckId, session: SessionIn) -> ViewStatesOut:
    """Returns the state of the four views of the check, with the reason for each that it does not have."""
    found = views_of(session, deployment, get(session, deployment.no, check_id))
    return ViewStatesOut(views=[ViewStateOut.from_object(state) for state in found])


@router.get("/{view}")
def read_check_view(deployment: ReadableDeployment, check_id: CheckId, view: ViewKind, session: SessionIn) -> CheckViewOut:
    """Returns one view: per attribute and group the counts, favourable rates and comparisons, and the window they come from.

    `payload` has the logged records, `payload_perturbed` the same with their copies, `training` the labels of the present training
    data, `debiased` the records before and after mitigation. Where the check has no such view, `reason` says why and `attributes` is empty.
    """
    return CheckViewOut.from_object(check_view(session, deployment, get(session, deployment.no, check_id), view))
