"""Routes of attributions; the worker asks the model."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from ...access.audit.activity_queries import record_activity
from ...access.gate.caller import Manager, ServicesIn, SessionIn
from ...database.engine import current_time
from ...deployments.deployment_in_address import NEEDS_LOGGED, ManagedDeployment, ReadableDeployment
from ...web.route_declarations import CONFLICT, Answers, NumberPaging, uuid_path
from .attribution import AttributionTrigger
from .attribution_request import estimate_cost, request_attribution
from .bodies import AttributionCostOut, AttributionIn, AttributionOut, AttributionPage
from .queries import cancel_attribution, delete_attribution, get_attribution, page_attributions

router = APIRouter(
    prefix="/v1/deployments/{deployment_id}/attributions",
    tags=["attributions"],
    dependencies=[NEEDS_LOGGED],
    responses=CONFLICT,
)

AttributionId = Annotated[str, uuid_path("The attribution's id.", "7c2f7b0e-33c5-4f9a-8f0e-6a1d6a8f3b52")]

_ANSWERS: Answers = {
    200: {"description": "The cost, with `dry_run`; nothing was stored", "model": AttributionCostOut},
    202: {
        "description": "Queued; read its address until it ends",
        "model": AttributionOut,
        "headers": {"Location": {"description": "The attribution's address.", "schema": {"type": "string"}}},
    },
}


@router.post("", status_code=202, operation_id="requestAttribution", response_model=None, responses=_ANSWERS)
def post_attribution(
    *,
    deployment: ManagedDeployment,
    session: SessionIn,
    services: ServicesIn,
    principal: Manager,
    response: Response,
    body: AttributionIn | None = None,
) -> AttributionOut | AttributionCostOut:
    """Attributes the gaps of a window to the features that carry them: by asking the model about hybrids of
    its records, or without one.

    With `dry_run` the answer says how many rows and requests that takes. While an attribution of the same
    window and limits waits, asking again returns it; one for now is brought up to now. Needs a fairness
    monitor (409).
    """
    body = body or AttributionIn()
    request = body.to_domain()
    if body.dry_run:
        response.status_code = 200
        return AttributionCostOut.from_object(
            estimate_cost(session, deployment, request, database=services.database)
        )
    run = request_attribution(session, deployment.no, request, requested_by=principal.actor)
    if run.created_at == current_time(session):  # one that was waiting already was requested before
        details = {"from": [None, run.span.start.isoformat()], "to": [None, run.span.end.isoformat()]}
        record_activity(
            session, principal.actor, "attribution.requested", deployment, subject=run.id, details=details
        )
    response.headers["Location"] = f"/v1/deployments/{deployment.id}/attributions/{run.id}"
    return AttributionOut.of(run)


@router.get("")
def list_attributions(
    deployment: ReadableDeployment,
    session: SessionIn,
    paging: NumberPaging,
    trigger: Annotated[
        AttributionTrigger | None, Query(description="Only attributions with this origin.")
    ] = None,
) -> AttributionPage:
    """Returns the deployment's attributions, newest first."""
    return AttributionPage.of(
        page_attributions(session, deployment.no, paging, trigger=trigger), paging, AttributionOut.of
    )


@router.post("/{attribution_id}/cancellation", status_code=202, operation_id="cancelAttribution")
def post_cancellation(
    deployment: ManagedDeployment, attribution_id: AttributionId, session: SessionIn, principal: Manager
) -> AttributionOut:
    """Cancels an attribution: at once while it waits; a running one stops before its next page and stores
    nothing. 409 if it is over.
    """
    before = get_attribution(session, deployment.no, attribution_id)
    after = cancel_attribution(session, before)
    if not before.cancel_requested:
        record_activity(session, principal.actor, "attribution.cancelled", deployment, subject=attribution_id)
    return AttributionOut.of(after)


@router.delete("/{attribution_id}", status_code=204, operation_id="deleteAttribution")
def remove_attribution(
    deployment: ManagedDeployment, attribution_id: AttributionId, session: SessionIn, principal: Manager
) -> None:
    """Deletes an attribution with its result. 409 while it waits or runs (cancel it first), and for one that
    explains an alert.

    A night whose attribution is deleted is not attributed again.
    """
    delete_attribution(session, get_attribution(session, deployment.no, attribution_id))
    record_activity(session, principal.actor, "attribution.deleted", deployment, subject=attribution_id)


@router.get("/{attribution_id}")
def read_attribution(
    deployment: ReadableDeployment, attribution_id: AttributionId, session: SessionIn
) -> AttributionOut:
    """Returns one attribution: its state, its cost, and what carries each gap."""
    return AttributionOut.of(get_attribution(session, deployment.no, attribution_id))
