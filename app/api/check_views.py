"""Routes of the four views of a check."""

from fastapi import APIRouter

from app.api.answers import problems_of_deployment
from app.api.checks import CheckId
from app.api.schemas.check_views import CheckViewOut, ViewStateOut, ViewStatesOut
from app.store.checks import get
from app.views.check_views import ViewKind
from app.views.viewing import check_view, views_of
from app.web.access import ReadableDeployment, SessionIn

router = APIRouter(prefix="/v1/deployments/{deployment_id}/checks/{check_id}/views", tags=["checks"])


@router.get("", operation_id="listCheckViews", responses=problems_of_deployment())
def list_check_views(deployment: ReadableDeployment, check_id: CheckId, session: SessionIn) -> ViewStatesOut:
    """Which of the four views the check has, and why it has none of the others."""
    found = views_of(session, deployment, get(session, deployment.no, check_id))
    return ViewStatesOut(views=[ViewStateOut.of(state) for state in found])


@router.get("/{view}", operation_id="readCheckView", responses=problems_of_deployment())
def read_check_view(deployment: ReadableDeployment, check_id: CheckId, view: ViewKind, session: SessionIn) -> CheckViewOut:
    """One view: per attribute and group the counts, favourable shares and comparisons, and the window they come from.

    `payload` is what was logged, `payload_perturbed` the same with the copies, `training` the labels of the training data as they are
    now, `debiased` before and after mitigation. Where the check has no such view, `reason` says why and `attributes` is empty.
    """
    return CheckViewOut.of(check_view(session, deployment, get(session, deployment.no, check_id), view))
