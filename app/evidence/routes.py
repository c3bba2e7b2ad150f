"""Routes of the evidence over time, and of planning."""

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Path, Query

from ..access.gate.caller import ServicesIn, SessionIn
from ..base.errors import Conflict, refuse
from ..database.engine import arrow_reader
from ..deployments.deployment_in_address import NEEDS_LOGGED, ReadableDeployment
from ..deployments.monitor.bodies import MonitorIn
from ..deployments.monitor.monitor_fit import find_fitting_problems
from ..deployments.monitor.queries import find_monitor
from ..web.route_declarations import CONFLICT, NumberPaging, cut
from .bodies import DeploymentEvidenceOut, EvidenceHourPage, EvidencePlanOut
from .count_files import replay_figure
from .plan import WantedDetection, plan_from_counts, plan_from_records
from .present_state import read_deployment_evidence
from .queries.eras import find_current_hour_bound

router = APIRouter(prefix="/v1/deployments/{deployment_id}/evidence", tags=["evidence"])

ComparisonId = Annotated[
    str,
    Path(
        description="The comparison's `id`.",
        max_length=100,
        pattern=r"^[^\x00]*$",
        examples=["0b6f9d38-5f7e-4a66-9b1c-2f4d5e6a7b8c"],
    ),
]


@router.get("", responses=CONFLICT)
def read_evidence(
    deployment: ReadableDeployment, session: SessionIn, paging: NumberPaging
) -> DeploymentEvidenceOut:
    """Returns the state of every figure, and the evidence at each of its limits.

    Evidence accumulates over the hours, each record counted once, and may be looked at at any time.
    `guarantee` is the bound on false alarms with its condition: say whose the records are in the monitor.
    """
    evidence = read_deployment_evidence(session, deployment.no)
    if evidence is None:
        raise Conflict(
            f"Deployment {deployment.id} has no fairness monitor, whose limits evidence is collected on; "
            "set one first."
        )
    # Places count from 1, because 0 is the start.
    numbers = range(paging.after + 1, min(paging.after + paging.limit, len(evidence.comparisons)) + 1)
    page, next_cursor = cut(numbers, paging, int)
    return DeploymentEvidenceOut.of(
        evidence, [evidence.comparisons[number - 1] for number in page], next_cursor
    )


@router.get("/{comparison_id}/hours")
def list_evidence_hours(
    deployment: ReadableDeployment, session: SessionIn, comparison_id: ComparisonId, paging: NumberPaging
) -> EvidenceHourPage:
    """Returns the counts of each hour and the evidence after it, oldest first, so that every figure can be
    traced.
    """
    hours = [
        hour for hour in replay_figure(session, deployment.no, comparison_id) if hour.number > paging.after
    ]
    return EvidenceHourPage.of(hours, paging, number_of=attrgetter("number"))


Ratio = Annotated[
    float,
    Query(
        gt=0, le=100, description="The disparate impact that is to be found: monitored rate / reference rate."
    ),
]
Chance = Annotated[
    float, Query(ge=0.5, le=0.99, description="The probability with which it is to be found in this time.")
]


@router.get("/plan", responses=CONFLICT)
def read_evidence_plan(
    deployment: ReadableDeployment,
    session: SessionIn,
    services: ServicesIn,
    ratio: Ratio = 0.7,
    chance: Chance = 0.9,
) -> EvidencePlanOut:
    """Returns after how many records and hours such a disparate impact would be found in each group, at the
    traffic of the last days.

    "Found" is the alarm of the evidence over time on logged records. The hours are an approximation, right
    within about 25 %.
    """
    monitor = find_monitor(session, deployment.no)
    if monitor is None:
        raise Conflict(
            f"Deployment {deployment.id} has no fairness monitor. Send the one that you plan with POST "
            "instead, or set one first."
        )
    detection = WantedDetection(ratio, chance)
    plan = plan_from_counts(session, deployment.no, monitor, detection)
    if plan is None and deployment.payload is not None:
        raise Conflict(
            f"No hour of {deployment.id} has been counted yet; a worker counts the hours of its files. Ask "
            "again in a few minutes."
        )
    if plan is None:
        until = find_current_hour_bound(session, grace_seconds=0)
        with arrow_reader(services.database) as reader:
            plan = plan_from_records(
                session, reader, deployment.no, monitor, detection=detection, until=until
            )
    return EvidencePlanOut.of(plan, detection)


@router.post("/plan", dependencies=[NEEDS_LOGGED], responses=CONFLICT)
def plan_evidence(
    body: MonitorIn,
    deployment: ReadableDeployment,
    session: SessionIn,
    services: ServicesIn,
    ratio: Ratio = 0.7,
    chance: Chance = 0.9,
) -> EvidencePlanOut:
    """Returns the same for a monitor that is not set, from the newest records of the last days. Nothing is
    stored.
    """
    monitor = body.to_domain()
    detection = WantedDetection(ratio, chance)
    refuse(find_fitting_problems(session, deployment, monitor))
    until = find_current_hour_bound(session, grace_seconds=0)
    with arrow_reader(services.database) as reader:
        return EvidencePlanOut.of(
            plan_from_records(session, reader, deployment.no, monitor, detection=detection, until=until),
            detection,
        )
