"""Page of a deployment's retention."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from ...access.gate.caller import AnyKey, SessionIn
from ...access.principals import Permission
from ...deployments.deployment_in_address import ReadableDeployment
from ...domain.paging import Paging
from ...retention.policy import RetentionPreset
from ...retention.queries import find_hold, read_erasures, read_retention_policy
from ...web.route_declarations import NumberCursor, cut
from ..range_bar import KEEPS_RANGE
from ..render import name_actors, show_page

router = APIRouter(
    prefix="/deployments/{deployment_id}/retention", include_in_schema=False, dependencies=[KEEPS_RANGE]
)

MAX_ERASURES = 20

PRESET_WORDS = {
    RetentionPreset.EU: "EU AI Act: at least 6 months",
    RetentionPreset.COLORADO: "Colorado: at least 3 years",
    RetentionPreset.CALIFORNIA: "California: at least 4 years",
}


@router.get("")
def show_retention_page(
    *,
    request: Request,
    deployment: ReadableDeployment,
    session: SessionIn,
    principal: AnyKey,
    before_no: NumberCursor,
) -> Response:
    hold = find_hold(session, deployment.no)
    paging = Paging(MAX_ERASURES + 1, before_no)
    erasures, cursor = cut(read_erasures(session, deployment.no, paging), paging)
    actors = [erasure.requested_by for erasure in erasures] + ([hold.placed_by] if hold else [])
    values = {
        "deployment": deployment,
        "policy": read_retention_policy(session, deployment.no),
        "hold": hold,
        "erasures": erasures,
        "older": f"?cursor={cursor}" if cursor else None,
        "names": name_actors(session, actors),
        "presets": PRESET_WORDS,
        "may_release": Permission.ADMIN in principal.role.permissions,
    }
    return show_page(request, "retention.html", values)
