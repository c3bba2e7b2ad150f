"""Routes of the evidence over time."""

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Path

from ..errors import Conflict
from ..tracking.looking import look_at_evidence
from ..tracking.replaying import replay_figure
from ..web.access import ReadableDeployment, SessionIn
from ..web.paging import NumberPaging, cut
from .answers import CONFLICT
from .schemas.evidence import DeploymentEvidenceOut, EvidenceHourPage

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
def read_evidence(deployment: ReadableDeployment, session: SessionIn, paging: NumberPaging) -> DeploymentEvidenceOut:
    """Returns the evidence of every comparison: unfair since when, shown fair, or undecided.

    Evidence accumulates over the hours, each record counted once, and may be looked at at any time: on a model that is inside its limits
    in every hour, all comparisons together raise at most one false alarm in `false_alarm_hours` on average.
    """
    found = look_at_evidence(session, deployment.no)
    if found is None:
        raise Conflict(f"Deployment {deployment.id} has no fairness monitor, whose limits evidence is collected on; set one first.")
    # Places count from 1, because 0 is the start.
    places = range(paging.after + 1, min(paging.after + paging.limit, len(found.comparisons)) + 1)
    page, next_cursor = cut(places, paging, int)
    return DeploymentEvidenceOut.of(found, [found.comparisons[place - 1] for place in page], next_cursor)


@router.get("/{comparison_id}/hours")
def list_evidence_hours(
    deployment: ReadableDeployment,
    session: SessionIn,
    comparison_id: ComparisonId,
    paging: NumberPaging,
) -> EvidenceHourPage:
    """Returns the counts of each hour and the evidence after it, oldest first, so that every figure can be traced."""
    hours = [one for one in replay_figure(session, deployment.no, comparison_id) if one.number > paging.after]
    return EvidenceHourPage.of(hours, paging, number_of=attrgetter("number"))
