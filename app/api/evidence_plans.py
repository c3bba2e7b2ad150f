"""Routes of planning."""

from typing import Annotated

from fastapi import APIRouter, Query

from ..checks.fitting import fitting_problems
from ..errors import Conflict, InvalidInput
from ..store.database.arrow import arrow_reader
from ..store.deployments.monitors import monitor_of
from ..store.evidence.eras import current_hour_bound
from ..tracking.planning import WantedDetection, plan_from_counts, plan_from_records
from ..web.access import NEEDS_LOGGED, ReadableDeployment, ServicesIn, SessionIn
from .answers import CONFLICT
from .schemas.evidence_plans import EvidencePlanOut
from .schemas.monitors import MonitorIn

router = APIRouter(prefix="/v1/deployments/{deployment_id}/evidence/plan", tags=["evidence"])

Ratio = Annotated[float, Query(gt=0, le=100, description="The disparate impact that is to be found: monitored rate / reference rate.")]
Chance = Annotated[float, Query(ge=0.5, le=0.99, description="The probability with which it is to be found in this time.")]


@router.get("", responses=CONFLICT)
def read_evidence_plan(
    deployment: ReadableDeployment, session: SessionIn, services: ServicesIn, ratio: Ratio = 0.7, chance: Chance = 0.9
) -> EvidencePlanOut:
    """Returns after how many records and hours such a disparate impact would be found in each group, at the traffic of the last days.

    "Found" is the alarm of the evidence over time on logged records. The hours are an approximation, right within about 25 %.
    """
    monitor = monitor_of(session, deployment.no)
    if monitor is None:
        raise Conflict(
            f"Deployment {deployment.id} has no fairness monitor. Send the one that you plan with POST instead, or set one first."
        )
    wanted = WantedDetection(ratio, chance)
    plan = plan_from_counts(session, deployment.no, monitor, wanted)
    if plan is None and deployment.payload is not None:
        raise Conflict(
            f"No hour of {deployment.id} has been counted yet; a worker counts the hours of its files. Ask again in a few minutes."
        )
    if plan is None:
        until = current_hour_bound(session, grace_seconds=0)
        with arrow_reader(services.database) as reader:
            plan = plan_from_records(session, reader, deployment.no, monitor, wanted=wanted, until=until)
    return EvidencePlanOut.of(plan, wanted)


@router.post("", dependencies=[NEEDS_LOGGED], responses=CONFLICT)
def plan_evidence(
    body: MonitorIn, deployment: ReadableDeployment, session: SessionIn, services: ServicesIn, ratio: Ratio = 0.7, chance: Chance = 0.9
) -> EvidencePlanOut:
    """Returns the same for a monitor that is not set, from the newest records of the last days. Nothing is stored."""
    monitor, wanted = body.to_domain(), WantedDetection(ratio, chance)
    found = fitting_problems(session, deployment, monitor)
    if found:
        raise InvalidInput(found)
    until = current_hour_bound(session, grace_seconds=0)
    with arrow_reader(services.database) as reader:
        return EvidencePlanOut.of(plan_from_records(session, reader, deployment.no, monitor, wanted=wanted, until=until), wanted)
