"""Routes that correct stored labels and predictions."""

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from starlette.responses import Response

from ...access.gate.caller import READS_RECORDS, DeploymentId, Manager, Services, ServicesIn, SessionIn
from ...base.errors import Conflict, InvalidInput
from ...checks.result_queries import Corrected
from ...deployments.deployment_in_address import ReadableDeployment
from ...deployments.queries import Deployments
from ...domain.record import Receipt
from ...intake.hot_routes.routes import IngestionIn, build_receipt_members, refuse_all
from ...intake.logging.decode_body import MAX_BODY_BYTES
from ...intake.logging.ingest_plan import IngestPlan
from ...payloads.schema_parts import CELL, closed_object
from ...web.body import SentType, read_sent_type, spool_body
from ...web.middleware import takes
from ...web.route_declarations import CONFLICT, FilterText, NumberPaging, OptionalMoment, in_utc
from ..feedback.bodies import CorrectionCounts, CorrectionPage, CorrectionReceipt
from .correct import count_corrections_by_day, make_corrections, page_corrections, read_corrections

router = APIRouter(prefix="/v1/deployments/{deployment_id}/corrections", tags=["records"], responses=CONFLICT)

_TEXT = {"type": "string"}
_BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": closed_object(
                ["corrections"],
                corrections={
                    "type": "array",
                    "items": closed_object(
                        ["record", "what", "new", "reason"],
                        id=_TEXT,
                        record=_TEXT,
                        what={"enum": [*Corrected]},
                        old=CELL,
                        new=CELL,
                        reason=_TEXT,
                    ),
                },
            )
        },
        "text/csv": {
            "schema": _TEXT,
            "example": "record_id,what,old,new,reason,correction_id\na-1,label,Risk,No Risk,Two "
            "applications were mixed up.,audit-1\n",
        },
    },
}


@router.post("", response_model=CorrectionReceipt, openapi_extra={"requestBody": _BODY})
@takes("text/csv")
async def correct_records(
    request: Request,
    principal: Manager,
    services: ServicesIn,
    ingestion: IngestionIn,
    deployment_id: DeploymentId,
) -> CorrectionReceipt | Response:
    """Corrects at most 10,000 labels and predictions, each with a reason; needs the role manage. The old
    values are kept.

    Without `old` the value is replaced whatever it is; a `new` of null takes it away. An `id` that is sent
    again with the same content is a duplicate; without one, a correction that is equal to the newest one
    of its value is. If none was corrected or is a duplicate, the answer is a problem that holds the
    receipt: 409 with a conflict (not `old` is stored, or the id has other content), else 422. Evidence is
    counted again from the hours of the records on; figures of past checks stay, and say `corrected_since`.
    In CSV an empty `old` is not given.
    """
    plan = await ingestion.read_current_plan(deployment_id)
    principal.require_sight(plan.target.no, deployment_id)
    kind = read_sent_type(request)
    async with (
        spool_body(request, room=services.uploads, actor=principal.actor, max_bytes=MAX_BODY_BYTES) as file,
        services.turns,
    ):
        receipt = await run_in_threadpool(_correct, services, plan, file.read(), kind, principal.actor)
    if receipt.accepted or receipt.duplicate:
        return CorrectionReceipt(**build_receipt_members(receipt, "corrected"))
    return refuse_all(
        Conflict if receipt.conflicts else InvalidInput,
        receipt,
        request.state.request_id,
        noun="correction",
        stored="corrected",
        conflicting="old",
    )


@router.get("", dependencies=[READS_RECORDS])
def list_corrections(
    deployment: ReadableDeployment,
    session: SessionIn,
    paging: NumberPaging,
    *,
    record: FilterText = None,
    what: Corrected | None = None,
    since: OptionalMoment = None,
) -> CorrectionPage:
    """Returns corrections, newest first, made at `since` or later. Those of erased records are not among
    them.
    """
    return CorrectionPage.of(
        page_corrections(
            session, deployment.no, paging, record=record, what=what, since=in_utc("since", since)
        ),
        paging,
    )


@router.get("/counts")
def count_corrections(deployment: ReadableDeployment, session: SessionIn) -> CorrectionCounts:
    """Returns how many labels and predictions were corrected on each day."""
    return CorrectionCounts(days=count_corrections_by_day(session, deployment.no))


def _correct(services: Services, plan: IngestPlan, body: bytes, kind: SentType, by: str) -> Receipt:
    sent = read_corrections(body, kind.encoding if kind.media_type == "text/csv" else None, plan)
    with services.database.transaction() as session:
        # Corrections of one deployment take turns, with erasures, too.
        Deployments(session, services.secret_box).get_for_change(plan.target.id)
        return make_corrections(session, sent, plan, by=by)
