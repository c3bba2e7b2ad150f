"""Routes of recommended monitors: look, and accept into the fairness monitor."""

from typing import Annotated

from fastapi import APIRouter, Body

from app.api.answers import problems_of_deployment, problems_with_body
from app.api.changes import monitor_changes
from app.api.schemas.monitors import MonitorOut
from app.api.schemas.recommended_monitors import AcceptRecommendationsIn, RecommendedMonitorsOut
from app.checks.fitting import fitting_problems
from app.errors import InvalidInput, NotFound
from app.store.activities import record_activity
from app.store.monitors import monitor_of, put_monitor
from app.training.recommended.accepting import as_asked, merged
from app.training.recommended.looking import recommended_for
from app.views.monitor_warnings import monitor_warnings
from app.web.access import LockedDeployment, Manager, ReadableDeployment, SessionIn

router = APIRouter(prefix="/v1/deployments/{deployment_id}/recommended-monitors", tags=["fairness monitor"])

BodyIn = Annotated[AcceptRecommendationsIn | None, Body()]


@router.get("", operation_id="listRecommendedMonitors", responses=problems_of_deployment())
def list_recommended_monitors(deployment: ReadableDeployment, session: SessionIn) -> RecommendedMonitorsOut:
    """Attributes that a fairness monitor should watch (sex, ethnicity, marital status, age, postal code), each with its evidence.

    Found by the names of features and meta fields and by their values, in the training data or else in the newest payload. A proposal is
    a guess for a person to judge; nothing is watched by looking.
    """
    return RecommendedMonitorsOut.of(recommended_for(session, deployment, monitor_of(session, deployment.no)))


@router.post("", operation_id="acceptRecommendedMonitors", responses=problems_with_body(NotFound))
def accept_recommended_monitors(deployment: LockedDeployment, session: SessionIn, principal: Manager, body: BodyIn = None) -> MonitorOut:
    """Puts proposals into the fairness monitor, which is made where there is none. The same again changes nothing.

    Without a body or with `{}` every proposal with `accepted_by_default` is accepted: those of high confidence, but no postal code.
    """
    sent = body or AcceptRecommendationsIn()
    stored, asked = monitor_of(session, deployment.no), sent.asked()
    monitor = merged(stored, recommended_for(session, deployment, stored, sent.outcomes()), asked)
    found = fitting_problems(session, deployment, monitor)
    if found:
        raise InvalidInput(as_asked(found, monitor, asked))
    accepted = put_monitor(session, deployment.no, monitor)
    if accepted != stored:
        changes = monitor_changes(stored, accepted)
        record_activity(session, principal.actor, "monitor.accepted_recommendations", deployment=deployment, details=changes)
    return MonitorOut.of(accepted, monitor_warnings(session, deployment, accepted))
