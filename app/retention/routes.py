"""Routes of retention, legal holds, and erasures."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Response

from ..access.audit.activity_queries import changes_between, record_activity
from ..access.gate.caller import Admin, Manager, ServicesIn, SessionIn
from ..base.errors import NotFound
from ..deployments.deployment_in_address import (
    NEEDS_LOGGED,
    DeploymentsIn,
    LockedDeployment,
    ReadableDeployment,
)
from ..web.route_declarations import CONFLICT, NumberPaging, name_location
from .bodies import ErasureIn, ErasureOut, ErasurePage, LegalHoldIn, LegalHoldOut, RetentionIn, RetentionOut
from .erase import check_reason, complete_policy, order_erasure, require_no_hold
from .policy import RecordSelector, RetentionPolicy
from .queries import (
    DELETED_TABLE,
    find_hold,
    get_erasure,
    place_hold,
    put_policy,
    read_erasures,
    read_retention_policy,
    release_hold,
)

router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["retention"])

deployment_router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["deployments"])

ErasureId = Annotated[
    str,
    Path(
        description="The erasure's id.",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        examples=["request-2026-118"],
    ),
]

_QUEUED = name_location(202, "Queued; read its address until it has finished", "The erasure's address.")


@router.get("/retention")
def read_retention(deployment: ReadableDeployment, session: SessionIn) -> RetentionOut:
    """Returns how long records of the deployment are kept, and whether it is on legal hold."""
    return RetentionOut.from_object(
        read_retention_policy(session, deployment.no), legal_hold=find_hold(session, deployment.no)
    )


@router.put("/retention", dependencies=[NEEDS_LOGGED], responses=CONFLICT)
def put_retention(
    body: RetentionIn, deployment: LockedDeployment, session: SessionIn, principal: Manager
) -> RetentionOut:
    """Sets how long records are kept. What is older is erased within an hour; measurements and count tables
    stay.

    The same content again changes nothing. A body without members keeps everything.
    """
    before = read_retention_policy(session, deployment.no)
    after = put_policy(session, deployment.no, complete_policy(body.read_as(RetentionPolicy)))
    if after != before:
        changes = changes_between(asdict(before), asdict(after))
        record_activity(session, principal.actor, "retention.changed", deployment, details=changes)
    return RetentionOut.from_object(after, legal_hold=find_hold(session, deployment.no))


@router.put("/legal-hold")
def put_legal_hold(
    body: LegalHoldIn, deployment: LockedDeployment, session: SessionIn, principal: Manager
) -> LegalHoldOut:
    """Orders everything of the deployment to be kept: nothing is erased by age or on request, and it cannot
    be deleted.

    While one is in force, the reason is changed.
    """
    reason = check_reason(body.reason)
    previous = find_hold(session, deployment.no)
    before = previous and previous.reason
    hold = place_hold(session, deployment.no, reason=reason, by=principal.actor)
    if reason != before:
        details = {"reason": [before, reason]}
        record_activity(session, principal.actor, "legal_hold.placed", deployment, details=details)
    return LegalHoldOut.from_object(hold)


@router.delete("/legal-hold", status_code=204)
def delete_legal_hold(principal: Admin, deployment: LockedDeployment, session: SessionIn) -> None:
    """Releases the hold. What waited for it is erased from then on. For admins."""
    if not release_hold(session, deployment.no, by=principal.actor):
        raise NotFound("legal hold in force of", deployment.id)
    record_activity(session, principal.actor, "legal_hold.released", deployment)


@router.post(
    "/erasures",
    status_code=202,
    operation_id="requestErasure",
    dependencies=[NEEDS_LOGGED],
    responses=_QUEUED | CONFLICT,
)
def post_erasure(
    *,
    body: ErasureIn,
    deployment: LockedDeployment,
    session: SessionIn,
    services: ServicesIn,
    principal: Manager,
    response: Response,
) -> ErasureOut:
    """Erases the records of one person from every table, and gives a receipt. Figures and series stay as they
    are.

    It is performed within a minute; while the deployment is on legal hold, it waits. The ids are
    remembered by digests, so that the same records are not stored again.
    """
    selector = body.read_as(RecordSelector)
    erasure = order_erasure(
        session, deployment, body.id, selector, sealer=services.secret_box, by=principal.actor
    )
    response.headers["Location"] = f"/v1/deployments/{deployment.id}/erasures/{erasure.id}"
    return ErasureOut.from_object(erasure)


@router.get("/erasures")
def list_erasures(deployment: ReadableDeployment, session: SessionIn, paging: NumberPaging) -> ErasurePage:
    """Returns the deployment's erasures with their receipts, newest first: those on request, and those
    because of age.
    """
    return ErasurePage.of(read_erasures(session, deployment.no, paging), paging)


@router.get("/erasures/{erasure_id}")
def read_erasure(deployment: ReadableDeployment, session: SessionIn, erasure_id: ErasureId) -> ErasureOut:
    """Returns one erasure; once it has finished, its receipt."""
    return ErasureOut.from_object(get_erasure(session, deployment.id, erasure_id))


@deployment_router.delete("", status_code=204, responses=CONFLICT)
def delete_deployment(
    deployment: LockedDeployment, deployments: DeploymentsIn, session: SessionIn, principal: Manager
) -> None:
    """Deletes a deployment and everything that belongs to it: records, feedback, monitor, checks,
    measurements, bound keys.

    While it is on legal hold, it cannot be deleted (409). Receipts of erasures stay. Tables of your own
    stay; within the hour a worker deletes the answers and flags that Evenhand wrote about their records.
    """
    require_no_hold(session, deployment.no, deployment.id, "it cannot be deleted")
    details: dict[str, object] = {"name": [deployment.name, None]}
    if deployment.payload is not None:
        # A worker finds Evenhand's own files by it, once this is committed.
        details[DELETED_TABLE] = [[deployment.payload.location, deployment.payload.format], None]
    record_activity(session, principal.actor, "deployment.deleted", deployment, details=details)
    deployments.delete(deployment.id)
