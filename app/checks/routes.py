"""Routes of checks, which the worker runs, and of their four views."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response

from ..access.audit.activity_queries import record_activity
from ..access.gate.caller import Manager, Reader, SessionIn
from ..database.engine import current_time
from ..deployments.deployment_in_address import LockedDeployment, ManagedDeployment, ReadableDeployment
from ..domain.check import CheckState
from ..web.route_declarations import CONFLICT, NumberPaging, name_location, uuid_path
from .advice.causes import read_outlook
from .bodies import CheckDetailsOut, CheckIn, CheckOut, CheckPage, TableOut, TablesOut
from .queries import get_check, page_checks, read_model_answer, request_cancel, request_check
from .result_queries import read_headline_measurements, read_stored_tables
from .views.bodies import CheckViewOut, ViewStatesOut
from .views.build_views import build_check_view, list_views
from .views.headlines import list_headlines
from .views.view_shapes import ViewKind
from .views.view_source import count_lost, read_counted_check, read_left_out

router = APIRouter(prefix="/v1/deployments/{deployment_id}/checks", tags=["checks"])

CheckId = Annotated[str, uuid_path("The check's id.", "5f0c7a52-6d0e-4a52-9a53-0d1f3c2b7e11")]

_QUEUED = name_location(202, "Queued; read its address until it ends", "The check's address.")


@router.post("", status_code=202, operation_id="requestCheck", responses=_QUEUED | CONFLICT)
def post_check(
    deployment: LockedDeployment,
    session: SessionIn,
    principal: Manager,
    response: Response,
    body: CheckIn | None = None,
) -> CheckOut:
    """Checks fairness now, over a range of logging times, or of a batch of files. The check starts as soon as
    a worker is free.

    Without a range or batch, the records of the present hour up to now are checked. While such a check
    waits, asking again extends it up to now and returns the same one. Needs a fairness monitor (409).
    """
    body = body or CheckIn()
    check = request_check(
        session, deployment.no, requested_by=principal.actor, span=body.span(), batch=body.batch
    )
    if check.created_at == current_time(session):  # a check that was waiting already was requested before
        details = {"from": [None, check.span.start.isoformat()], "to": [None, check.span.end.isoformat()]}
        record_activity(
            session, principal.actor, "check.requested", deployment, subject=check.id, details=details
        )
    response.headers["Location"] = f"/v1/deployments/{deployment.id}/checks/{check.id}"
    return CheckOut.of(check, read_outlook(session, deployment.no))


@router.get("")
def list_checks(
    deployment: ReadableDeployment,
    session: SessionIn,
    paging: NumberPaging,
    state: Annotated[CheckState | None, Query(description="Only checks in this state.")] = None,
) -> CheckPage:
    """Returns the deployment's checks, newest first. The single check has its headline figures as well."""
    write = partial(CheckOut.of, outlook=read_outlook(session, deployment.no))
    return CheckPage.of(page_checks(session, deployment.no, paging, state=state), paging, write)


@router.get("/{check_id}")
def read_check(
    principal: Reader, deployment: ReadableDeployment, check_id: CheckId, session: SessionIn
) -> CheckDetailsOut:
    """Returns one check: its state, the records that it read, and of each attribute the figures that it is
    judged by.

    All figures are in `…/measurements`, the counts that they were computed from in `…/tables`.
    """
    check = get_check(session, deployment.no, check_id)
    headlines = list_headlines(read_headline_measurements(session, check.no), check.window)
    counted = read_counted_check(session, check)
    lost = count_lost(session, counted)
    return CheckDetailsOut.of(
        check,
        read_outlook(session, deployment.no),
        headlines=headlines,
        records=read_left_out(counted, lost),
        corrected_since=lost.corrected,
        model_answer=read_model_answer(session, check.no) if principal.may_read_records else None,
    )


@router.get("/{check_id}/tables")
def list_check_tables(deployment: ReadableDeployment, check_id: CheckId, session: SessionIn) -> TablesOut:
    """Returns the count tables of a check: how many records of each group had which outcome."""
    check = get_check(session, deployment.no, check_id)
    return TablesOut(tables=[TableOut.from_object(table) for table in read_stored_tables(session, check.no)])


@router.post("/{check_id}/cancellation", status_code=202, responses=CONFLICT)
def cancel_check(
    deployment: ManagedDeployment, check_id: CheckId, session: SessionIn, principal: Manager
) -> CheckOut:
    """Cancels a check: at once while it waits; a running one stops at its next page and stores nothing.
    409 if it is over.
    """
    before = get_check(session, deployment.no, check_id)
    after = request_cancel(session, before)
    if not before.cancel_requested:
        record_activity(session, principal.actor, "check.cancelled", deployment, subject=check_id)
    return CheckOut.of(after, read_outlook(session, deployment.no))


@router.get("/{check_id}/views")
def list_check_views(deployment: ReadableDeployment, check_id: CheckId, session: SessionIn) -> ViewStatesOut:
    """Returns the state of the four views of the check, with the reason for each that it does not have."""
    return ViewStatesOut(views=list_views(session, deployment, get_check(session, deployment.no, check_id)))


@router.get("/{check_id}/views/{view}")
def read_check_view(
    deployment: ReadableDeployment, check_id: CheckId, view: ViewKind, session: SessionIn
) -> CheckViewOut:
    """Returns one view: per attribute and group the counts, favourable rates and comparisons, and the window
    they come from.

    `as_logged` has the logged records, `openscale` the same with their copies, `training` the labels
    of the present training data, `mitigated` the records before and after mitigation. Where the check has
    no such view, `reason` says why and `attributes` is empty.
    """
    return CheckViewOut.from_object(
        build_check_view(session, deployment, get_check(session, deployment.no, check_id), view)
    )
