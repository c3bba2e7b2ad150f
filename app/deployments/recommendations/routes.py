"""Routes of recommended monitors."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Body

from ...access.audit.activity_queries import record_activity
from ...access.gate.caller import Manager, SessionIn
from ...base.errors import InvalidInput
from ..change_texts import list_monitor_changes
from ..deployment_in_address import LockedDeployment, ReadableDeployment
from ..monitor.bodies import MonitorOut
from ..monitor.monitor_fit import find_fitting_problems, keep_declaration, list_monitor_warnings
from ..monitor.queries import find_monitor, put_monitor
from .bodies import AcceptRecommendationsIn, RecommendedMonitorsOut
from .recommend import locate_problems, merge_into_monitor, read_recommendations

router = APIRouter(prefix="/v1/deployments/{deployment_id}/recommended-monitors", tags=["fairness monitor"])

BodyIn = Annotated[AcceptRecommendationsIn | None, Body()]


@router.get("")
def list_recommended_monitors(deployment: ReadableDeployment, session: SessionIn) -> RecommendedMonitorsOut:
    """Returns attributes that a fairness monitor should watch (sex, ethnicity, marital status, age, postal
    code), each with its evidence.

    They are found by the names of features and meta fields and by their values, in the training data or
    else in the newest payload. A proposal is a guess for a person to judge; reading it starts no
    monitoring.
    """
    return RecommendedMonitorsOut.from_object(
        read_recommendations(session, deployment, find_monitor(session, deployment.no))
    )


@router.post("")
def accept_recommended_monitors(
    deployment: LockedDeployment, session: SessionIn, principal: Manager, body: BodyIn = None
) -> MonitorOut:
    """Puts proposals into the fairness monitor, creating it where there is none. The same again changes
    nothing.

    Without a body or with `{}` every proposal with `accepted_by_default` is accepted: those of high
    confidence, but no postal code.
    """
    sent = body or AcceptRecommendationsIn()
    stored = find_monitor(session, deployment.no)
    acceptances = sent.list_acceptances()
    # Locked: the present monitor is merged into.
    monitor = merge_into_monitor(
        stored, read_recommendations(session, deployment, stored, sent.read_outcomes()), acceptances
    )
    if sent.evidence is not None:
        monitor = replace(monitor, evidence=replace(monitor.evidence, **sent.evidence.model_dump()))
    monitor = keep_declaration(monitor, stored, principal)
    problems = find_fitting_problems(session, deployment, monitor)
    if problems:
        raise InvalidInput(locate_problems(problems, monitor, acceptances))
    accepted = put_monitor(session, deployment.no, monitor)
    if accepted != stored:
        changes = list_monitor_changes(stored, accepted)
        record_activity(
            session, principal.actor, "monitor.accepted_recommendations", deployment, details=changes
        )
    return MonitorOut.of(accepted, list_monitor_warnings(session, deployment, accepted))
